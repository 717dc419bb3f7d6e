"""Every turn follows the one before it, as there were no branches."""

from django.db import migrations
from django.db.models import OuterRef, Subquery


def set_parents(apps, schema_editor):
    turns = apps.get_model("chat", "Turn").objects.using(schema_editor.connection.alias)
    before = turns.filter(conversation=OuterRef("conversation"), pk__lt=OuterRef("pk")).order_by("-pk")
    turns.update(parent=Subquery(before.values("pk")[:1]))


class Migration(migrations.Migration):
    dependencies = [("chat", "0029_branches")]

    operations = [migrations.RunPython(set_parents, migrations.RunPython.noop)]
