from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0033_connection_tests")]

    operations = [
        migrations.AlterField(
            "conversation",
            "model",
            models.ForeignKey(
                blank=True,
                help_text="Blank: the profile's model.",
                null=True,
                on_delete=models.deletion.SET_NULL,
                related_name="conversations",
                to="chat.modelsettings",
                verbose_name="model",
            ),
        ),
        migrations.AlterField(
            "profile",
            "todo_policy",
            models.CharField(
                choices=[
                    ("focused", "Focused: shows the step it is on"),
                    ("lean", "Lean: fewer updates, saves tokens"),
                    ("checklist", "Checklist: numbered items"),
                ],
                default="focused",
                max_length=20,
                verbose_name="to-do policy",
            ),
        ),
        migrations.AddField(
            "conversation",
            "lost_model",
            models.CharField(blank=True, default="", editable=False, max_length=200),
        ),
    ]
