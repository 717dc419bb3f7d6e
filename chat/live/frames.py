"""Frames: what travels to the sockets, numbered so that a gap shows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from chat.live.fragments import (
    approval_message,
    follow_ups_message,
    listing_message,
    panel_message,
    state_message,
    turn_messages,
)
from chat.live.todo_panel import panel_of
from chat.models import Conversation, Turn

# A position in the story of a conversation: turn, then fence, then the worker's count.
Position = tuple[int, int, int]

END = 2**31  # the count of a turn that has ended: nothing of it comes later


def frame(position: Position, messages: list[str], *, key: bool = False) -> dict[str, Any]:
    """A frame of socket messages. A key frame stands for itself: it needs none of those before it."""
    return {"type": "chat.frame", "position": list(position), "messages": messages, "key": key}


def key_frame(turn: Turn, count: int, texts: Mapping[int, str] = MappingProxyType({})) -> dict[str, Any]:
    """The turn as its rows tell it, whole, with panel and state. Reads the database.

    `texts` are those of messages that are being written, by primary key, where they are ahead of their rows.
    """
    turn = Turn.with_rows().get(pk=turn.pk)
    for message in turn.messages.all():
        if not message.complete:
            message.text = texts.get(message.pk, message.text)
    position = (turn.pk, turn.fence, count if turn.is_active else END)
    return frame(position, [*turn_messages(turn), surroundings(turn.conversation)], key=True)


def lacking(conversation: Conversation, after: int) -> tuple[Position, list[int], Turn | None]:
    """What a page lacks that knows the turns up to `after`: position, keys of turns, the active turn."""
    turns = list(conversation.turns.filter(pk__gt=after))
    last = turns[-1] if turns else None
    active = last if last and last.is_active else None
    position = (last.pk, last.fence, 0 if active else END) if last else (after, 0, END)
    return position, [turn.pk for turn in turns], active


def messages_of(turn_id: int) -> list[str]:
    """The socket messages that put a turn on the page as its rows tell it; none for one that was deleted."""
    turn = Turn.with_rows().filter(pk=turn_id).first()
    return turn_messages(turn) if turn else []


def status_of(conversation: Conversation) -> str:
    """What the conversation is doing: its active turn's status, or idle."""
    active = conversation.turns.filter(status__in=Turn.ACTIVE).values_list("status", flat=True).first()
    return active or "idle"


def surroundings(conversation: Conversation) -> str:
    """The socket message that brings everything beside the turns up to date."""
    conversation.plan = conversation.revision()
    status = status_of(conversation)
    conversation.waits = status == Turn.Status.WAITING
    return "".join(
        [
            approval_message(conversation),
            panel_message(panel_of(conversation)),
            follow_ups_message(conversation),
            listing_message(conversation),
            state_message(conversation, status),
        ]
    )
