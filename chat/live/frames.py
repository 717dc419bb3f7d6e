"""Frames: what travels to the sockets, numbered so that a gap shows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import astuple
from types import MappingProxyType
from typing import Any

from chat.live.beside import Beside, look_beside
from chat.live.context_meter import context_meter_of
from chat.live.fragments import (
    approval_message,
    context_message,
    follow_ups_message,
    listing_message,
    organised_message,
    panel_message,
    profile_message,
    state_message,
    title_message,
    turn_messages,
    unfinished_message,
)
from chat.live.todo_panel import TodoPanel, panel_of
from chat.models import Conversation, Turn

# A position in the story of a conversation: turn, then fence, then the worker's count.
Position = tuple[int, int, int]

END = 2**31  # the count of a turn that has ended: nothing of it comes later


def frame(position: Position, messages: list[str], *, key: bool = False) -> dict[str, Any]:
    """A frame of socket messages. A key frame stands for itself: it needs none of those of its turn."""
    return {"type": "chat.frame", "position": list(position), "messages": messages, "key": key}


def key_frame(
    turn: Turn,
    count: int,
    texts: Mapping[int, str] = MappingProxyType({}),
    thoughts: Mapping[int, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The turn as its rows tell it, whole, with panel and state. Reads the database.

    `texts` and `thoughts` are those of messages that are being written, by primary key, where they are ahead
    of their rows.
    The frame says which turn stands before it, what it shows beside the turns, and whose conversation it is.
    """
    turn = Turn.with_rows().get(pk=turn.pk)
    earlier = Turn.objects.filter(conversation=turn.conversation_id, pk__lt=turn.pk)
    previous = earlier.order_by("pk").values_list("pk", flat=True).last() or 0
    for message in turn.messages.all():
        if not message.complete:
            message.text = texts.get(message.pk, message.text)
            message.reasoning = thoughts.get(message.pk, message.reasoning)
    position = (turn.pk, turn.fence, count if turn.is_active else END)
    shell, whole = turn_messages(turn)
    around, beside = surroundings(turn.conversation, turn)
    told = {"previous": previous, "beside": astuple(beside), "owner": turn.conversation.owner_id}
    return frame(position, [shell, whole + around], key=True) | told


def panel_frame(panel: TodoPanel | None, edited: int) -> dict[str, Any]:
    """What a frame says of the panel, and what it has of the person's changes.

    A tab that shows later ones lets it be: it was drawn before the worker knew of them.
    """
    return {"panel": panel_message(panel), "edited": edited}


def resting_place(turn: Turn | None) -> Position:
    """The position of whoever knows of a conversation's latest turn only what its rows tell."""
    return (turn.pk, turn.fence, 0 if turn.is_active else END) if turn else (0, 0, END)


def lacking(conversation: Conversation, after: int) -> tuple[Turn | None, list[int]]:
    """The latest turn, and the keys of those that a page lacks that knows the turns up to `after`."""
    last = conversation.turns.order_by("pk").last()
    return last, list(conversation.turns.filter(pk__gt=after).values_list("pk", flat=True))


def drawn(turn_id: int) -> tuple[Turn | None, list[str]]:
    """A turn as its rows tell it, and the socket messages that put it on the page; none if it was deleted."""
    turn = Turn.with_rows().filter(pk=turn_id).first()
    return turn, turn_messages(turn) if turn else []


def end_of_page(
    conversation: Conversation, turn_id: int, *, lacking: bool
) -> tuple[Turn | None, list[str], Beside]:
    """The turn, the socket messages that bring the page's end up to date, and what they show there.

    The turn is drawn where the page is `lacking` it, then everything beside the turns. Reads the database.
    """
    turn, messages = drawn(turn_id) if lacking else (Turn.objects.filter(pk=turn_id).first(), [])
    around, beside = surroundings(conversation, turn)
    return turn, [*messages[:-1], "".join([*messages[-1:], around])], beside


def status_of(conversation: Conversation) -> str:
    """What the conversation is doing: its active turn's status, or idle."""
    active = conversation.turns.filter(status__in=Turn.ACTIVE).values_list("status", flat=True).first()
    return active or "idle"


def row_beside(page: Conversation, conversation_id: uuid.UUID) -> list[str]:
    """What shows beside the page how another conversation is called; nothing if it is gone, or another's."""
    owned = Conversation.objects.filter(pk=conversation_id, owner=page.owner_id)
    return [listing_message(row, page) for row in owned.listed(0, 1)]


def surroundings(conversation: Conversation, last: Turn | None) -> tuple[str, Beside]:
    """The socket message that brings everything beside the turns up to date, and what it shows there.

    The page works for as long as the `last` turn does that is drawn along with it, though it may have ended
    by now: what tells so comes next.
    """
    beside, held = look_beside(conversation)
    conversation.plan = conversation.revision()
    status = last.status if last and last.is_active else status_of(conversation)
    conversation.waits = status == Turn.Status.WAITING
    messages = "".join(
        [
            approval_message(conversation),
            context_message(context_meter_of(conversation)),
            panel_message(panel_of(conversation)),
            unfinished_message(conversation),
            follow_ups_message(conversation, held),
            listing_message(conversation),
            organised_message(conversation),
            title_message(conversation),
            profile_message(conversation),
            state_message(conversation, status),
        ]
    )
    return messages, beside
