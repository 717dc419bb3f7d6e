"""What stands on a person's board, as cheaply as it can be known: enough to see that something changed."""

from __future__ import annotations

import uuid
from bisect import bisect_left
from typing import Any, NamedTuple

from django.db.models import Case, Exists, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from chat.live.attention import Attention, active_of, attention_of
from chat.models import Conversation, TodoRevision, Turn
from chat.models.turn import share_is_used

LISTED = 50  # conversations in each section; there is a page for the others

Waiting, Running = Turn.Status.WAITING, Turn.Status.RUNNING
FIRST_WHO_WAITS = Case(When(status=Waiting, then=Value(0)), When(status=Running, then=Value(1)), default=2)


class Place(NamedTuple):
    """A conversation on the board: its latest turn as it stands, its latest list, and how much is left."""

    conversation_id: uuid.UUID
    title: str
    left: int
    turn_id: int
    revision_id: int | None
    status: str
    fence: int
    sentence: str
    ahead: int = 0
    waits_for_share: bool = False


class Outline(NamedTuple):
    """The sections, each of up to LISTED places; `more` is True where unfinished ones find no room."""

    attention: Attention
    running: tuple[Place, ...] = ()
    unseen: tuple[Place, ...] = ()
    unfinished: tuple[Place, ...] = ()
    more: bool = False


def outline_of(owner_id: int) -> Outline:
    """What stands on the board of a person, in seven queries at most."""
    conversations = Conversation.objects.filter(owner=owner_id)
    unfinished = _places(_left_alone(conversations.current().unfinished()), LISTED + 1)
    return Outline(
        attention_of([owner_id])[owner_id],
        _running(owner_id),
        _places(conversations.unseen().order_by("-unseen_turn_id"), LISTED),
        unfinished[:LISTED],
        len(unfinished) > LISTED,
    )


def _left_alone(conversations: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """Those of them that stand in no other section, newest first."""
    # Asked for as NULL, the unseen turn would have SQLite read through everybody's conversations.
    seen = conversations.alias(unseen=Coalesce("unseen_turn_id", 0)).filter(unseen=0)
    return seen.exclude(Exists(_active(OuterRef("pk")))).order_by("-updated_at")


def _running(owner_id: int) -> tuple[Place, ...]:
    found = (
        active_of([owner_id])
        .order_by(FIRST_WHO_WAITS, "pk")
        .values_list(
            "conversation",
            "conversation__title",
            "conversation__todos_left",
            "pk",
            _latest(TodoRevision, OuterRef("conversation")),
            "status",
            "fence",
            "sentence",
        )
    )
    places = [Place(*each) for each in found[:LISTED]]
    if not any(place.status == Turn.Status.QUEUED for place in places):
        return tuple(places)
    queue, share_used = _queue(), share_is_used(owner_id)
    return tuple(
        place._replace(ahead=bisect_left(queue, place.turn_id), waits_for_share=share_used)
        if place.status == Turn.Status.QUEUED
        else place
        for place in places
    )


def _places(conversations: QuerySet[Conversation], most: int) -> tuple[Place, ...]:
    """Conversations in which nothing works, with how their last turns ended."""
    here = OuterRef("pk")
    found = conversations.values_list(
        "pk",
        "title",
        "todos_left",
        _latest(Turn, here),
        _latest(TodoRevision, here),
        *(_latest(Turn, here, name) for name in ("status", "fence", "sentence")),
    )
    return tuple(Place(*each) for each in found[:most])


def _latest(model: type[Turn] | type[TodoRevision], conversation: OuterRef, name: str = "pk") -> Subquery:
    """That column of the conversation's latest row."""
    rows: QuerySet[Any] = model.objects.filter(conversation=conversation)
    return Subquery(rows.order_by("-pk").values(name)[:1])


def _active(conversation: OuterRef) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation=conversation, status__in=Turn.ACTIVE)


def _queue() -> list[int]:
    waiting = Turn.objects.filter(status=Turn.Status.QUEUED).order_by("pk")
    return list(waiting.values_list("pk", flat=True))
