"""A fourth profile that ships ready: it asks before it runs commands and before it changes files."""

from django.conf import settings
from django.db import migrations

TITLES = {"en": "Asks first", "zh": "先问再做"}
RULES = {"bash": "ask", "write_file": "ask", "edit_file": "ask"}


def add(apps, _schema_editor):
    language = "zh" if settings.LANGUAGE_CODE.startswith("zh") else "en"
    profiles = apps.get_model("chat", "Profile").objects
    profiles.create(title=TITLES[language], position=40, language=language, rules=RULES)


def remove(apps, _schema_editor):
    titles = list(TITLES.values())
    apps.get_model("chat", "Profile").objects.filter(title__in=titles, owner=None).delete()


class Migration(migrations.Migration):
    dependencies = [("chat", "0004_approvals")]
    operations = [migrations.RunPython(add, remove)]
