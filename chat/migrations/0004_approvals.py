import django.db.models.deletion
from django.db import migrations, models

import chat.models.profile


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0003_follow_ups"),
    ]

    operations = [
        migrations.CreateModel(
            name="Allowance",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tool", models.CharField(max_length=200)),
                ("program", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "allowance",
                "verbose_name_plural": "allowances",
                "ordering": ["pk"],
            },
        ),
        migrations.AddField(
            model_name="profile",
            name="rules",
            field=models.JSONField(
                blank=True,
                default=dict,
                validators=[chat.models.profile.check_rules],
                verbose_name="rules for tools",
            ),
        ),
        migrations.AddField(
            model_name="toolcall",
            name="asked_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="toolcall",
            name="decided_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="toolcall",
            name="decision",
            field=models.CharField(
                blank=True,
                choices=[
                    ("once", "Allowed by you"),
                    ("conversation", "Allowed by you for this conversation"),
                    ("covered", "Allowed by you earlier"),
                    ("denied", "Denied by you"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="toolcall",
            name="reason",
            field=models.TextField(blank=True),
        ),
        migrations.AlterField(
            model_name="toolcall",
            name="status",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("waiting", "Waiting for you"),
                    ("running", "Running"),
                    ("succeeded", "Done"),
                    ("failed", "Failed"),
                    ("denied", "Denied"),
                    ("stopped", "Stopped"),
                    ("unknown", "Outcome unknown"),
                ],
                default="pending",
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="toolcall",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "waiting")), fields=("turn",), name="tool_call_one_waits_a_turn"
            ),
        ),
        migrations.AddConstraint(
            model_name="toolcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("decision__in", ["", "once", "conversation", "covered", "denied"])),
                name="tool_call_decision_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="toolcall",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at__isnull", True), ("decision", "")),
                    models.Q(models.Q(("decision", ""), _negated=True), ("decided_at__isnull", False)),
                    _connector="OR",
                ),
                name="tool_call_decision_has_a_time",
            ),
        ),
        migrations.AddField(
            model_name="allowance",
            name="conversation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="allowances", to="chat.conversation"
            ),
        ),
        migrations.AddConstraint(
            model_name="allowance",
            constraint=models.UniqueConstraint(
                fields=("conversation", "tool", "program"), name="allowance_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="allowance",
            constraint=models.CheckConstraint(
                condition=models.Q(("program", ""), ("tool", "bash"), _negated=True),
                name="allowance_names_a_program",
            ),
        ),
    ]
