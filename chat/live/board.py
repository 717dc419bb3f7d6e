"""A user's board: conversations that run or wait, have ended unseen, or were left unfinished."""

from __future__ import annotations

import datetime
import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import Case, Exists, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils.html import escape
from django.utils.translation import gettext as _

from chat.live.activity import began
from chat.live.attention import Attention, active_of, attention_of
from chat.live.broadcast import board_group
from chat.live.frames import partial
from chat.live.page_consumer import batched_heartbeats, batched_states
from chat.live.regions import BoardLink, OwnerState, Region, RenderCache, Sidebar, digest, owner_state_of
from chat.live.sidebar_consumer import SidebarConsumer
from chat.live.todo_panel import TodoPanel, panel
from chat.models import Conversation, TodoRevision, ToolCall, Turn
from chat.models.conversation_queries import ConversationQuerySet
from chat.models.turn import share_is_used


@dataclass(frozen=True)
class BoardRow:
    entry: BoardEntry
    turn: Turn
    plan: TodoPanel | None = None
    asked: Sequence[ToolCall] = ()  # the calls of an active turn that asked the user

    @property
    def call(self) -> ToolCall | None:
        """The call that waits for the user."""
        return next((call for call in self.asked if call.status == ToolCall.Status.WAITING), None)

    @property
    def since(self) -> datetime.datetime:
        """The time in all lists, of one that has ended; else since when it runs, as its own page counts."""
        if self.call and self.call.asked_at:
            return self.call.asked_at
        return self.entry.updated_at or began(self.turn, self.asked) or self.turn.created_at


@dataclass(frozen=True)
class Board:
    outline: BoardOutline
    running: list[BoardRow]
    unseen: list[BoardRow]
    unfinished: list[BoardRow]

    @property
    def title(self) -> str:
        """The tab's title, with the number of conversations that need the user."""
        badge_count = self.outline.attention.badge_count
        title = _("Board")
        return f"({badge_count}) {title}" if badge_count else title


def board_of(owner_id: int) -> Board:
    """The user's board, in at most ten queries regardless of its size."""
    return filled(outline_of(owner_id))


def filled(outline: BoardOutline) -> Board:
    """The board of an outline, in three queries."""
    entries = [*outline.running, *outline.unseen, *outline.unfinished]
    turns = Turn.objects.defer("profile_snapshot").in_bulk([each.turn_id for each in entries])
    lists = TodoRevision.objects.select_related("turn").in_bulk(
        [each.revision_id for each in entries if each.revision_id]
    )
    asked = _asked(outline.running)

    def rows(section: Iterable[BoardEntry]) -> list[BoardRow]:
        return [
            BoardRow(each, turns[each.turn_id], _plan(each, lists), asked.get(each.turn_id, ()))
            for each in section
            if each.turn_id in turns  # others were deleted meanwhile
        ]

    return Board(outline, rows(outline.running), rows(outline.unseen), rows(outline.unfinished))


def _asked(running: Iterable[BoardEntry]) -> Mapping[int, list[ToolCall]]:
    """The calls that asked the user, by turn."""
    calls: dict[int, list[ToolCall]] = defaultdict(list)
    if keys := [each.turn_id for each in running if each.status != Turn.Status.QUEUED]:
        rows = ToolCall.objects.filter(turn__in=keys, asked_at__isnull=False).select_related("turn", "step")
        for call in rows:
            calls[call.turn_id].append(call)
    return calls


def _plan(entry: BoardEntry, lists: dict[int, TodoRevision]) -> TodoPanel | None:
    """The list of the turn, or of an earlier turn if it has open items."""
    revision = lists.get(entry.revision_id or 0)
    if revision is None or not (revision.turn_id == entry.turn_id or entry.left):
        return None
    return panel(revision.turn, revision.items)


LISTED = 50  # conversations in each section; the other pages list the rest

Waiting, Running = Turn.Status.WAITING, Turn.Status.RUNNING
WAITING_FIRST = Case(When(status=Waiting, then=Value(0)), When(status=Running, then=Value(1)), default=2)


class BoardEntry(NamedTuple):
    """A conversation on the board: its latest turn's state, its latest list, and the number of open items."""

    conversation_id: uuid.UUID
    title: str
    left: int
    turn_id: int
    revision_id: int | None
    status: str
    fence: int
    status_message: str
    updated_at: datetime.datetime | None = None  # of one without an active turn
    ahead: int = 0
    waits_for_share: bool = False


