import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0002_first_profiles"),
    ]

    operations = [
        migrations.CreateModel(
            name="FollowUp",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("client_id", models.UUIDField(unique=True)),
                ("text", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[("held", "Held"), ("delivered", "Delivered"), ("taken_back", "Unsent")],
                        default="held",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "follow-up",
                "verbose_name_plural": "follow-ups",
                "ordering": ["pk"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="message",
            name="message_one_question_a_turn",
        ),
        migrations.AlterField(
            model_name="message",
            name="step",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="messages",
                to="chat.step",
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                condition=models.Q(("role", "user"), ("step__isnull", True)),
                fields=("turn",),
                name="message_one_question_a_turn",
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                condition=models.Q(("role", "assistant")), fields=("step",), name="message_one_answer_a_step"
            ),
        ),
        migrations.AddField(
            model_name="followup",
            name="conversation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="follow_ups", to="chat.conversation"
            ),
        ),
        migrations.AddField(
            model_name="followup",
            name="turn",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="follow_ups",
                to="chat.turn",
            ),
        ),
        migrations.AddIndex(
            model_name="followup",
            index=models.Index(
                condition=models.Q(("status", "held")), fields=["conversation"], name="follow_up_held"
            ),
        ),
        migrations.AddConstraint(
            model_name="followup",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "delivered"), ("turn__isnull", False)),
                    models.Q(("status__in", ["held", "taken_back"]), ("turn__isnull", True)),
                    _connector="OR",
                ),
                name="follow_up_delivered_to_a_turn",
            ),
        ),
    ]
