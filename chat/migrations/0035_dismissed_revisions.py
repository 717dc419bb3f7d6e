from typing import Any

from django.db import migrations, models
from django.db.models import Max


def mark(apps: Any, _editor: Any) -> None:
    """The current lists that have open items which their conversations do not count."""
    revisions = apps.get_model("chat", "TodoRevision").objects.order_by()
    counted_as_done = revisions.filter(conversation__todos_left=0, turn__on_path=True)
    latest = counted_as_done.values("conversation").annotate(latest=Max("pk")).values("latest")
    for revision in revisions.filter(pk__in=latest).only("items").iterator():
        if any(item["status"] != "completed" for item in revision.items):
            revisions.filter(pk=revision.pk).update(dismissed=True)


class Migration(migrations.Migration):
    dependencies = [("chat", "0034_lost_model")]

    operations = [
        migrations.AddField("todorevision", "dismissed", models.BooleanField(default=False)),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
