"""Tool calls: request and outcome of one call."""

from __future__ import annotations

import json
import re
from typing import Any

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.agent.storable import storable, storable_json
from chat.models.profile import Allowance
from chat.models.step import Step
from chat.models.turn import Turn

TODO_WRITE = "TodoWrite"
SHELL = "bash"
READER = "read_file"
WRITERS = ("write_file", "edit_file")
MAX_CHANGED_PATHS = 20  # files shown of one command
MAX_REASON = 2000  # characters
MAX_ALLOWED_COMMAND = 200  # characters, the length of Allowance.program

MAX_PATH = 1000  # characters of a path that is kept and shown


class DecisionRefused(ValueError):  # noqa: N818 (a refusal, shown to the user)
    """The decision has no effect; the message tells the user why."""


class ToolCall(models.Model):
    """One call as the model requested it, the user's decision, and the outcome.

    `call_id` is the model's id for it; `detail` is only for the user; `asked_at` is when the user was asked.
    From turn `shortened_in` on the model reads `shortened` instead of the output.
    """

    class Decision(models.TextChoices):
        ONCE = "once", _("Allowed by you")
        CONVERSATION = "conversation", _("Allowed by you for this conversation")
        COVERED = "covered", _("Allowed by you earlier")
        DENIED = "denied", _("Denied by you")

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        WAITING = "waiting", _("Waiting for you")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Done")
        FAILED = "failed", _("Failed")
        DENIED = "denied", _("Denied")
        STOPPED = "stopped", _("Stopped")
        UNKNOWN = "unknown", _("Outcome unknown")

    FINAL = (Status.SUCCEEDED, Status.FAILED, Status.DENIED, Status.STOPPED, Status.UNKNOWN)

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="tool_calls")
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="tool_calls")
    index = models.PositiveIntegerField()
    call_id = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    arguments = models.TextField(blank=True)
    extra = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.PENDING)
    output = models.TextField(blank=True)
    detail = models.JSONField(default=dict, blank=True)
    shortened = models.TextField(blank=True)
    shortened_in = models.ForeignKey(
        Turn, on_delete=models.SET_NULL, null=True, blank=True, related_name="shortened_calls"
    )
    decision = models.CharField(max_length=20, choices=Decision, blank=True)
    reason = models.TextField(blank=True)
    asked_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["step", "index"], name="tool_call_index_once"),
            models.CheckConstraint(
                condition=Q(
                    status__in=[
                        "pending",
                        "waiting",
                        "running",
                        "succeeded",
                        "failed",
                        "denied",
                        "stopped",
                        "unknown",
                    ]
                ),
                name="tool_call_status_known",
            ),
            models.UniqueConstraint(
                fields=["turn"], condition=Q(status="waiting"), name="tool_call_one_waits_a_turn"
            ),
            models.CheckConstraint(
                condition=Q(decision__in=["", "once", "conversation", "covered", "denied"]),
                name="tool_call_decision_known",
            ),
            models.CheckConstraint(
                condition=Q(decision="", decided_at__isnull=True)
                | (~Q(decision="") & Q(decided_at__isnull=False)),
                name="tool_call_decision_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.status})"

    @property
    def dom_id(self) -> str:
        return f"tool-call-{self.pk}"

    @property
    def shortened_dom_id(self) -> str:
        return f"{self.dom_id}-shortened"

    @property
    def sort_key(self) -> tuple[int, int]:
        return (self.step.number, self.index)

    @property
    def is_todo_write(self) -> bool:
        return self.name == TODO_WRITE

    @property
    def shell_program(self) -> str:
        """The plain program that a shell command runs; empty for other tools, and if it may run others."""
        return shell_program(str(self.parsed_arguments.get("command", ""))) if self.name == SHELL else ""

    @property
    def allowance_program(self) -> str:
        """The `program` of an allowance: a plain program, else the exact command; empty if too long."""
        command = str(self.parsed_arguments.get("command", "")).strip() if self.name == SHELL else ""
        return self.shell_program or (command if len(command) <= MAX_ALLOWED_COMMAND else "")

    @property
    def allows_blanket_approval(self) -> bool:
        """Whether calls like it can be allowed together: same tool, same program or command."""
        return self.name != SHELL or bool(self.allowance_program)

    @property
    def is_covered(self) -> bool:
        covers = Allowance.covers(self.turn.conversation_id, self.name, self.allowance_program)
        return self.allows_blanket_approval and covers

    def decide(self, decision: str, reason: str = "") -> None:
        """Record the decision, once, and queue the turn again; raises DecisionRefused.

        The same decision once more, as by a second click, changes nothing.
        """
        if decision not in (self.Decision.ONCE, self.Decision.CONVERSATION, self.Decision.DENIED):
            raise DecisionRefused(_("Choose either Allow or Deny."))
        if decision == self.Decision.CONVERSATION and not self.allows_blanket_approval:
            raise DecisionRefused(_("This command is too long to be allowed for the whole conversation."))
        reason = storable(reason).strip()[:MAX_REASON] if decision == self.Decision.DENIED else ""
        with transaction.atomic():
            # The turn before its rows: the order in which workers and a stop lock them.
            turn = Turn.objects.select_for_update(no_key=True).get(pk=self.turn_id)
            waiting = ToolCall.objects.filter(pk=self.pk, status=self.Status.WAITING)
            decided = waiting.update(
                status=self.Status.PENDING, decision=decision, reason=reason, decided_at=timezone.now()
            )
            if not decided:
                self.refresh_from_db()
                if (self.decision, self.reason) == (decision, reason):
                    return
                raise DecisionRefused(self._why_not())
            if decision == self.Decision.CONVERSATION:
                turn.conversation.allowances.get_or_create(tool=self.name, program=self.allowance_program)
            turn.resume()
        self.refresh_from_db()

    def _why_not(self) -> str:
        if not self.decision:
            return str(_("The agent is no longer waiting for this answer."))
        return str(_("Already answered: %s.") % self.get_decision_display())

    @property
    def seconds(self) -> float | None:
        """How long it ran; at least 0, as the clock may have been set back."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.started_at).total_seconds())

    @property
    def waited(self) -> float:
        """Seconds for which it waited for the user; at least 0."""
        until = self.decided_at or self.ended_at
        if self.asked_at is None or until is None:
            return 0.0
        return max(0.0, (until - self.asked_at).total_seconds())

    @property
    def ran(self) -> bool:
        return self.started_at is not None

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """The arguments as an object; empty if they cannot be parsed."""
        try:
            arguments = storable_json(json.loads(self.arguments or "{}", strict=False))
        except (ValueError, RecursionError):
            return {}
        return arguments if isinstance(arguments, dict) else {}

    @property
    def file_written(self) -> str:
        """The path of the file that it wrote; empty for other tools."""
        wrote = self.name in WRITERS and self.status == self.Status.SUCCEEDED
        return str(self.parsed_arguments.get("path") or "") if wrote else ""

    @property
    def listed_folder(self) -> bool:
        """Whether it read a folder, not a file: of a file the state or the picture is recorded."""
        return self.name == READER and self.status == self.Status.SUCCEEDED and not self.detail

    @property
    def command_changed(self) -> list[str]:
        """Paths of files that a command created, changed or removed, as far as they are recorded."""
        return self._recorded_paths("changed")

    @property
    def command_removed(self) -> list[str]:
        return self._recorded_paths("removed")

    def _recorded_paths(self, name: str) -> list[str]:
        recorded = self.detail.get(name) if self.name == SHELL else None
        paths = recorded[:MAX_CHANGED_PATHS] if isinstance(recorded, list) else []
        return [path for path in paths if isinstance(path, str) and _is_beneath(path)]

    @property
    def command_changed_more(self) -> int:
        more = self.detail.get("changed_more") if self.command_changed else 0
        return more if isinstance(more, int) and 0 < more < 10**6 else 0

    @property
    def summary_line(self) -> str:
        """What it works on, in one line: a command, a path, or the first text argument."""
        arguments = self.parsed_arguments
        named = [arguments[name] for name in ("command", "path", "query", "url") if name in arguments]
        texts = [value for value in [*named, *arguments.values()] if isinstance(value, str) and value.strip()]
        return " ".join(texts[0].split())[:200] if texts else ""


def _is_beneath(path: str) -> bool:
    """Whether the path, possibly forged in an imported file, is inside a workspace."""
    return 0 < len(path) <= MAX_PATH and not path.startswith("/") and ".." not in path.split("/")


# What makes a command more than one program with arguments: further commands, substitutions, redirections,
# escapes, comments, braces that expand to words.
_SYNTAX = frozenset(";&|<>()`$\\{}#!\n\r")

# Programs that run no other program, whatever their arguments and the files they read. An allow-list, because
# programs that run others cannot be enumerated (choom, linux64, run-parts, sotruss, git with an alias).
# One option keeps these out: sort (--compress-program), split (--filter), install (--strip-program),
# diff (-l runs pr), file (-z runs gzip), printf (-v 'x[$(...)]', in bash), dd (seek= in /proc/self/mem).
PLAIN_PROGRAMS = frozenset(
    """
    basename cat chmod cksum cmp comm cp cut date df dirname du echo expand false fold grep head id join ln ls
    md5sum mkdir mv nl nproc od paste pwd readlink realpath rev rm rmdir seq sha1sum sha256sum sha512sum
    sleep stat tac tail touch tr true truncate uname unexpand uniq wc whoami
    """.split()  # noqa: SIM905 - a list of words reads better
)


def shell_program(command: str) -> str:
    """The plain program that bash runs for the command; empty if it may run anything else.

    Only a bare name counts, looked up on the sandbox's fixed PATH: a path may lead to a file that the agent
    has written.
    """
    line = command.strip(" \t\n")
    name = re.split(r"[ \t]", line, maxsplit=1)[0]
    return name if name in PLAIN_PROGRAMS and _is_simple(line) else ""


def _is_simple(line: str) -> bool:
    """Whether the line is a single command without anything that bash would run or expand."""
    quote = ""
    for character in line:
        if character < " " and character not in "\t\n":
            return False
        if quote == "'":
            quote = "" if character == "'" else quote
        elif quote == '"':
            if character in "$`\\":
                return False
            quote = "" if character == '"' else quote
        elif character in "'\"":
            quote = character
        elif character in _SYNTAX:
            return False
    return not quote
