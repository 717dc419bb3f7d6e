"""Todo lists of a running turn: the agent's revisions, and the user's edits in the meantime."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.db.models import Exists, Q, Subquery

from chat.agent import TodoItem
from chat.agent.storable import storable
from chat.agent.todo import as_policy, items_written, merged, with_stable_ids
from chat.live.frames import PanelChanged
from chat.live.todo_panel import carried_on, drafted, panel, panel_of
from chat.models import FollowUp, Step, TodoRevision, ToolCall, Turn
from chat.models.todo_revision import Items
from chat.plan.difference import Line
from chat.plan.history import latest_plan_of
from chat.turns.transcript import turn_chain


class Planning:
    """Todo lists of one turn.

    `listed` is the latest written in it, `earlier` the one before it. `known` (revision `known_pk`) is what
    the model has seen; edits up to `delivered_pk` are marked as delivered. Panels are drawn over `shown_pk`,
    with the edits up to `edited`; `lines` are those of the plan, if the user has skipped items of it.
    """

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.listed: Items = []
        self.earlier: Items = []
        self.known: Sequence[TodoItem] = ()
        self.lines: Sequence[Line] = ()
        self.added: set[str] = set()  # the ids of items that the user added: only they remove these
        self.is_dismissed = False  # whether the turn began with a list that the user had dismissed
        self.known_pk = self.delivered_pk = self.shown_pk = self.edited = 0
        self.latest_pk = 0  # of the latest revision that was looked up
        self.has_undelivered = False  # whether a revision may need its `delivered_in_step`
        self.has_more = False  # whether the latest list has items that the model left out of it

    def begin(self) -> tuple[Sequence[TodoItem], Sequence[TodoItem]]:
        """The list as the model knows it, and as it wrote it last if the user has changed it since.

        It knows its own latest, or a later one delivered to it. A step without a reply is requested again, so
        what its request delivered does not count.
        """
        latest = self.turn.conversation.revision()
        self.latest_pk = latest.pk if latest else 0
        if latest is None:
            return self.known, ()
        self.has_undelivered = True
        self.earlier = latest.items
        self._read_lines(latest)
        delivered = Q(delivered_in_step__turn__in=turn_chain(self.turn))
        unanswered = Q(delivered_in_step__turn=self.turn, delivered_in_step__ended_at=None)
        revisions = self.turn.conversation.path_revisions.filter(
            Q(author=TodoRevision.Author.AGENT) | delivered
        )
        known = revisions.exclude(unanswered).order_by("pk")
        revision = known.last() if latest.is_by_user else latest
        if revision:
            self.known_pk = self.delivered_pk = self.shown_pk = revision.pk
            self.known = items_of(revision.items)
        self.is_dismissed = latest.dismissed
        lists = TodoRevision.edited_lists(self.turn.conversation.path_revisions)
        self.added = TodoRevision.added_in(lists)
        self.known = tuple(replace(item, by_user=item.id in self.added) for item in self.known)
        return self.known, self._written() if lists and latest.left else ()

    def _written(self) -> Sequence[TodoItem]:
        """The agent's latest list without the user's changes, with the ids that its items have had."""
        written: Sequence[TodoItem] = ()
        revisions = self.turn.conversation.path_revisions.filter(author=TodoRevision.Author.AGENT)
        for revision in revisions.select_related("tool_call").order_by("pk"):
            if call := revision.tool_call:
                items = items_written(call.parsed_arguments, as_policy(revision.policy))
                written = with_stable_ids(items, items_of(revision.items), written=written)
        return written

    def look_up_user_changes(self) -> bool:
        """Look up the latest revision; returns whether the user has messages held for this turn."""
        conversation = self.turn.conversation_id
        held = FollowUp.objects.filter(conversation=conversation, status=FollowUp.Status.HELD)
        revisions = TodoRevision.objects.filter(conversation=conversation, turn__on_path=True)
        latest = revisions.order_by("-pk").values("pk")[:1]
        query = Turn.objects.filter(pk=self.turn.pk).values_list(Exists(held), Subquery(latest))
        is_held, latest_pk = query.get()
        self.latest_pk = latest_pk or 0
        return bool(is_held)

    @property
    def has_edits(self) -> bool:
        return self.has_more or self.latest_pk != self.known_pk

    def edited_list(self) -> Sequence[TodoItem] | None:
        """The list with the user's edits since the model saw it; None if there are none."""
        revision = self.turn.conversation.revision()
        if revision is None or (revision.pk == self.known_pk and not self.has_more):
            return None
        self.has_more = False
        self.latest_pk, self.has_undelivered = revision.pk, True
        self.delivered_pk, self.known_pk = self.known_pk, revision.pk
        self._note_added(revision)
        self.known = items_of(revision.items)
        self._set_shown(revision)
        return self.known

    def mark_delivered(self, step: Step) -> None:
        edits = self.turn.conversation.path_revisions.filter(author=TodoRevision.Author.PERSON)
        undelivered = Q(pk__gt=self.delivered_pk) | Q(delivered_in_step=None)
        edits.filter(undelivered, pk__lte=self.known_pk).update(delivered_in_step=step)
        self.delivered_pk, self.has_undelivered = self.known_pk, False

    def draft(self, items: Sequence[TodoItem] | None) -> PanelChanged:
        """Show the list as streamed so far by an unfinished call; None restores the last accepted one."""
        if items is None:
            revision = self.turn.conversation.revision()
            if revision:
                self._set_shown(revision)
            return PanelChanged(panel_of(self.turn.conversation), self.edited)
        written, listed = stored(items), self.listed or self.earlier
        kept = self._kept(listed, ids_of(written))
        if not self.listed and ids_of(written).isdisjoint(ids_of(listed)):
            listed = [item for item in listed if item["id"] in kept]  # it begins another plan
        shown = drafted(written, listed, kept)
        draft = panel(self.turn, shown, self.shown_pk, self.lines, is_draft=True)
        return PanelChanged(draft, self.edited)

    def revise(self, call: ToolCall, items: Sequence[TodoItem]) -> PanelChanged:
        """Record the list that the call wrote, with what the user added and unseen edits."""
        own = self._dropped(stored(self.known), items)
        self.has_more = bool(own)
        items = (
            merged(items, self.known, [item for item in self.known if item.id not in own]) if own else items
        )
        written = TodoRevision.write(self.turn, call, self.turn.profile.todo_policy, stored(items))
        before = self.turn.conversation.revision(before=written.pk)
        shown = written
        if before and before.pk != self.known_pk:
            self.has_undelivered = True
            self._note_added(before)
            self._set_shown(before)
            own = self._dropped(before.items, items)
            known = [item for item in self.known if item.id not in own]
            shown = self._keep_edits(merged(items, items_of(before.items), known), written)
        self._set_shown(shown)
        self.lines = carried_on(shown.items, self.lines)
        self.known, self.known_pk, self.listed = items_of(written.items), written.pk, shown.items
        self.is_dismissed = False
        return PanelChanged(panel(self.turn, shown.items, shown.pk, self.lines), self.edited)

    def _dropped(self, listed: Items, items: Sequence[TodoItem]) -> set[str]:
        """The ids of the user's items that are not in the agent's list, and stay all the same."""
        written = {item.id for item in items}
        return self._kept(listed, written) - written

    def _note_added(self, edited: TodoRevision) -> None:
        self.added |= ids_of(edited.items) - {item.id for item in self.known}

    def _kept(self, listed: Items, written: set[str]) -> set[str]:
        """The ids of the user's items that the agent does not drop; with another plan only the open ones.

        A list joins an unfinished plan of the user's, even if the two share no item.
        """
        kept = [item for item in listed if item["id"] in self.added]
        left = [item for item in kept if item["status"] != "completed"]
        joins = bool(left) and len(kept) == len(listed) and not self.is_dismissed
        if written.isdisjoint(ids_of(listed)) and not joins:
            return set() if self.is_dismissed else ids_of(left)
        return ids_of(kept)

    def _keep_edits(self, items: Sequence[TodoItem], written: TodoRevision) -> TodoRevision:
        """A revision that keeps the user's edits; `written` itself if it already has them."""
        kept = stored(items)
        if kept == written.items:
            return written
        edits = self.turn.conversation.path_revisions.filter(author=TodoRevision.Author.PERSON)
        skipped = {key for row in edits.values_list("skipped", flat=True) for key in row}
        left_out = skipped & ids_of(written.items) - ids_of(kept)
        return TodoRevision.edit(self.turn, written.policy, kept, sorted(left_out), kept=True)

    def _set_shown(self, revision: TodoRevision) -> None:
        self.shown_pk = revision.pk
        if revision.is_by_user:
            self.edited = revision.pk
            self._read_lines(revision)
            if revision.turn_id == self.turn.pk:
                self.listed = revision.items

    def _read_lines(self, revision: TodoRevision) -> None:
        if revision.has_skips or revision.skipped:
            plan = latest_plan_of(self.turn.conversation)
            self.lines = plan.latest.lines if plan else ()


def items_of(stored: Items) -> tuple[TodoItem, ...]:
    return tuple(map(TodoItem.from_dict, stored))


def ids_of(listed: Items) -> set[str]:
    return {item["id"] for item in listed}


def stored(items: Iterable[TodoItem]) -> Items:
    return [{name: storable(value) for name, value in item.as_stored().items()} for item in items]
