"""Exports a conversation as JSON (docs/export.md), streamed piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.utils import timezone

from chat.export.file_format import (
    ATTACHMENT,
    CONVERSATION,
    FOLLOW_UP,
    FORMAT,
    MESSAGE,
    REVISION,
    SIDE_CALL,
    STEP,
    SUMMARY,
    TOOL_CALL,
    TURN,
    VERSION,
    RowSerializer,
    Table,
    to_json,
)
from chat.export.pictures import Pictures, digests_of
from chat.export.redaction import Redaction
from chat.models import Conversation, FollowUp, Message, Summary, TodoRevision, ToolCall, Turn

CHUNK_SIZE = 20  # rows in memory at a time, as each may be large

Row = dict[str, Any]
M = TypeVar("M", bound=Model)


def json_pieces(conversation: Conversation) -> Iterator[str]:
    """The file's text in pieces. No database cursor stays open between two pieces."""
    keys = list(conversation.turns.order_by("pk").values_list("pk", flat=True))
    writer = _Writer(conversation, RowSerializer(keys))
    head = {"format": FORMAT, "version": VERSION, "exported_at": to_json(timezone.now())}
    yield "{" + _members(head)
    yield f',\n"conversation": {_dump(writer.head())}'
    yield ',\n"turns": ['
    for number, pk in enumerate(keys):
        yield ",\n" if number else "\n"
        yield from writer.turn(pk)
    yield "]"
    yield from _array("revisions", map(_dump, writer.revisions()))
    yield from _array("follow_ups", map(_dump, writer.follow_ups()))
    rows = Pictures(conversation).rows(digests_of(conversation))
    yield from _array("pictures", map(_dump, rows))
    yield "}\n"


class _Writer:
    def __init__(self, conversation: Conversation, serializer: RowSerializer) -> None:
        self.conversation = conversation
        self.serializer = serializer
        self.redaction = Redaction.of(conversation)
        # A turn that runs gets more rows meanwhile. What refers to others is bounded before they are read.
        self.latest: dict[type[Model], int] = {}
        for model in (TodoRevision, Message, ToolCall, Summary):
            field = "conversation" if model is TodoRevision else "turn__conversation"
            newest = model._default_manager.filter(**{field: conversation}).order_by("-pk")
            self.latest[model] = newest.values_list("pk", flat=True).first() or 0
        self.steps: set[int] = set()  # those in the file

    def head(self) -> Row:
        title = self.redaction.title(self.conversation.title)
        return {**self.serializer.row(CONVERSATION, self.conversation), "title": title}

    def turn(self, pk: int) -> Iterator[str]:
        """One turn; tool calls are read a few at a time, as they may be large."""
        turn = Turn.objects.get(pk=pk)
        side_calls = list(turn.side_calls.order_by("pk"))
        steps = list(turn.steps.order_by("pk"))
        self.steps.update(step.pk for step in steps)
        yield _dump(self._row(TURN, turn)).removesuffix("}")
        yield from self._rows("steps", STEP, steps)
        yield from self._rows("side_calls", SIDE_CALL, side_calls)
        yield from _array("messages", map(_dump, map(self._message, self._bounded(_messages(turn)))))
        yield from self._rows("tool_calls", TOOL_CALL, self._bounded(turn.tool_calls.select_related("step")))
        positions = {call.pk: position for position, call in enumerate(side_calls, 1)}
        summaries = [
            self._row(SUMMARY, row, {"side_call": positions.get(row.side_call_id or 0)})
            for row in self._bounded(turn.summaries.all())
        ]
        yield from _array("summaries", map(_dump, summaries))
        yield "}"

    def revisions(self) -> Iterator[Row]:
        related = ("tool_call__step", "after__step", "delivered_in_step")
        rows: QuerySet[TodoRevision] = self.conversation.revisions.select_related(*related)
        for row in self._bounded(rows):
            if row.delivered_in_step_id not in self.steps:
                row.delivered_in_step = None  # told since then
            if row.turn_id in self.serializer.turns:
                yield self._row(REVISION, row)

    def follow_ups(self) -> Iterator[Row]:
        for row in _chunks(self.conversation.follow_ups.prefetch_related("attachments")):
            yield self._row(FOLLOW_UP, row) | self._attachments(row)

    def _bounded(self, rows: QuerySet[M]) -> Iterator[M]:
        return _chunks(rows.filter(pk__lte=self.latest[rows.model]))

    def _message(self, message: Message) -> Row:
        return self._row(MESSAGE, message) | self._attachments(message)

    def _attachments(self, row: Message | FollowUp) -> Row:
        return {"attachments": [self._row(ATTACHMENT, each) for each in row.attachments.all()]}

    def _rows(self, name: str, table: Table[Any], rows: Iterable[Model]) -> Iterator[str]:
        return _array(name, (_dump(self._row(table, row)) for row in rows))

    def _row(self, table: Table[Any], row: Model, refs: Row | None = None) -> Row:
        return self.serializer.row(table, self.redaction.row(row), refs)


def _messages(turn: Turn) -> QuerySet[Message]:
    return turn.messages.select_related("step").prefetch_related("attachments")


def _chunks(rows: QuerySet[M]) -> Iterator[M]:
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), CHUNK_SIZE):
        chunk = rows.in_bulk(keys[start : start + CHUNK_SIZE])
        yield from (chunk[key] for key in keys[start : start + CHUNK_SIZE] if key in chunk)


def _array(name: str, rows: Iterable[str]) -> Iterator[str]:
    yield f',\n"{name}": ['
    for number, row in enumerate(rows):
        yield f",\n{row}" if number else f"\n{row}"
    yield "]"


def _members(row: Row) -> str:
    return _dump(row)[1:-1]


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
