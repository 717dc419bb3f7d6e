"""A call that waits for an answer, put to the person at the prompt."""

from __future__ import annotations

from django.utils.translation import gettext as _

from chat.live.diff import diff_of
from chat.models import ToolCall
from chat.terminal.paper import Paper

COLOUR_OF_LINE = {"removed": "fault", "added": "done", "same": ""}


class Question:
    """What the call would do, and the answers that there are."""

    def __init__(self, call: ToolCall, paper: Paper) -> None:
        self.call = call
        self.paper = paper
        self.keys = {"a": ToolCall.Decision.ONCE, "d": ToolCall.Decision.DENIED}
        if call.can_be_allowed_on:
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
            for name, value in self.call.given.items():
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
        what = self.call.program or self.call.name
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
