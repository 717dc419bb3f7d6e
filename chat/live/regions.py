"""Regions: the parts of a live page outside the turns.

A region is a partial with a version, which the page carries in the DOM (`data-region`, `data-v`); pages and
live frames render the same declaration. To add one, write a subclass of `Region` and its partial, name it in
`REGIONS`, and place `{% region state "name" %}` in the page's template.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import blake2s
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from chat.connections.model_clients import sees_images
from chat.files.conversation_workspace import has_files
from chat.live.attention import Attention, attention_of
from chat.live.context_meter import ContextMeter, context_meter_of
from chat.live.frames import END, Position, panel_message, partial
from chat.live.todo_panel import panel_of
from chat.models import Conversation, FollowUp, Profile, Tag, TodoRevision, ToolCall, Turn
from chat.models.profile import model_name_of

T = TypeVar("T")


class RenderCache:
    """Renders once what several tabs need of one state, for each language and time zone."""

    def __init__(self) -> None:
        self._drawn: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, name: Hashable, draw: Callable[[], T]) -> T:
        key = (name, get_language(), timezone.get_current_timezone_name())
        with self._lock:
            if key not in self._drawn:
                self._drawn[key] = draw()
            drawn: T = self._drawn[key]
            return drawn


class OwnerState:
    """What the sidebar shows a user; shared by all their open tabs."""

    def __init__(self, owner_id: int, newest: tuple[object, ...]) -> None:
        self.owner_id = owner_id
        self.newest = newest

    @cached_property
    def attention(self) -> Attention:
        return attention_of([self.owner_id])[self.owner_id]

    @property
    def version(self) -> str:
        """Changes when the list probably did; other changes of the list are published by who makes them."""
        return digest(self.attention, str(self.newest))

    @cached_property
    def rows(self) -> SidebarList:
        rows = sidebar_list_of(self.owner_id)
        rows.version = self.version
        return rows


class ConversationState:
    """A conversation as one statement reads it, sufficient to compute the version of every region."""

    row: Any

    def __init__(self, row: Conversation, owner: OwnerState) -> None:
        self.row = row
        self.conversation = row
        self.owner = owner
        self.render_cache = RenderCache()
        self.draws_turn = False  # whether the latest turn is drawn with the regions

    @cached_property
    def meter(self) -> ContextMeter | None:
        return context_meter_of(self.conversation)

    @property
    def position(self) -> Position:
        if self.row.turn_pk is None:
            return Position()
        return Position(self.row.turn_pk, self.row.turn_fence, self.row.turn_frame if self.is_active else END)

    @property
    def is_active(self) -> bool:
        return self.row.turn_status in Turn.ACTIVE

    @property
    def status(self) -> str:
        return self.row.turn_status if self.is_active else "idle"


def states_of(keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, ConversationState]:
    """The states of these conversations, in one statement; deleted ones are left out."""
    rows = list(_states_query().filter(pk__in=list(keys)))
    owners = {row.owner_id: OwnerState(row.owner_id, (row.newest, row.newest_title)) for row in rows}
    return {row.pk: ConversationState(row, owners[row.owner_id]) for row in rows}


def comparable_states_of(keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, ConversationState]:
    """The same with everything that versions depend on, in two statements."""
    states = states_of(keys)
    owners = {state.owner.owner_id: state.owner for state in states.values()}
    for owner_id, attention in attention_of(owners).items():
        owners[owner_id].attention = attention
    return states


def state_of(conversation: Conversation) -> ConversationState:
    """The state of one conversation; raises Conversation.DoesNotExist if it was deleted."""
    try:
        return states_of([conversation.pk])[conversation.pk]
    except KeyError:
        raise Conversation.DoesNotExist from None


def owner_state_of(owner_id: int) -> OwnerState:
    newest = Conversation.objects.filter(owner=owner_id).order_by("-updated_at")
    return OwnerState(owner_id, next(iter(newest.values_list("updated_at", "title")[:1]), (None, None)))


@cache
def _states_query() -> QuerySet[Any]:
    """Cached: building this query takes longer than executing it and reading the state."""
    here = OuterRef("pk")
    turns = Turn.objects.filter(conversation=here, on_path=True).order_by("-pk")
    queued = (
        Turn.objects.filter(status=Turn.Status.QUEUED, pk__lt=OuterRef("turn_pk")).order_by().values("status")
    )
    held = FollowUp.objects.filter(conversation=here, status=FollowUp.Status.HELD).order_by()
    tagged = Tag.conversations.through.objects.filter(conversation=here).order_by()
    revisions = TodoRevision.objects.filter(conversation=here, turn__on_path=True).order_by("-pk")
    others = Conversation.objects.filter(owner=OuterRef("owner")).order_by("-updated_at")
    return Conversation.objects.select_related(
        "profile", "model__connection", "owner"
    ).annotate(
        **{f"turn_{name}": Subquery(turns.values(name)[:1]) for name in ("pk", "fence", "frame", "status")},
        held_key=Subquery(held.values("conversation").annotate(key=_key("pk")).values("key")),
        tags_key=Subquery(tagged.values("conversation").annotate(key=_key("tag")).values("key")),  # type: ignore[misc]
        revision_pk=Subquery(revisions.values("pk")[:1]),
        revision_turn=Subquery(revisions.values("turn")[:1]),
        ahead=Subquery(queued.annotate(number=Count("pk")).values("number")),
        turn_previous=Subquery(turns.values("pk")[1:2]),
        newest=Subquery(others.values("updated_at")[:1]),
        newest_title=Subquery(others.values("title")[:1]),  # it may be named between a page and its socket
    )


def _key(column: str) -> Any:
    """A number that almost certainly differs for two different sets of primary keys."""
    return Sum(column) * 1000 + Count(column)


def _set_key(keys: Iterable[int]) -> int | None:
    keys = list(keys)
    return sum(keys) * 1000 + len(keys) if keys else None


def digest(*parts: object) -> str:
    """A short text that differs if any part does."""
    return blake2s(repr(parts).encode(), digest_size=6).hexdigest()


class Region:
    """A part of the page outside the turns. `context` may read the database, `version` must not."""

    name: str
    target: str
    template: str

    def version(self, state: Any) -> str | None:
        """A short text that changes with the region; None if a worker keeps it up to date."""
        raise NotImplementedError

    def context(self, state: Any) -> Mapping[str, Any]:
        """The partial's variables. A `v` among them is the version of what was just read."""
        return {}

    def html(self, state: Any) -> SafeString:
        context = {"conversation": state.conversation, "v": self.version(state) or "", **self.context(state)}
        return render_to_string(self.template, context)

    def message(self, state: Any) -> str:
        return partial(self.target, "outerMorph", self.html(state))