class BoardOutline(NamedTuple):
    """The sections, each with up to LISTED entries; `more` if there are further unfinished ones."""

    attention: Attention
    running: tuple[BoardEntry, ...] = ()
    unseen: tuple[BoardEntry, ...] = ()
    unfinished: tuple[BoardEntry, ...] = ()
    more: bool = False


def outline_of(owner_id: int) -> BoardOutline:
    """The outline of a user's board, in at most seven queries."""
    conversations = Conversation.objects.filter(owner=owner_id)
    unfinished = _entries(_in_no_other_section(conversations.current().unfinished()), LISTED + 1)
    return BoardOutline(
        attention_of([owner_id])[owner_id],
        _running(owner_id),
        _entries(conversations.current().unseen().order_by("-unseen_turn_id"), LISTED),
        unfinished[:LISTED],
        len(unfinished) > LISTED,
    )


def _in_no_other_section(conversations: ConversationQuerySet) -> ConversationQuerySet:
    """Those that are in no other section, newest first."""
    # With a condition on NULL, SQLite would scan the conversations of all users.
    seen = conversations.alias(unseen=Coalesce("unseen_turn_id", 0)).filter(unseen=0)
    return seen.exclude(Exists(_active(OuterRef("pk")))).order_by("-updated_at")


def _running(owner_id: int) -> tuple[BoardEntry, ...]:
    # By when they asked: one that asks again must not push away another that the user is about to answer.
    asked = ToolCall.objects.filter(turn=OuterRef("pk"), status=ToolCall.Status.WAITING).order_by("pk")
    rows = (
        active_of([owner_id])
        .order_by(WAITING_FIRST, Subquery(asked.values("asked_at")[:1]), "pk")
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
    entries = [BoardEntry(*each) for each in rows[:LISTED]]
    if not any(entry.status == Turn.Status.QUEUED for entry in entries):
        return tuple(entries)
    queue, share_used = _queue(), share_is_used(owner_id)
    return tuple(
        entry._replace(ahead=bisect_left(queue, entry.turn_id), waits_for_share=share_used)
        if entry.status == Turn.Status.QUEUED
        else entry
        for entry in entries
    )


def _entries(conversations: ConversationQuerySet, limit: int) -> tuple[BoardEntry, ...]:
    """Up to `limit` conversations without an active turn, with how their last turns ended, latest first."""
    here = OuterRef("pk")
    rows = conversations.values_list(
        "pk",
        "title",
        "todos_left",
        _latest(Turn, here),
        _latest(TodoRevision, here),
        *(_latest(Turn, here, name) for name in ("status", "fence", "status_message")),
        "updated_at",
    )
    return tuple(BoardEntry(*each) for each in sorted(rows[:limit], key=itemgetter(-1), reverse=True))


def _latest(model: type[Turn] | type[TodoRevision], conversation: OuterRef, name: str = "pk") -> Subquery:
    """A field of the conversation's latest turn or list, among the versions that it shows."""
    on_path = "on_path" if model is Turn else "turn__on_path"
    rows: QuerySet[Any] = model.objects.filter(conversation=conversation, **{on_path: True})
    return Subquery(rows.order_by("-pk").values(name)[:1])


def _active(conversation: OuterRef) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation=conversation, status__in=Turn.ACTIVE)


def _queue() -> list[int]:
    waiting = Turn.objects.filter(status=Turn.Status.QUEUED).order_by("pk")
    return list(waiting.values_list("pk", flat=True))


class BoardState:
    """The state of a user's board; the whole board is read only if a section is rendered."""

    conversation = None
    is_active = False

    def __init__(self, outline: BoardOutline, owner: OwnerState) -> None:
        self.outline = outline
        self.owner = owner
        self.render_cache = RenderCache()

    @cached_property
    def board(self) -> Board:
        return filled(self.outline)


def board_states_of(owners: Iterable[int]) -> dict[int, BoardState]:
    return {owner: _board_state_of(owner) for owner in owners}


def _board_state_of(owner_id: int) -> BoardState:
    outline, owner = outline_of(owner_id), owner_state_of(owner_id)
    owner.attention = outline.attention
    return BoardState(outline, owner)


class Section(Region):
    """A section of the board, redrawn when the part of the outline that it shows changes."""

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
    """The link to the board, and the count in the title of the board's own tab."""

    on_board = True

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


class BoardConsumer(SidebarConsumer):
    regions = BOARD_REGIONS
    states = drawings = batched_states(board_states_of)
    heartbeats = batched_heartbeats(board_states_of)

    def groups_to_join(self) -> list[str]:
        return [*super().groups_to_join(), board_group(self.key)]
