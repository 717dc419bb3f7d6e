from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0006_mcp_servers"),
    ]

    operations = [
        migrations.AddField(
            model_name="followup",
            name="taken_by",
            field=models.UUIDField(null=True),
        ),
    ]
