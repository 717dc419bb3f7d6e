from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0003_follow_ups"),
    ]

    operations = [
        migrations.AddField(
            model_name="followup",
            name="taken_by",
            field=models.UUIDField(null=True),
        ),
    ]
