"""Conversations know that they were imported."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0031_crash_count")]

    operations = [
        migrations.AddField(
            "conversation",
            "imported_at",
            models.DateTimeField(blank=True, null=True, verbose_name="imported"),
        ),
    ]
