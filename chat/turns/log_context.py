"""Which conversation and turn the running code is about, for what it logs."""

from __future__ import annotations

from contextvars import ContextVar

from chat.models import Turn

_subject: ContextVar[dict[str, str | int]] = ContextVar("subject", default={})  # noqa: B039 (never changed)


def about(turn: Turn) -> None:
    """From here on, in this task and the threads that it calls, all is about the turn."""
    _subject.set({"conversation": str(turn.conversation_id), "turn": turn.pk})


def subject() -> dict[str, str | int]:
    """The ids of conversation and turn; empty outside a turn."""
    return _subject.get()
