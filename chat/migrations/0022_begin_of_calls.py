import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0021_turn_frame"),
    ]

    # Defaults are Django's alone: the tables stay as they are.
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name=model,
                    name="started_at",
                    field=models.DateTimeField(default=django.utils.timezone.now),
                )
                for model in ("sidecall", "step")
            ]
        ),
    ]
