"""What a served site promises, whatever happened to it. Each check raises AssertionError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from chat.models import ToolCall, Turn
from tests.live.site import article, panel

Message = Mapping[str, Any]
OPEN_CALLS = ("pending", "waiting", "running")


def check_history(messages: Sequence[Message]) -> None:
    """Every tool call is answered exactly once, in order, right after it was asked for."""
    assert messages[0]["role"] == "system"
    expected: list[str] = []
    for message in messages[1:]:
        if message["role"] == "tool":
            assert expected, f"a result that nobody asked for: {message}"
            assert message["tool_call_id"] == expected.pop(0)
            continue
        assert not expected, f"calls without a result: {expected}"
        assert message["role"] in ("user", "assistant")
        assert message.get("content") or message.get("tool_calls"), f"an empty message: {message}"
        expected = [call["id"] for call in message.get("tool_calls") or []]
    assert not expected, f"calls without a result: {expected}"


def check_accepted(turns: Sequence[Turn], said: Sequence[str]) -> None:
    """Every accepted message is there once, in order, and nothing else was said by the user."""
    assert [turn.user_text for turn in turns] == list(said)


def check_ended(turns: Sequence[Turn]) -> None:
    """Every turn has ended, and nothing in it is open."""
    for turn in turns:
        assert not turn.is_active, f"{turn} has not ended"
        assert turn.ended_at is not None
        assert all(message.complete for message in turn.messages.all())
        assert not [call for call in turn.tool_calls.all() if call.status in OPEN_CALLS]


def check_traces(turn: Turn, workspace: Path) -> None:
    """No command ran twice, and the record of each tells no lie about it."""
    file = workspace / "traces"
    left = file.read_text().split() if file.exists() else []
    for call in turn.tool_calls.all():
        if call.name == "bash":
            check_trace(call, left.count(call.summary_line.split()[1]))


def check_trace(call: ToolCall, times: int) -> None:
    """A command that is recorded so ran so many times."""
    allowed = {"succeeded": [1], "unknown": [0, 1], "failed": [0, 1]}.get(call.status, [0])
    if call.status == "stopped" and call.started_at:
        allowed = [0, 1]
    assert times in allowed, f"{call.summary_line!r} is {call.status} and ran {times} times"


def check_page(page: str, turns: Sequence[Turn]) -> None:
    """A fresh load shows what the rows tell."""
    for turn in turns:
        shown = article(page, turn)
        assert f'data-status="{turn.status}"' in shown.split(">")[0]
        for row in turn.rows():
            assert f'id="{row.dom_id}"' in shown
            if isinstance(row, ToolCall):
                assert f'id="{row.dom_id}" data-' in shown
        assert shown.count('class="message"') == len(turn.messages.all())
        assert turn.status_message == "" or escape(turn.status_message) in shown
    idle = not any(turn.is_active for turn in turns)
    assert ('data-status="idle"' in page.partition('id="conversation"')[2].split(">")[0]) == idle


def check_list(page: str, turns: Sequence[Turn], items: Sequence[Mapping[str, str]] | None) -> None:
    """The list is the last accepted one, in the rows and on the page."""
    revisions = [
        call.revision for turn in turns for call in turn.tool_calls.all() if hasattr(call, "revision")
    ]
    if items is None:
        assert not revisions
        assert panel(page) == ""
        return
    last = max(revisions, key=lambda revision: revision.pk)
    assert [(item["content"], item["status"]) for item in last.items] == [
        (item["content"], item["status"]) for item in items
    ]
    assert f'data-done="{last.done}" data-total="{last.total}"' in panel(page)
