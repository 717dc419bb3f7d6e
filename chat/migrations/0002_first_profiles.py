"""The three profiles that ship ready, one for each todo policy, in the language that the site starts in."""

from django.conf import settings
from django.db import migrations

TITLES = {
    "en": {"focused": "Focused", "lean": "Lean", "checklist": "Checklist"},
    "zh": {"focused": "专注", "lean": "精简", "checklist": "清单"},
}


def add(apps, _schema_editor):
    language = "zh" if settings.LANGUAGE_CODE.startswith("zh") else "en"
    profiles = apps.get_model("chat", "Profile").objects
    for number, (policy, title) in enumerate(TITLES[language].items(), start=1):
        profiles.create(title=title, todo_policy=policy, position=10 * number, language=language)


def remove(apps, _schema_editor):
    titles = [title for titles in TITLES.values() for title in titles.values()]
    apps.get_model("chat", "Profile").objects.filter(title__in=titles, owner=None).delete()


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]
    operations = [migrations.RunPython(add, remove)]
