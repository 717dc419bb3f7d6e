"""The profiles that ship ready differ in colour, unless turns have shown theirs already."""

from typing import Any

from django.db import migrations

COLOURS = {
    "teal": ["Lean", "精简"],
    "violet": ["Checklist", "清单"],
    "amber": ["Asks first", "先问再做"],
}


def set_colours(apps: Any, _editor: Any) -> None:
    if apps.get_model("chat", "Turn").objects.exists():
        return
    shipped = apps.get_model("chat", "Profile").objects.filter(owner=None, colour="blue")
    for colour, titles in COLOURS.items():
        shipped.filter(title__in=titles).update(colour=colour)


class Migration(migrations.Migration):
    dependencies = [("chat", "0035_dismissed_revisions")]

    operations = [migrations.RunPython(set_colours, migrations.RunPython.noop)]
