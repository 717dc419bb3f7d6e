"""A conversation held in a terminal."""

from __future__ import annotations

import asyncio
import signal
import uuid
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from chat.live.diff import diff_of
from chat.live.usage_text import told, usage_of
from chat.models import Conversation, DecisionRefused, MessageRefused, Profile, ToolCall, Turn, turn_recovery
from chat.terminal.console import Console, TerminalScreen
from chat.turns.run_turn import RunningTurn
from chat.turns.solo import SoloTurn

if TYPE_CHECKING:
    from django.contrib.auth.models import User


PROMPT = "> "
WAYS_OUT = ("exit", "quit")


class Dialogue:
    """Takes one message after the other, and works on each turn in this process."""

    def __init__(
        self, owner: User, profile: Profile | None, workspace: str, paper: Console, runner: asyncio.Runner
    ) -> None:
        self.owner = owner
        self.profile = profile
        self.workspace = workspace
        self.paper = paper
        self.runner = runner
        self.worker = turn_recovery.new_name()
        self.conversation: Conversation | None = None
        self.leaving = False

    def hold(self) -> None:
        """Read messages until the person leaves. A message that is refused says why, and costs nothing."""
        while not self.leaving:
            text = self._read()
            if text is None or text.strip() in WAYS_OUT:
                return
            if text.strip():
                try:
                    self.take(text)
                except MessageRefused as refusal:
                    self.paper.line(str(refusal), "fault")

    def take(self, text: str) -> Turn:
        """The turn that answers `text`: ended, or left to wait for an answer that nobody here gave.

        Raises MessageRefused for a text that starts none.
        """
        turn = self._begin(text)
        self.runner.run(self._work(turn))
        while turn.status == Turn.Status.WAITING and (claimed := self._answered(turn)):
            turn = claimed
            self.runner.run(self._work(turn))
        if not turn.is_active:
            self._tell_usage(turn)
        if not (turn.is_active or self.leaving):
            turn.conversation.see(turn.pk)  # here, as it was printed
        return turn

    def _tell_usage(self, turn: Turn) -> None:
        """A quiet line: tokens, what they cost where a price is known, and the seconds."""
        usage = usage_of(Turn.with_rows().get(pk=turn.pk))
        if usage.calls:
            self.paper.gap()
            self.paper.line(told(usage), "quiet")

    def _answered(self, turn: Turn) -> Turn | None:
        """The turn again, ours to go on with once its question is answered; None if it is not."""
        call = turn.tool_calls.filter(status=ToolCall.Status.WAITING).first()
        try:
            if call:
                return self._decided(turn, call, *Question(call, self.paper).put())
        except KeyboardInterrupt:
            turn.request_stop()
            self.paper.line(f"{Turn.Status.STOPPED.label}.", "quiet")
            return None
        except EOFError:
            self.paper.line(_("The agent is waiting for your answer, which you can give in the browser."))
            return None
        return self._taken_up(turn)

    def _decided(self, turn: Turn, call: ToolCall, decision: str, reason: str) -> Turn | None:
        try:
            # In one transaction: no worker that looks for turns ever sees it waiting for one.
            with transaction.atomic():
                call.decide(decision, reason)
                return Turn.claim(self.worker, turn.pk)
        except DecisionRefused as refusal:
            self.paper.line(str(refusal), "fault")
            return self._taken_up(turn)

    def _taken_up(self, turn: Turn) -> Turn | None:
        """The turn whose question was answered in a browser, unless a worker there has it by now."""
        claimed = Turn.claim(self.worker, turn.pk)
        if claimed is None:
            self.paper.line(_("This turn continues in the browser, or has ended there."), "quiet")
        return claimed

    def _read(self) -> str | None:
        """A line of the person's; None when they have left."""
        self.paper.gap()
        try:
            text = input(PROMPT)
        except EOFError:
            self.paper.write("\n")
            return None
        except KeyboardInterrupt:
            self.paper.write("\n")
            return ""
        self.paper.was_answered()
        return text

    def _begin(self, text: str) -> Turn:
        # Queued and claimed in one transaction: no worker that looks for turns ever sees it waiting.
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
        solo = SoloTurn(RunningTurn(turn, TerminalScreen(turn, self.paper)))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, solo.stop)
        for gone in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(gone, self._leave, solo)
        try:
            await solo.run()
        finally:
            for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(caught)

    def _leave(self, solo: SoloTurn) -> None:
        self.leaving = True
        solo.stop(Turn.Status.INTERRUPTED)


COLOUR_OF_LINE = {"removed": "fault", "added": "done", "same": ""}


class Question:
    """What the call would do, and the answers that there are."""

    def __init__(self, call: ToolCall, paper: Console) -> None:
        self.call = call
        self.paper = paper
        self.keys = {"a": ToolCall.Decision.ONCE, "d": ToolCall.Decision.DENIED}
        if call.allows_blanket_approval:
            self.keys["c"] = ToolCall.Decision.CONVERSATION

    def put(self) -> tuple[str, str]:
        """The decision and its reason, which may be empty.

        Raises EOFError where nobody is at the prompt, and KeyboardInterrupt as the person does.
        """
        self._tell()
        key = ""
        while key not in self.keys:
            key = self._read(f"{self._choices()} > ").strip().lower()[:1]
        reason = self._read(_("Reason (shown to the agent)") + " > ") if key == "d" else ""
        return self.keys[key], reason

    def _tell(self) -> None:
        self.paper.gap()
        self.paper.write(_("May the agent run %s?") % self.call.name, "strong")
        self.paper.end_line()
        change = self.call.detail.get("foreseen")
        if change:
            self.paper.line(f"    {change['path']}")
            self._tell_change(change)
        else:
            for name, value in self.call.parsed_arguments.items():
                self._tell_argument(name, str(value))

    def _tell_change(self, change: dict[str, str]) -> None:
        diff = diff_of(b"\0" if change.get("binary") else change["before"], change["after"])
        for hunk in diff.hunks:
            for line in hunk.lines:
                self.paper.line(f"    {line.sign} {line.text}".rstrip("\n"), COLOUR_OF_LINE[line.kind])
        if diff.unshown:
            self.paper.line("    …", "quiet")

    def _tell_argument(self, name: str, value: str) -> None:
        lines = value.splitlines() or [""]
        self.paper.line(f"    {name}: {lines[0]}")
        for line in lines[1:]:
            self.paper.line(f"        {line}")

    def _choices(self) -> str:
        """The keys in words; of the shell with the program that one of them allows."""
        what = self.call.shell_program or self.call.name
        on = _("[c] allow %s in this conversation") % what if "c" in self.keys else ""
        return ", ".join(part for part in (_("[a] allow once"), on, _("[d] deny")) if part)

    def _read(self, prompt: str) -> str:
        try:
            text = input(prompt)
        except (EOFError, KeyboardInterrupt):
            self.paper.write("\n")
            raise
        self.paper.was_answered()
        return text
