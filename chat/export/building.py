"""The rows of a file, built in memory."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, TypeVar

from django.db.models import Model
from django.utils.translation import gettext as _

from chat.export import kinds
from chat.export.consistency import Path, Row, refused
from chat.export.tables import (
    ATTACHMENT,
    CONVERSATION,
    FOLLOW_UP,
    MESSAGE,
    PARTS,
    REVISION,
    SIDE_CALL,
    STEP,
    SUMMARY,
    TABLES,
    TOOL_CALL,
    TURN,
    Table,
)
from chat.models import Conversation, Profile, Turn
from chat.models.profile_then import FIELDS

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CALL_ENDS_AS = {"pending": "stopped", "waiting": "stopped", "running": "unknown"}
Related = dict[str, Model | None]
M = TypeVar("M", bound=Model)


class Building:
    """`rows` are the rows beneath the conversation, by model, each with the others that it leads to.

    These have keys by the time that it is saved if the models are saved in the order of TABLES; turns alone
    lead to others of their kind, which `linked` tells.
    """

    def __init__(self, file: Row, owner: User, key: uuid.UUID) -> None:
        """`file` is as its schema wants it, and its parts fit each other. `key` is the conversation's."""
        self.file = file
        self.rows: dict[type[Model], list[tuple[Model, Related]]]
        self.rows = {table.model: [] for table in TABLES}
        self._follows: list[int | None] = [row.get("follows") for row in file["turns"]]
        self.steps: dict[tuple[int, int], Model] = {}
        self.calls: dict[tuple[int, int, int], Model] = {}
        at: Path = ("conversation",)
        self.conversation: Conversation = self._row(
            CONVERSATION, file["conversation"], at, {}, pk=key, owner=owner
        )
        self.turns: list[Turn] = []
        for place, row in enumerate(file["turns"]):
            self.turns.append(self._turn(row, place))
        for place, row in enumerate(file["turns"]):
            self._parts(row, place)
        self._revisions()
        self._follow_ups()

    def linked(self) -> list[Turn]:
        """The turns that lead to turns, linked: to the one that they follow, and where a profile began."""
        for turn, follows in zip(self.turns, self._follows, strict=True):
            turn.follows = self.turns[follows - 1] if follows else None
            if turn.profile_then:
                turn.profile_then["since"] = self.turns[turn.profile_then["since"] - 1].pk
        return [turn for turn in self.turns if turn.follows or turn.profile_then]

    def _turn(self, row: Row, place: int) -> Turn:
        path: Path = ("turns", place)
        changes = self._ended(row) if row.get("status", "queued") in Turn.ACTIVE else {}
        then = {"profile_then": _profile(row.get("profile_then", {}))}
        given = {name: row[name] for name in row if name not in PARTS} | changes | then
        related: Related = {"conversation": self.conversation}
        return self._row(TURN, given, path, related, client_id=uuid.uuid4())

    def _ended(self, row: Row) -> Row:
        """What becomes of a turn that was still going on."""
        sentence = _("It was still running when it was exported.")
        return {"status": "interrupted", "sentence": sentence, "ended_at": self.file["exported_at"]}

    def _parts(self, turn: Row, place: int) -> None:
        path: Path = ("turns", place)
        of_turn: Related = {"turn": self.turns[place]}
        steps: dict[int | None, Model] = {}
        for number, row in enumerate(turn["steps"]):
            step = self._row(STEP, row, (*path, "steps", number), of_turn)
            steps[row["number"]] = self.steps[place + 1, row["number"]] = step
        side_calls = [
            self._row(SIDE_CALL, row, (*path, "side_calls", number), of_turn)
            for number, row in enumerate(turn["side_calls"])
        ]
        for number, row in enumerate(turn["messages"]):
            related = {**of_turn, "step": steps.get(row.get("step"))}
            self._message(row, (*path, "messages", number), related)
        for number, row in enumerate(turn["tool_calls"]):
            related = {**of_turn, "step": steps[row["step"]], **self._turns_of(TOOL_CALL, row)}
            call = self._row(TOOL_CALL, _closed(row), (*path, "tool_calls", number), related)
            self.calls[place + 1, row["step"], row["index"]] = call
        for number, row in enumerate(turn["summaries"]):
            named = row.get("side_call")
            related = {**of_turn, **self._turns_of(SUMMARY, row)}
            related["side_call"] = side_calls[named - 1] if named else None
            self._row(SUMMARY, row, (*path, "summaries", number), related)

    def _message(self, row: Row, path: Path, related: Related) -> None:
        is_open = not row.get("complete", True)
        given = row | ({"complete": True, "cut_off": True} if is_open else {})
        made = self._row(MESSAGE, given, path, related)
        self._attachments(row, path, {"message": made})

    def _revisions(self) -> None:
        for place, row in enumerate(self.file["revisions"]):
            related: Related = {"conversation": self.conversation, **self._turns_of(REVISION, row)}
            for name in ("tool_call", "after"):
                named = row.get(name)
                related[name] = self.calls[row["turn"], named["step"], named["index"]] if named else None
            told = row.get("told_in")
            related["told_in"] = self.steps[told["turn"], told["step"]] if told else None
            self._row(REVISION, row, ("revisions", place), related)

    def _follow_ups(self) -> None:
        for place, row in enumerate(self.file["follow_ups"]):
            path: Path = ("follow_ups", place)
            related: Related = {"conversation": self.conversation, **self._turns_of(FOLLOW_UP, row)}
            made = self._row(FOLLOW_UP, row, path, related, client_id=uuid.uuid4())
            self._attachments(row, path, {"follow_up": made})

    def _attachments(self, row: Row, path: Path, related: Related) -> None:
        for place, each in enumerate(row.get("attachments", [])):
            self._row(ATTACHMENT, each, (*path, "attachments", place), related)

    def _turns_of(self, table: Table[Any], row: Row) -> Related:
        """The turns that a row names."""
        names = [name for name, kind in table.refs.items() if kind == "turn" and row.get(name)]
        return {name: self.turns[row[name] - 1] for name in names}

    def _row(self, table: Table[M], given: Row, path: Path, related: Related, **more: Any) -> M:
        values = {name: given[name] for name in table.fields if name in given}
        for name, value in values.items():
            try:
                values[name] = kinds.taken(table.column(name), value)
            except ValueError:
                raise refused((*path, name), _("is not a valid time")) from None
        row = table.model(**values, **more)
        self.rows[table.model].append((row, related))
        return row


def _closed(call: Row) -> Row:
    """A call as it is once nobody is at it any more."""
    status = call.get("status", "pending")
    return call | {"status": CALL_ENDS_AS.get(status, status)}


def _profile(then: Row) -> Row:
    """A turn's profile as rows have it. Its key is that of no profile, but still tells one from another."""
    if not then:
        return {}
    usual = {name: getattr(Profile(), name) for name in FIELDS if name not in then}
    return {**usual, **then, "id": -then["id"], "connection": {"id": None, **then["connection"]}}
