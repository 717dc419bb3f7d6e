"""The part of a conversation that is exported or shared."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import get_language

from chat.agent.prompts import Language
from chat.agent.todo import TodoList
from chat.export.redaction import Redaction
from chat.models import Conversation, FollowUp, Message, Step, Summary, ToolCall, Turn
from chat.plan.history import Plan, plans_in
from chat.plan.timeline import Entry, Revision, timeline_of
from chat.turns.planning import items_of


@dataclass(frozen=True)
class Reminder:
    step: Step


Row = Message | ToolCall | Summary | Reminder


@dataclass(frozen=True)
class Record:
    """The turns, by ascending key, and the key of the last todo revision (0: none).

    The title and all rows that it returns are redacted.
    """

    conversation: Conversation
    title: str
    turns: tuple[int, ...]
    last_revision: int
    redaction: Redaction

    @classmethod
    def whole(cls, conversation: Conversation) -> Record:
        return cls._of(conversation, conversation.title, conversation.path)

    @classmethod
    def ended(cls, conversation: Conversation) -> Record:
        ended = conversation.path.exclude(status__in=Turn.ACTIVE)
        return cls._of(conversation, conversation.title, ended)

    @classmethod
    def until(cls, conversation: Conversation, title: str, turn: int, revision: int) -> Record:
        """The path that led to this turn, whatever the conversation shows now."""
        turns = conversation.turns.filter(pk__in=conversation.path_to(turn))
        return cls._of(conversation, title, turns, revision)

    @classmethod
    def _of(
        cls, conversation: Conversation, title: str, rows: QuerySet[Turn], revision: int | None = None
    ) -> Record:
        turns = tuple(rows.order_by("pk").values_list("pk", flat=True))
        last = _last_revision(conversation, turns) if revision is None else revision
        redaction = Redaction.of(conversation)
        return cls(conversation, redaction.title(title), turns, last, redaction)

    @property
    def last_turn(self) -> int:
        return self.turns[-1] if self.turns else 0

    def plans(self) -> list[Plan]:
        """Those that the user did not take back."""
        turns = set(self.turns)
        entries = timeline_of(self.conversation, keys=self.turns, prepare=self.redaction.row)
        plans = plans_in(entry for entry in entries if self._has(entry, turns))
        return [plan for plan in plans if not plan.is_taken_back]

    def each_turn(self) -> Iterator[Turn]:
        for pk in self.turns:
            turn = Turn.with_rows().filter(pk=pk).first()
            if turn is None:
                continue
            for call in turn.tool_calls.all():
                if call.shortened_in_id and call.shortened_in_id > self.last_turn:
                    call.shortened = ""
            for row in (*turn.rows(), *turn.steps.all()):
                self.redaction.row(row)
            for step in turn.steps.all():
                if step.edit_note:
                    step.edit_note = self._in_readers_language(step)
            yield turn
            # Break the reference cycle between the turn and its rows, so that they are freed at once.
            turn.refresh_from_db(fields=("messages", "tool_calls", "summaries", "steps", "side_calls"))

    def _in_readers_language(self, step: Step) -> str:
        """The step's note about the user's edits of the list.

        It is stored in the model's language; for readers of the other one it is written again from the lists.
        """
        language: Language = "zh" if (get_language() or "").startswith("zh") else "en"
        if step.turn.profile_snapshot.get("language", "en") == language:
            return step.edit_note
        edits = list(step.delivered_revisions.order_by("pk"))
        if not edits:
            return step.edit_note
        earlier = self.conversation.revisions.filter(turn__in=self.turns, pk__lt=edits[0].pk).order_by("pk")
        known = earlier.last()
        after = self.redaction.row(edits[-1])
        before = items_of(self.redaction.row(known).items) if known else ()
        note = TodoList(after.policy, before, language).apply_edits(items_of(after.items))
        return note or step.edit_note

    def follow_ups(self) -> list[FollowUp]:
        waiting = self.conversation.follow_ups.exclude(status=FollowUp.Status.DELIVERED)
        return list(waiting.order_by("pk").prefetch_related("attachments"))

    def _has(self, entry: Entry, turns: set[int]) -> bool:
        is_newer = isinstance(entry, Revision) and entry.row.pk > self.last_revision
        return entry.turn.pk in turns and not is_newer


def rows_of(turn: Turn) -> Iterator[Row]:
    steps = deque(sorted(turn.steps.all(), key=lambda step: step.number))
    for row in turn.rows():
        number = row.number if isinstance(row, Summary) else row.step.number if row.step else 0
        while steps and steps[0].number <= number:
            step = steps.popleft()
            if step.reminder or step.edit_note:
                yield Reminder(step)
        yield row


def _last_revision(conversation: Conversation, turns: tuple[int, ...]) -> int:
    revisions = conversation.revisions.filter(turn__in=turns)
    return revisions.order_by("pk").values_list("pk", flat=True).last() or 0