class Status(Region):
    """The conversation's status: attributes of the main element, and the queue line of a waiting turn."""

    name, target, template = "status", "#conversation", "partials/_main_tag.html"

    def version(self, state: ConversationState) -> str:
        version = f"{state.row.turn_pk or 0}.{state.status}"
        return f"{version}.{state.row.ahead or 0}" if state.status == Turn.Status.QUEUED else version

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        return {"status": state.status, "at": state.position}

    def message(self, state: ConversationState) -> str:
        main = partial(self.target, "outerMorph", SafeString(f"{self.html(state)}</main>"))
        queued = state.status == Turn.Status.QUEUED and not state.draws_turn
        return main + self._queue_line(state.row.turn_pk) if queued else main

    @staticmethod
    def _queue_line(turn_id: int) -> str:
        turn = Turn.objects.select_related("conversation").filter(pk=turn_id).first()
        html = render_to_string("partials/_turn_busy.html", {"turn": turn}) if turn else ""
        return partial(f"#turn-{turn_id} .turn__busy", "outerMorph", SafeString(html))


class Approval(Region):
    name, target, template = "approval", "#approval-note", "partials/_approval_note.html"

    def version(self, state: ConversationState) -> str:
        waits = state.status == Turn.Status.WAITING
        return f"{state.row.turn_pk}.{state.row.turn_fence}" if waits else "0"

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        waits = state.status == Turn.Status.WAITING
        return {"waiting": state.conversation.waiting_call() if waits else None}


class FilesButton(Region):
    """Leads to the files, if the version that is shown has any. While a turn runs, the script offers it."""

    name, target, template = "files_button", "#files-button", "partials/_files_button.html"

    def version(self, state: ConversationState) -> str | None:
        return None if state.is_active else str(state.row.turn_pk or 0)

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        return {"has_files": has_files(state.conversation)}


