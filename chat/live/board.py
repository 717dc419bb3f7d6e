"""A person's board: what works or waits, what has ended unseen, what was left unfinished."""

from __future__ import annotations

import datetime
import functools
import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Case, Exists, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils.html import escape
from django.utils.translation import gettext as _

from chat.database import in_database
from chat.live.attention import Attention, active_of, attention_of
from chat.live.broadcast import board_group
from chat.live.frames import partial
from chat.live.page_consumer import PageConsumer, batched, beating
from chat.live.regions import BoardLink, OwnerState, Region, RenderCache, Sidebar, digest, owner_state_of
from chat.live.resync import Have, Lacking, drawn_regions, lacking_regions
from chat.live.socket_auth import signed_in
from chat.live.todo_panel import TodoPanel, panel
from chat.models import Conversation, TodoRevision, ToolCall, Turn
from chat.models.turn import share_is_used


@dataclass(frozen=True)
class BoardRow:
    """A conversation on the board, with what its row tells: its latest turn, its list, what it waits for."""

    place: BoardEntry
    turn: Turn
    plan: TodoPanel | None = None
    call: ToolCall | None = None

    @property
    def since(self) -> datetime.datetime:
        """Since when it has been as it is."""
        if self.call and self.call.asked_at:
            return self.call.asked_at
        return self.turn.ended_at or self.turn.started_at or self.turn.created_at


@dataclass(frozen=True)
class Board:
    """The three sections, and the outline that they were drawn from."""

    outline: BoardOutline
    running: list[BoardRow]
    unseen: list[BoardRow]
    unfinished: list[BoardRow]

    @property
    def title(self) -> str:
        """What its tab is called: with the number of conversations that want the person to come."""
        wanted = self.outline.attention.wanted
        return f"({wanted}) {_('Board')}" if wanted else _("Board")


def board_of(owner_id: int) -> Board:
    """The board as the rows tell it, in ten queries at most however much is on it."""
    return filled(outline_of(owner_id))


def filled(outline: BoardOutline) -> Board:
    """The board of that outline, in three queries."""
    places = [*outline.running, *outline.unseen, *outline.unfinished]
    turns = Turn.objects.defer("profile_snapshot").in_bulk([each.turn_id for each in places])
    lists = TodoRevision.objects.select_related("turn").in_bulk(
        [each.revision_id for each in places if each.revision_id]
    )
    calls = _waiting_calls(outline.running)

    def rows(section: Iterable[BoardEntry]) -> list[BoardRow]:
        return [
            BoardRow(each, turns[each.turn_id], _plan(each, lists), calls.get(each.turn_id))
            for each in section
            if each.turn_id in turns  # one may be deleted meanwhile
        ]

    return Board(outline, rows(outline.running), rows(outline.unseen), rows(outline.unfinished))


def _waiting_calls(running: Iterable[BoardEntry]) -> dict[int, ToolCall]:
    """What is asked in the turns that wait, by turn."""
    waiting = [each.turn_id for each in running if each.status == Turn.Status.WAITING]
    if not waiting:
        return {}
    asked = ToolCall.objects.filter(turn__in=waiting, status=ToolCall.Status.WAITING)
    return {call.turn_id: call for call in asked.select_related("turn", "step")}


def _plan(place: BoardEntry, lists: dict[int, TodoRevision]) -> TodoPanel | None:
    """The list of the turn, or one of an earlier turn that is not over and done with."""
    revision = lists.get(place.revision_id or 0)
    if revision is None or not (revision.turn_id == place.turn_id or place.left):
        return None
    return panel(revision.turn, revision.items)


LISTED = 50  # conversations in each section; there is a page for the others

Waiting, Running = Turn.Status.WAITING, Turn.Status.RUNNING
FIRST_WHO_WAITS = Case(When(status=Waiting, then=Value(0)), When(status=Running, then=Value(1)), default=2)


class BoardEntry(NamedTuple):
    """A conversation on the board: its latest turn as it stands, its latest list, and how much is left."""

    conversation_id: uuid.UUID
    title: str
    left: int
    turn_id: int
    revision_id: int | None
    status: str
    fence: int
    status_message: str
    ahead: int = 0
    waits_for_share: bool = False


class BoardOutline(NamedTuple):
    """The sections, each of up to LISTED places; `more` is True where unfinished ones find no room."""

    attention: Attention
    running: tuple[BoardEntry, ...] = ()
    unseen: tuple[BoardEntry, ...] = ()
    unfinished: tuple[BoardEntry, ...] = ()
    more: bool = False


