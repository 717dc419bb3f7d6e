from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0036_colours_of_first_profiles")]

    operations = [
        migrations.AddField(
            "attachment",
            "sent_path",
            models.TextField(blank=True, default="", editable=False),
        ),
    ]