class Meter(Region):
    """How full the model's context window is. While a turn runs, its worker renders the meter."""

    name, target, template = "meter", "#context-meter", "partials/_context_meter.html"

    def version(self, state: ConversationState) -> str | None:
        return None if state.is_active else str(state.row.turn_pk or 0)

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        return {"meter": state.meter}


class Panel(Region):
    """The todo panel, in a slot that carries the version. While a turn runs, its worker renders the panel."""

    name, target, template = "panel", "#todo-slot", "partials/_todo_slot.html"

    def version(self, state: ConversationState) -> str | None:
        if state.is_active:
            return None
        has_open_items = state.conversation.todos_left > 0
        return f"{state.row.revision_pk or 0}.{self._is_past(state):d}.{has_open_items:d}"

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        panel = panel_of(state.conversation) if state.row.revision_pk else None
        if panel and self._is_past(state):
            panel = replace(panel, phase="past")
        return {"panel": panel}

    @staticmethod
    def _is_past(state: ConversationState) -> bool:
        """Whether the latest list is finished or was dismissed, and the conversation has gone on since."""
        has_later_turn = state.row.revision_turn not in (None, state.row.turn_pk)
        return has_later_turn and not state.conversation.todos_left and not state.is_active

    def message(self, state: ConversationState) -> str:
        slot = render_to_string(self.template, {"v": self.version(state) or ""})
        return partial(self.target, "outerMorph", slot) + panel_message(self.context(state)["panel"])


class UnfinishedNote(Region):
    name, target, template = "unfinished", "#unfinished", "partials/_unfinished.html"

    def version(self, state: ConversationState) -> str:
        return digest(self._open_items(state), state.row.revision_pk)

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        left = self._open_items(state)
        revision = TodoRevision.objects.filter(pk=state.row.revision_pk).first() if left else None
        key = state.conversation.pk
        return {"unfinished": Unfinished(key, left, revision.total) if revision else None}

    @staticmethod
    def _open_items(state: ConversationState) -> int:
        ended_well = state.row.turn_status in ENDED_WELL
        return state.conversation.todos_left if ended_well else 0


class FollowUps(Region):
    name, target, template = "follow_ups", "#follow-ups", "partials/_follow_ups.html"

    def version(self, state: ConversationState) -> str:
        return str(state.row.held_key or 0)

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        held = FollowUp.held_in(state.conversation.pk) if state.row.held_key else []
        return {"follow_ups": held, "v": str(_set_key(each.pk for each in held) or 0)}


class Organised(Region):
    """Pinned, archived and tags: in the menu and above the composer."""

    name, target, template = "organised", "#organised", "partials/_organised.html"

    def version(self, state: ConversationState) -> str:
        return self._version(state, state.row.tags_key)

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        tags = dict(Tag.objects.filter(conversations=state.conversation.pk).values_list("pk", "word"))
        state.conversation.known_words = list(tags.values())
        return {"v": self._version(state, _set_key(tags))}

    def message(self, state: ConversationState) -> str:
        note = render_to_string("partials/_archived.html", {"conversation": state.conversation})
        return super().message(state) + partial("#archived", "outerMorph", note)

    @staticmethod
    def _version(state: ConversationState, tags: int | None) -> str:
        return f"{int(state.conversation.pinned)}{int(state.conversation.archived)}.{tags or 0}"


class Title(Region):
    name, target, template = "title", "#title", "partials/_title.html"

    def version(self, state: ConversationState) -> str:
        return digest(state.conversation.title)

    def message(self, state: ConversationState) -> str:
        return super().message(state) + partial("head > title", "innerHTML", escape(state.conversation.title))


class ProfileChoice(Region):
    """The profile and the model of the next turn."""

    name, target, template = "profile", "#profile-choice", "partials/_profile_choice.html"

    def version(self, state: ConversationState) -> str:
        return f"{state.conversation.profile_id or 0}.{state.conversation.model_id or 0}"

    def context(self, state: ConversationState) -> Mapping[str, Any]:
        return profile_choice(state.conversation)


def attention_on(state: Any) -> Attention:
    """What needs the user's attention; the end of the page's own conversation does not: it is seen there."""
    attention: Attention = state.owner.attention
    if (shown := state.conversation) is None or shown.archived or shown.unseen_turn_id is None:
        return attention
    return attention.without(shown.unseen_turn_id)


