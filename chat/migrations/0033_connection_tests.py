"""Connections know the result of their latest test."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0032_imported_at")]

    operations = [
        migrations.AddField("connection", "tested_at", models.DateTimeField(editable=False, null=True)),
        migrations.AddField(
            "connection",
            "failed_step",
            models.CharField(
                blank=True,
                choices=[
                    ("reached", "Connection"),
                    ("key", "Key"),
                    ("models", "Models"),
                    ("streams", "Reply"),
                    ("tools", "Tool call"),
                ],
                default="",
                editable=False,
                max_length=16,
            ),
        ),
    ]
