"""As much of a conversation as is to be shown: all of it, what has ended, or what there was at a moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from chat.export.redaction import Redaction
from chat.models import Conversation, FollowUp, Message, Step, Summary, TodoRevision, ToolCall, Turn
from chat.plan.history import Plan, plans_in
from chat.plan.timeline import Entry, Revision, story


@dataclass(frozen=True)
class Reminder:
    """What the model was reminded of, or told of the person's changes, ahead of a step."""

    step: Step


Row = Message | ToolCall | Summary | Reminder


@dataclass(frozen=True)
class Record:
    """Turns by their keys, oldest first, and the key of the last list that belongs to them (0: none).

    The title, and all rows that it gives, are redacted.
    """

    conversation: Conversation
    title: str
    turns: tuple[int, ...]
    last_revision: int
    redaction: Redaction

    @classmethod
    def whole(cls, conversation: Conversation) -> Record:
        """All that there is now, also what is not finished."""
        return cls._of(conversation, conversation.title, conversation.turns.all())

    @classmethod
    def ended(cls, conversation: Conversation) -> Record:
        """The turns that have ended by now, with their lists."""
        over = conversation.turns.exclude(status__in=Turn.ACTIVE)
        return cls._of(conversation, conversation.title, over)

    @classmethod
    def until(cls, conversation: Conversation, title: str, turn: int, revision: int) -> Record:
        """What had ended with that turn, with lists up to that one."""
        return cls._of(conversation, title, conversation.turns.filter(pk__lte=turn), revision)

    @classmethod
    def _of(
        cls, conversation: Conversation, title: str, rows: QuerySet[Turn], revision: int | None = None
    ) -> Record:
        turns = tuple(rows.order_by("pk").values_list("pk", flat=True))
        last = _last(conversation, turns) if revision is None else revision
        redaction = Redaction.of(conversation)
        return cls(conversation, redaction.title(title), turns, last, redaction)

    @property
    def last_turn(self) -> int:
        """The key of its last turn; 0 for none."""
        return self.turns[-1] if self.turns else 0

    def plans(self) -> list[Plan]:
        """Its plans, with what happened around them."""
        known = set(self.turns)
        entries = story(self.conversation, prepare=self.redaction.row)
        return plans_in(entry for entry in entries if self._has(entry, known))

    def each_turn(self) -> Iterator[Turn]:
        """Its turns with their rows, each read when it is asked for."""
        for pk in self.turns:
            turn = Turn.with_rows().filter(pk=pk).first()
            if turn is None:
                continue
            for call in turn.tool_calls.all():
                if call.shortened_in_id and call.shortened_in_id > self.last_turn:
                    call.shortened = ""
            for row in (*turn.rows(), *turn.steps.all()):
                self.redaction.row(row)
            yield turn
            # Turn and rows name each other: apart from each other they are freed at once, and not some day.
            turn.refresh_from_db(fields=("messages", "tool_calls", "summaries", "steps", "side_calls"))

    def revisions_of(self, turn: Turn) -> list[TodoRevision]:
        """The lists of a turn, the person's own included."""
        rows = turn.revisions.filter(pk__lte=self.last_revision).order_by("pk")
        return [self.redaction.row(row) for row in rows]

    def follow_ups(self) -> list[FollowUp]:
        """The messages that are held, or were taken back."""
        waiting = self.conversation.follow_ups.exclude(status=FollowUp.Status.DELIVERED)
        return list(waiting.order_by("pk").prefetch_related("attachments"))

    def _has(self, entry: Entry, turns: set[int]) -> bool:
        newer = isinstance(entry, Revision) and entry.row.pk > self.last_revision
        return entry.turn.pk in turns and not newer


def rows_of(turn: Turn) -> Iterator[Row]:
    """A turn's rows in order, and ahead of each step what the model was told beside them."""
    steps = deque(sorted(turn.steps.all(), key=lambda step: step.number))
    for row in turn.rows():
        number = row.number if isinstance(row, Summary) else row.step.number if row.step else 0
        while steps and steps[0].number <= number:
            step = steps.popleft()
            if step.reminder or step.edit_note:
                yield Reminder(step)
        yield row


def _last(conversation: Conversation, turns: tuple[int, ...]) -> int:
    written = conversation.revisions.filter(turn__lte=turns[-1] if turns else 0)
    return written.order_by("pk").values_list("pk", flat=True).last() or 0