class BoardLink(Region):
    name, target, template = "board_link", "#board-link", "partials/_board_link.html"
    on_board = False

    def version(self, state: Any) -> str:
        return attention_on(state).version

    def context(self, state: Any) -> Mapping[str, Any]:
        return {"attention": attention_on(state), "on_board": self.on_board}


class Sidebar(Region):
    name, target, template = "sidebar", "#sidebar-list", "partials/_sidebar_list.html"

    def version(self, state: Any) -> str:
        return str(state.owner.version)

    def context(self, state: Any) -> Mapping[str, Any]:
        return {"sidebar": state.owner.rows}


REGIONS: dict[str, Region] = {
    region.name: region
    for region in (
        Approval(),
        FilesButton(),
        Meter(),
        Panel(),
        UnfinishedNote(),
        FollowUps(),
        Organised(),
        Title(),
        ProfileChoice(),
        BoardLink(),
        Sidebar(),
        Status(),
    )
}


def profile_choice(conversation: Conversation) -> dict[str, Any]:
    in_use = conversation.profile_in_use()
    return {
        "conversation": conversation,
        "in_use": in_use,
        "model": conversation.chosen_model,
        "model_in_use": model_name_of(in_use),
        "sees_images": sees_images(in_use),
        "profiles": Profile.offered_to(conversation.owner),
        "model_of_environment": settings.MODEL_NAME,
    }


MAX_TURNS = 20  # at a time
MAX_CALLS = 40  # tool calls at a time; with some of their output, these are about 3,000 elements


def recent_turns(
    conversation: Conversation, *, before: int | None = None, first: int | None = None
) -> dict[str, Any]:
    """The latest turns, or the latest `before` a turn, oldest first: as many as a page shows at once.

    With `first`, all from that turn on. `has_earlier` says whether there are more.
    """
    turns = conversation.path
    if before is not None:
        turns = turns.filter(pk__lt=before)
    newest = list(turns.order_by("-pk").values_list("pk", flat=True)[: MAX_TURNS + 1])
    begin = _first_of(newest) if first is None else first
    drawn = Turn.with_rows().filter(conversation=conversation, on_path=True, pk__gte=begin)
    if before is not None:
        drawn = drawn.filter(pk__lt=before)
    has_earlier = bool(newest) and begin > newest[-1]
    if first is not None and not has_earlier:
        has_earlier = turns.filter(pk__lt=first).exists()
    shown = list(drawn)
    Turn.find_versions(shown)
    return {"turns": shown, "has_earlier": has_earlier}


def _first_of(newest: list[int]) -> int:
    """The oldest of these turns, newest first, that is shown with those after it."""
    counted = ToolCall.objects.filter(turn__in=newest).order_by().values_list("turn").annotate(Count("pk"))
    calls = dict(counted) if newest else {}
    first, total = 0, 0
    for turn in newest[:MAX_TURNS]:
        total += calls.get(turn, 0)
        if first and total > MAX_CALLS:
            break
        first = turn
    return first


def transcript_message(state: ConversationState) -> str:
    """Redraw the whole transcript: the path has changed."""
    context = {"conversation": state.conversation, "state": state, **recent_turns(state.conversation)}
    # Morphed, because scripts observe the element.
    return partial("#transcript", "outerMorph", render_to_string("partials/_transcript.html", context))


RECENT = 30


class SidebarList(list[Conversation]):
    version = ""
    has_more = False


def sidebar_list_of(owner_id: int) -> SidebarList:
    """The user's pinned conversations, then the newest: RECENT in all, without archived ones."""
    current = Conversation.objects.filter(owner=owner_id).current()
    rows = current.pinned_first().listed(0, RECENT + 1)
    listed = SidebarList(rows[:RECENT])
    listed.has_more = len(rows) > RECENT
    return listed


ENDED_WELL = (
    Turn.Status.COMPLETED,
    Turn.Status.STOPPED,
)  # after other ends the turn offers ways on


@dataclass(frozen=True)
class Unfinished:
    conversation_id: uuid.UUID
    left: int
    total: int

    @property
    def done(self) -> int:
        return self.total - self.left