def outline_of(owner_id: int) -> BoardOutline:
    """What stands on the board of a person, in seven queries at most."""
    conversations = Conversation.objects.filter(owner=owner_id)
    unfinished = _places(_left_alone(conversations.current().unfinished()), LISTED + 1)
    return BoardOutline(
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


def _running(owner_id: int) -> tuple[BoardEntry, ...]:
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
            "status_message",
        )
    )
    places = [BoardEntry(*each) for each in found[:LISTED]]
    if not any(place.status == Turn.Status.QUEUED for place in places):
        return tuple(places)
    queue, share_used = _queue(), share_is_used(owner_id)
    return tuple(
        place._replace(ahead=bisect_left(queue, place.turn_id), waits_for_share=share_used)
        if place.status == Turn.Status.QUEUED
        else place
        for place in places
    )


def _places(conversations: QuerySet[Conversation], most: int) -> tuple[BoardEntry, ...]:
    """Conversations in which nothing works, with how their last turns ended."""
    here = OuterRef("pk")
    found = conversations.values_list(
        "pk",
        "title",
        "todos_left",
        _latest(Turn, here),
        _latest(TodoRevision, here),
        *(_latest(Turn, here, name) for name in ("status", "fence", "status_message")),
    )
    return tuple(BoardEntry(*each) for each in found[:most])


def _latest(model: type[Turn] | type[TodoRevision], conversation: OuterRef, name: str = "pk") -> Subquery:
    """That column of the conversation's latest row."""
    rows: QuerySet[Any] = model.objects.filter(conversation=conversation)
    return Subquery(rows.order_by("-pk").values(name)[:1])


def _active(conversation: OuterRef) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation=conversation, status__in=Turn.ACTIVE)


def _queue() -> list[int]:
    waiting = Turn.objects.filter(status=Turn.Status.QUEUED).order_by("pk")
    return list(waiting.values_list("pk", flat=True))


class BoardState:
    """The board of a user, as cheaply as it can be known; the whole of it is read where a section is
    drawn.
    """

    conversation = None
    is_active = False

    def __init__(self, outline: BoardOutline, owner: OwnerState) -> None:
        self.outline = outline
        self.owner = owner
        self.render_cache = RenderCache()

    @cached_property
    def board(self) -> Board:
        """All that the sections show. Reads the database."""
        return filled(self.outline)


def board_states_of(owners: Iterable[int]) -> dict[int, BoardState]:
    """The boards of these users."""
    return {owner: _board_state_of(owner) for owner in owners}


def _board_state_of(owner_id: int) -> BoardState:
    outline, owner = outline_of(owner_id), owner_state_of(owner_id)
    owner.attention = outline.attention
    return BoardState(outline, owner)


class Section(Region):
    """A section of the board, drawn again where what it shows of the outline differs."""

    def __init__(self, name: str, shown: Callable[[BoardOutline], object]) -> None:
        self.name = name
        self.target = f"#board-{name}"
        self.template = f"partials/_board_{name}.html"
        self.shown = shown

    def version(self, state: BoardState) -> str:
        return digest(self.shown(state.outline))

    def context(self, state: BoardState) -> Mapping[str, Any]:
        return {"board": state.board}


class BoardTitle(BoardLink):
    """The link to the board, and the number in the title of the board's own tab."""

    def message(self, state: BoardState) -> str:
        return super().message(state) + partial("head > title", "innerHTML", escape(state.board.title))


BOARD_REGIONS: dict[str, Region] = {
    region.name: region
    for region in (
        Section("running", lambda outline: outline.running),
        Section("unseen", lambda outline: (outline.unseen, outline.attention.unseen)),
        Section("unfinished", lambda outline: (outline.unfinished, outline.more)),
        BoardTitle(),
        Sidebar(),
    )
}


class BoardConsumer(PageConsumer):
    """Speaks with one tab that shows a board."""

    states = drawings = batched(board_states_of)
    heartbeats = beating(board_states_of)

    async def admit(self) -> bool:
        """Let a user in who is signed in."""
        user = await in_database(signed_in, self.scope)
        if user is not None:
            self.key = self.user_id = user.pk
        return user is not None

    def groups_to_join(self) -> list[str]:
        """The board's own."""
        return [board_group(self.key)]

    def lacking(self, state: BoardState, have: Have) -> Lacking:
        """The sections that differ, all of them in one message: a conversation goes from one to another
        at once.
        """
        return Lacking(turns=False, regions=tuple(lacking_regions(state, have, BOARD_REGIONS)))

    async def send_lacking(self, state: BoardState, have: Have, lacks: Lacking) -> None:
        """Send them."""
        draw = functools.partial(drawn_regions, state, lacks.regions, BOARD_REGIONS)
        if html := await in_database(state.render_cache, lacks.regions, draw):
            await self.send(text_data=html)
