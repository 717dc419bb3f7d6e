"""The three profiles that ship ready, one for each todo policy."""

from django.db import migrations

PROFILES = [
    ("Focused", "focused", 10),
    ("Lean", "lean", 20),
    ("Checklist", "checklist", 30),
]


def add(apps, _schema_editor):
    from django.conf import settings

    language = "zh" if settings.LANGUAGE_CODE.startswith("zh") else "en"
    profiles = apps.get_model("chat", "Profile").objects
    for title, policy, position in PROFILES:
        profiles.create(title=title, todo_policy=policy, position=position, language=language)


def remove(apps, _schema_editor):
    titles = [title for title, _policy, _position in PROFILES]
    apps.get_model("chat", "Profile").objects.filter(title__in=titles, owner=None).delete()


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]
    operations = [migrations.RunPython(add, remove)]
