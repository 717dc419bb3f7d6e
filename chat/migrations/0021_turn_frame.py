"""The number of the latest frame that a turn's worker has sent, by which a page sees that it missed some."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0020_latest_edit")]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="frame",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
