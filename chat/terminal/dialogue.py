"""A conversation in the terminal."""

from __future__ import annotations

import asyncio
import signal
import uuid
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from chat.live.diff import diff_of
from chat.live.usage_text import usage_line, usage_of
from chat.models import Conversation, DecisionRefused, MessageRefused, Profile, ToolCall, Turn, turn_recovery
from chat.models.tool_call import SHELL
from chat.terminal.console import Console, TerminalScreen
from chat.turns.run_turn import RunningTurn
from chat.turns.solo import SoloTurn

if TYPE_CHECKING:
    from django.contrib.auth.models import User


PROMPT = "> "
EXIT_COMMANDS = ("exit", "quit")


class Dialogue:
    def __init__(
        self, owner: User, profile: Profile | None, workspace: str, console: Console, runner: asyncio.Runner
    ) -> None:
        self.owner = owner
        self.profile = profile
        self.workspace = workspace
        self.console = console
        self.runner = runner
        self.worker = turn_recovery.new_worker_name()
        self.conversation: Conversation | None = None
        self.leaving = False

    def run(self) -> None:
        """Read messages until the user exits. A refused message is printed with its reason."""
        while not self.leaving:
            text = self._read()
            if text is None or text.strip() in EXIT_COMMANDS:
                return
            if text.strip():
                try:
                    self.take(text)
                except MessageRefused as refusal:
                    self.console.line(str(refusal), "fault")

    def take(self, text: str) -> Turn:
        """Run the turn that answers `text`; returns it ended, or waiting for an approval not given here.

        Raises MessageRefused.
        """
        turn = self._begin(text)
        self.runner.run(self._work(turn))
        while turn.status == Turn.Status.WAITING and (claimed := self._ask_approval(turn)):
            turn = claimed
            self.runner.run(self._work(turn))
        if not turn.is_active:
            self._print_usage(turn)
        if not (turn.is_active or self.leaving):
            turn.conversation.mark_seen(turn.pk)  # it was read here
        return turn

    def _print_usage(self, turn: Turn) -> None:
        usage = usage_of(Turn.with_rows().get(pk=turn.pk))
        if usage.calls:
            self.console.gap()
            self.console.line(usage_line(usage), "quiet")

    def _ask_approval(self, turn: Turn) -> Turn | None:
        """Ask for the pending approval; returns the turn claimed again, or None if it goes on elsewhere."""
        call = turn.tool_calls.filter(status=ToolCall.Status.WAITING).first()
        try:
            if call:
                return self._decide(turn, call, *ApprovalPrompt(call, self.console).ask())
        except KeyboardInterrupt:
            turn.request_stop()
            self.console.line(f"{Turn.Status.STOPPED.label}.", "quiet")
            return None
        except EOFError:
            self.console.line(_("The agent is waiting for your answer, which you can give in the browser."))
            return None
        return self._reclaim(turn)

    def _decide(self, turn: Turn, call: ToolCall, decision: str, reason: str) -> Turn | None:
        try:
            # In one transaction, so that no other worker can claim the turn.
            with transaction.atomic():
                call.decide(decision, reason)
                return Turn.claim(self.worker, turn.pk)
        except DecisionRefused as refusal:
            self.console.line(str(refusal), "fault")
            return self._reclaim(turn)

    def _reclaim(self, turn: Turn) -> Turn | None:
        """Claim the turn after an approval in a browser, unless another worker has it."""
        claimed = Turn.claim(self.worker, turn.pk)
        if claimed is None:
            self.console.line(_("This turn continues in the browser, or has ended there."), "quiet")
        return claimed

    def _read(self) -> str | None:
        self.console.gap()
        try:
            text = input(PROMPT)
        except EOFError:
            self.console.write("\n")
            return None
        except KeyboardInterrupt:
            self.console.write("\n")
            return ""
        self.console.was_answered()
        return text

    def _begin(self, text: str) -> Turn:
        # Queued and claimed in one transaction, so that no other worker can claim the turn.
        with transaction.atomic():
            if self.conversation is None:
                conversation = Conversation.begin(
                    self.owner, text, uuid.uuid4(), self.profile, self.workspace
                )
                turn = conversation.turns.get()
            else:
                conversation = self.conversation
                turn = conversation.start_turn(text, uuid.uuid4())
            claimed = Turn.claim(self.worker, turn.pk)
        if claimed is None:
            raise RuntimeError(f"{turn} was claimed before it was committed")
        self.conversation = conversation
        return claimed

    async def _work(self, turn: Turn) -> None:
        solo = SoloTurn(RunningTurn(turn, TerminalScreen(turn, self.console)))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, solo.stop)
        for signum in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(signum, self._leave, solo)
        try:
            await solo.run()
        finally:
            for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(signum)

    def _leave(self, solo: SoloTurn) -> None:
        self.leaving = True
        solo.stop(Turn.Status.INTERRUPTED)


COLOUR_OF_LINE = {"removed": "fault", "added": "done", "same": ""}


class ApprovalPrompt:
    def __init__(self, call: ToolCall, console: Console) -> None:
        self.call = call
        self.console = console
        self.keys = {"a": ToolCall.Decision.ONCE, "d": ToolCall.Decision.DENIED}
        if call.allows_blanket_approval:
            self.keys["c"] = ToolCall.Decision.CONVERSATION

    def ask(self) -> tuple[str, str]:
        """The decision and its reason, which may be "".

        Raises EOFError at end of file and KeyboardInterrupt on Ctrl-C.
        """
        self._print_call()
        key = ""
        while key not in self.keys:
            key = self._read(f"{self._choices()} > ").strip().lower()[:1]
        reason = self._read(_("Reason (shown to the agent)") + " > ") if key == "d" else ""
        return self.keys[key], reason

    def _print_call(self) -> None:
        self.console.gap()
        self.console.write(_("Allow the agent to use %s?") % self.call.name, "strong")
        self.console.end_line()
        change = self.call.detail.get("foreseen")
        if change:
            self.console.line(f"    {change['path']}")
            self._print_change(change)
        else:
            for name, value in self.call.parsed_arguments.items():
                self._print_argument(name, str(value))

    def _print_change(self, change: dict[str, str]) -> None:
        diff = diff_of(b"\0" if change.get("binary") else change["before"], change["after"])
        for hunk in diff.hunks:
            for line in hunk.lines:
                self.console.line(f"    {line.sign} {line.text}".rstrip("\n"), COLOUR_OF_LINE[line.kind])
        if diff.unshown:
            self.console.line("    …", "quiet")

    def _print_argument(self, name: str, value: str) -> None:
        lines = value.splitlines() or [""]
        self.console.line(f"    {name}: {lines[0]}")
        for line in lines[1:]:
            self.console.line(f"        {line}")

    def _choices(self) -> str:
        exact = self.call.name == SHELL and not self.call.shell_program
        what = _("this exact command") if exact else self.call.shell_program or self.call.name
        blanket = _("[c] allow %s in this conversation") % what if "c" in self.keys else ""
        return ", ".join(part for part in (_("[a] allow once"), blanket, _("[d] deny")) if part)

    def _read(self, prompt: str) -> str:
        try:
            text = input(prompt)
        except (EOFError, KeyboardInterrupt):
            self.console.write("\n")
            raise
        self.console.was_answered()
        return text
