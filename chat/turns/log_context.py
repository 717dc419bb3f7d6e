"""The conversation and turn that log records are about."""

from __future__ import annotations

from contextvars import ContextVar

from chat.models import Turn

_context: ContextVar[dict[str, str | int]] = ContextVar("log_context", default={})  # noqa: B039 (never changed)


def set_log_context(turn: Turn) -> None:
    """Attach the turn to log records of this task and the threads it calls."""
    _context.set({"conversation": str(turn.conversation_id), "turn": turn.pk})


def log_context() -> dict[str, str | int]:
    return _context.get()
