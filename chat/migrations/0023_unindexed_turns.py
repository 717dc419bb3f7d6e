"""Which turns have rows that search does not know yet: those of before are indexed, or are caught up with."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("chat", "0022_begin_of_calls")]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="unindexed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(condition=Q(unindexed_at__isnull=False), fields=["id"], name="turn_unindexed"),
        ),
    ]
