import uuid

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Step",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("reminder", models.TextField(blank=True)),
                ("finish_reason", models.CharField(blank=True, max_length=40)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                ("cached_tokens", models.PositiveIntegerField(default=0)),
                ("reasoning_tokens", models.PositiveIntegerField(default=0)),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "step",
                "verbose_name_plural": "steps",
                "ordering": ["turn", "number"],
            },
        ),
        migrations.CreateModel(
            name="Profile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "title",
                    models.CharField(help_text="Name shown in menus.", max_length=80, verbose_name="title"),
                ),
                ("name", models.CharField(blank=True, max_length=80, verbose_name="agent's name")),
                ("instructions", models.TextField(blank=True, verbose_name="instructions")),
                (
                    "model",
                    models.CharField(
                        blank=True,
                        help_text="Blank: the model in OPENAI_MODEL.",
                        max_length=200,
                        verbose_name="model",
                    ),
                ),
                (
                    "todo_policy",
                    models.CharField(
                        choices=[
                            ("focused", "Focused: three states, shows what it is doing"),
                            ("lean", "Lean: open or done, fewest calls"),
                            ("checklist", "Checklist: the model numbers its items"),
                        ],
                        default="focused",
                        max_length=20,
                        verbose_name="to-do policy",
                    ),
                ),
                (
                    "max_todos",
                    models.PositiveSmallIntegerField(
                        default=20,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(200),
                        ],
                        verbose_name="max to-dos",
                    ),
                ),
                (
                    "remind_after",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Blank: the policy's default.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="rounds before a reminder",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        choices=[("en", "English"), ("zh", "中文")],
                        default="en",
                        max_length=10,
                        verbose_name="language",
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(default=100, verbose_name="position")),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        help_text="Blank: everyone can use it.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="profiles",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
            ],
            options={
                "verbose_name": "profile",
                "verbose_name_plural": "profiles",
                "ordering": ["position", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Conversation",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("title", models.CharField(max_length=200, verbose_name="title")),
                (
                    "workspace",
                    models.TextField(
                        blank=True,
                        help_text="The folder it works in. Blank: one of its own.",
                        verbose_name="workspace",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                (
                    "updated_at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="updated"),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conversations",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="conversations",
                        to="chat.profile",
                        verbose_name="profile",
                    ),
                ),
            ],
            options={
                "verbose_name": "conversation",
                "verbose_name_plural": "conversations",
                "ordering": ["-updated_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="SignInLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_in_links",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "sign-in link",
                "verbose_name_plural": "sign-in links",
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("client_id", models.UUIDField(unique=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("waiting", "Waiting"),
                            ("completed", "Completed"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("interrupted", "Interrupted"),
                        ],
                        default="queued",
                        max_length=20,
                        verbose_name="status",
                    ),
                ),
                ("sentence", models.TextField(blank=True, verbose_name="what happened")),
                ("stop_requested_at", models.DateTimeField(null=True)),
                ("worker", models.CharField(blank=True, max_length=100)),
                ("fence", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("deaths", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("started_at", models.DateTimeField(null=True, verbose_name="started at")),
                ("ended_at", models.DateTimeField(null=True, verbose_name="ended at")),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turns",
                        to="chat.conversation",
                    ),
                ),
                (
                    "follows",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="followed_by",
                        to="chat.turn",
                        verbose_name="follows",
                    ),
                ),
            ],
            options={
                "verbose_name": "turn",
                "verbose_name_plural": "turns",
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="ToolCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("index", models.PositiveIntegerField()),
                ("wire_id", models.CharField(max_length=200)),
                ("name", models.CharField(max_length=200)),
                ("arguments", models.TextField(blank=True)),
                ("extra", models.JSONField(blank=True, default=dict)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("waiting", "Waiting"),
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
                ("output", models.TextField(blank=True)),
                ("detail", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "step",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tool_calls", to="chat.step"
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tool_calls", to="chat.turn"
                    ),
                ),
            ],
            options={
                "verbose_name": "tool call",
                "verbose_name_plural": "tool calls",
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="TodoRevision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("policy", models.CharField(max_length=20)),
                ("items", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="chat.conversation",
                    ),
                ),
                (
                    "tool_call",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revision",
                        to="chat.toolcall",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="revisions", to="chat.turn"
                    ),
                ),
            ],
            options={
                "verbose_name": "to-do revision",
                "verbose_name_plural": "to-do revisions",
                "ordering": ["pk"],
            },
        ),
        migrations.AddField(
            model_name="step",
            name="turn",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="chat.turn"
            ),
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("role", models.CharField(choices=[("user", "You"), ("assistant", "Agent")], max_length=10)),
                ("text", models.TextField(blank=True)),
                ("reasoning", models.TextField(blank=True)),
                ("complete", models.BooleanField(default=True)),
                ("cut_off", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "step",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="message",
                        to="chat.step",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="messages", to="chat.turn"
                    ),
                ),
            ],
            options={
                "verbose_name": "message",
                "verbose_name_plural": "messages",
                "ordering": ["pk"],
            },
        ),
        migrations.AddConstraint(
            model_name="profile",
            constraint=models.CheckConstraint(
                condition=models.Q(("todo_policy__in", ["focused", "lean", "checklist"])),
                name="profile_policy_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="profile",
            constraint=models.CheckConstraint(
                condition=models.Q(("language__in", ["en", "zh"])), name="profile_language_known"
            ),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(fields=["owner", "-updated_at"], name="conversation_newest_first"),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(fields=["status", "id"], name="turn_by_status"),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["queued", "running", "waiting"])),
                fields=("conversation",),
                name="turn_one_active",
            ),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        ["queued", "running", "waiting", "completed", "stopped", "failed", "interrupted"],
                    )
                ),
                name="turn_status_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="toolcall",
            constraint=models.UniqueConstraint(fields=("step", "index"), name="tool_call_index_once"),
        ),
        migrations.AddConstraint(
            model_name="toolcall",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        [
                            "pending",
                            "waiting",
                            "running",
                            "succeeded",
                            "failed",
                            "denied",
                            "stopped",
                            "unknown",
                        ],
                    )
                ),
                name="tool_call_status_known",
            ),
        ),
        migrations.AddIndex(
            model_name="todorevision",
            index=models.Index(fields=["conversation", "-id"], name="revision_latest_first"),
        ),
        migrations.AddConstraint(
            model_name="step",
            constraint=models.UniqueConstraint(fields=("turn", "number"), name="step_number_once"),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["user", "assistant"])), name="message_role_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                condition=models.Q(("role", "user")), fields=("turn",), name="message_one_question_a_turn"
            ),
        ),
    ]
