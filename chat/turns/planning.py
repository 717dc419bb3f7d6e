"""The todo lists of a turn at work: what the agent writes down, and what the person makes of it meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Exists, Q, Subquery

from chat.agent import TodoItem
from chat.agent.todo import merged
from chat.live.frames import PanelChanged
from chat.live.todo_panel import drafted, panel, panel_of
from chat.models import FollowUp, Step, TodoRevision, ToolCall, Turn
from chat.models.text import clean
from chat.models.todo_revision import Items
from chat.turns.transcript import line_of


class Planning:
    """The lists of one turn.

    `listed` is the latest that was written in it; `known` the one that the model has in view, which is that
    of the revision `known_pk`. Panels are drawn over revision `shown_pk`, with what the person had changed up
    to revision `edited`.
    """

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.listed: Items = []
        self.known: Sequence[TodoItem] = ()
        self.known_pk = self.told_from = self.shown_pk = self.edited = 0
        self.latest_pk = 0  # as far as that was looked up
        self.has_news = False  # whether a step may have to be noted as the one that told the model of a list

    def begin(self) -> Sequence[TodoItem]:
        """The list as the model knows it when the turn is taken up: what it wrote, or was told of.

        A step whose reply never came is asked for anew, so what rode on its request counts as not told.
        """
        latest = self.turn.conversation.revision()
        self.latest_pk = latest.pk if latest else 0
        if latest is None:
            return self.known
        self.has_news = True
        told = Q(delivered_in_step__turn__in=line_of(self.turn))
        unanswered = Q(delivered_in_step__turn=self.turn, delivered_in_step__ended_at=None)
        revisions = self.turn.conversation.revisions.filter(Q(author=TodoRevision.Author.AGENT) | told)
        known = revisions.exclude(unanswered).order_by("pk")
        revision = known.last() if latest.is_the_persons else latest
        if revision:
            self.known_pk = self.told_from = self.shown_pk = revision.pk
            self.known = items_of(revision.items)
        return self.known

    def look(self) -> bool:
        """Look at what the user did since: whether messages are held, and which list is the latest."""
        conversation = self.turn.conversation_id
        held = FollowUp.objects.filter(conversation=conversation, status=FollowUp.Status.HELD)
        latest = TodoRevision.objects.filter(conversation=conversation).order_by("-pk").values("pk")[:1]
        seen = Turn.objects.filter(pk=self.turn.pk).values_list(Exists(held), Subquery(latest))
        is_held, latest_pk = seen.get()
        self.latest_pk = latest_pk or 0
        return bool(is_held)

    @property
    def is_changed(self) -> bool:
        """Whether the latest list is not the one that the model has in view."""
        return self.latest_pk != self.known_pk

    def changed(self) -> Sequence[TodoItem] | None:
        """The list as the user has changed it since the model had it in view; None where they did not."""
        revision = self.turn.conversation.revision()
        if revision is None or revision.pk == self.known_pk:
            return None
        self.latest_pk, self.has_news = revision.pk, True
        self.told_from, self.known_pk = self.known_pk, revision.pk
        self.known = items_of(revision.items)
        self._shows(revision)
        return self.known

    def tell(self, step: Step) -> None:
        """Write down that the step's request tells the model of the person's list."""
        theirs = self.turn.conversation.revisions.filter(author=TodoRevision.Author.PERSON)
        news = Q(pk__gt=self.told_from) | Q(delivered_in_step=None)
        theirs.filter(news, pk__lte=self.known_pk).update(delivered_in_step=step)
        self.told_from, self.has_news = self.known_pk, False

    def draft(self, items: Sequence[TodoItem] | None) -> PanelChanged:
        """Show the list that a call, still streaming, has so far; None puts the last accepted one back."""
        if items is None:
            revision = self.turn.conversation.revision()
            if revision:
                self._shows(revision)
            return PanelChanged(panel_of(self.turn.conversation), self.edited)
        shown = drafted(stored(items), self.listed)
        return PanelChanged(panel(self.turn, shown, self.shown_pk), self.edited)

    def revise(self, call: ToolCall, items: Sequence[TodoItem]) -> PanelChanged:
        """Write down the list as the call left it.

        Where the model wrote it before it was told what the person had changed, the person's changes are
        written down once more behind it, by the rule of `merged`; with the next request it is told.
        """
        written = TodoRevision.write(self.turn, call, self.turn.profile.todo_policy, stored(items))
        before = self.turn.conversation.revision(before=written.pk)
        shown = written
        if before and before.pk != self.known_pk:
            self.has_news = True
            self._shows(before)
            shown = self._keep(merged(items, items_of(before.items), self.known), written)
        self._shows(shown)
        self.known, self.known_pk, self.listed = items_of(written.items), written.pk, shown.items
        return PanelChanged(panel(self.turn, shown.items, shown.pk), self.edited)

    def _keep(self, items: Sequence[TodoItem], written: TodoRevision) -> TodoRevision:
        """The revision that holds on to what the person changed; the written one where that has it all."""
        kept = stored(items)
        if kept == written.items:
            return written
        left_out = {item["id"] for item in written.items} - {item["id"] for item in kept}
        return TodoRevision.edit(self.turn, written.policy, kept, sorted(left_out), kept=True)

    def _shows(self, revision: TodoRevision) -> None:
        """From now on what is drawn here is drawn over this revision."""
        self.shown_pk = revision.pk
        if revision.is_the_persons:
            self.edited = revision.pk
            if revision.turn_id == self.turn.pk:
                self.listed = revision.items


def items_of(stored: Items) -> tuple[TodoItem, ...]:
    """The items of a revision, as the engine has them."""
    return tuple(map(TodoItem.from_dict, stored))


def stored(items: Iterable[TodoItem]) -> Items:
    """Items as a revision keeps them."""
    return [{name: clean(value) for name, value in item.as_stored().items()} for item in items]
