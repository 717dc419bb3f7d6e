"""What a file has of each row: every field of every model within a conversation is named here, once.

A field that is added to a model is added here too, to `fields` or, with the reason, to `left_out`; a test
compares. One that has a default may be missing in a file, so files of before stay readable.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from django.db import models
from django.db.models import Model
from django.utils import timezone

from chat.models import (
    Attachment,
    Conversation,
    FollowUp,
    Message,
    Profile,
    SideCall,
    Step,
    Summary,
    TodoRevision,
    ToolCall,
    Turn,
)
from chat.models.profile import FIELDS, Rule, bare_address

M = TypeVar("M", bound=models.Model)

SITES = "the key of the row in this site's database"
PLACE = "told by where the row stands in the file"
CLAIM = "who works on it at the moment"
REQUEST = "names a request of the page that sent it; it gets another one"


@dataclass(frozen=True)
class Table(Generic[M]):
    """The fields of a model that a file has under their names, and those that it has in another form."""

    model: type[M]
    fields: tuple[str, ...]
    refs: Mapping[str, str] = field(default_factory=dict)
    """To what a reference leads: a turn or step by its number, a side call by its place in its turn, a tool
    call by its step and index, a step of another turn by both numbers."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """Relations to rows of which a file has the `word`."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """The model's fields whose names in a file are older ones: the attribute by the name in the file."""

    def attribute(self, name: str) -> str:
        """The model's field with that name in a file."""
        return self.attributes.get(name, name)

    def column(self, name: str) -> models.Field[Any, Any]:
        return cast("models.Field[Any, Any]", self.model._meta.get_field(self.attribute(name)))


_MODEL_CALL = (
    "endpoint",
    "model",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "estimated",
    "cost",
    "currency",
    "started_at",
    "ended_at",
)

CONVERSATION = Table(
    Conversation,
    ("title", "todos_left", "pinned", "archived_at", "created_at", "updated_at"),
    left_out={
        "id": "another site, or another person, has a conversation of its own",
        "owner": "whoever imports it",
        "profile": "each turn tells which it had; the next one has the default of whoever imports it",
        "workspace": "a directory of this machine",
        "unseen_turn": "what its owner has not looked at",
        "deleted_at": "what is deleted is not exported",
    },
    words=("tags",),
)
TURN = Table(
    Turn,
    (
        "status",
        "sentence",
        "blind",
        "profile_then",
        "stop_requested_at",
        "deaths",
        "created_at",
        "started_at",
        "ended_at",
    ),
    {"follows": "turn"},
    {
        "id": SITES,
        "conversation": PLACE,
        "client_id": REQUEST,
        "worker": CLAIM,
        "fence": CLAIM,
        "frame": CLAIM,
        "lease_until": CLAIM,
        "unindexed_at": "the words of what is imported are told apart anew",
    },
    attributes={
        "sentence": "status_message",
        "blind": "vision_unsupported",
        "profile_then": "profile_snapshot",
    },
)
STEP = Table(
    Step,
    ("number", "reminder", "told", "finish_reason", *_MODEL_CALL),
    left_out={"id": SITES, "turn": PLACE},
    attributes={"told": "edit_note"},
)
SIDE_CALL = Table(SideCall, ("purpose", *_MODEL_CALL), left_out={"id": SITES, "turn": PLACE})
MESSAGE = Table(
    Message,
    ("role", "text", "reasoning", "extra", "complete", "cut_off", "created_at"),
    {"step": "step"},
    {"id": SITES, "turn": PLACE},
)
TOOL_CALL = Table(
    ToolCall,
    (
        "index",
        "wire_id",
        "name",
        "arguments",
        "extra",
        "status",
        "output",
        "detail",
        "shortened",
        "decision",
        "reason",
        "asked_at",
        "decided_at",
        "created_at",
        "started_at",
        "ended_at",
    ),
    {"step": "step", "shortened_in": "turn"},
    {"id": SITES, "turn": PLACE},
    attributes={"wire_id": "call_id"},
)
SUMMARY = Table(
    Summary,
    ("number", "until_step", "text", "carried", "created_at"),
    {"until": "turn", "side_call": "side_call"},
    {"id": SITES, "turn": PLACE},
)
REVISION = Table(
    TodoRevision,
    ("policy", "items", "author", "afterwards", "skipped", "kept", "created_at"),
    {"turn": "turn", "tool_call": "tool_call", "after": "tool_call", "told_in": "step_of_turn"},
    {"id": SITES, "conversation": PLACE},
    attributes={"told_in": "delivered_in_step"},
)
FOLLOW_UP = Table(
    FollowUp,
    ("text", "status", "created_at"),
    {"turn": "turn"},
    {"id": SITES, "conversation": PLACE, "client_id": REQUEST, "taken_by": REQUEST},
)
ATTACHMENT = Table(
    Attachment,
    ("path", "media_type", "size", "digest", "fault"),
    left_out={"id": SITES, "message": PLACE, "follow_up": PLACE},
)

TABLES: tuple[Table[Any], ...] = (
    CONVERSATION,
    TURN,
    STEP,
    SIDE_CALL,
    MESSAGE,
    TOOL_CALL,
    SUMMARY,
    REVISION,
    FOLLOW_UP,
    ATTACHMENT,
)
# The parts of a turn, by their names in a file.
PARTS: dict[str, Table[Any]] = {
    "steps": STEP,
    "side_calls": SIDE_CALL,
    "messages": MESSAGE,
    "tool_calls": TOOL_CALL,
}
PARTS |= {"summaries": SUMMARY}
WITH_ATTACHMENTS = (MESSAGE, FOLLOW_UP)

# Models that belong to a conversation, and that no file has.
LEFT_OUT = {
    "Allowance": "what a person allowed is theirs to allow, and no file's",
    "ShareLink": "a link leads to the conversation that it was made for",
    "SearchIndexState": "the words of what is imported are told apart anew",
    "SearchEntry": "the words of what is imported are told apart anew",
    "PlanCount": "counted again from the rows",
    "PlanFigures": "counted again from the rows",
}


MOMENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
AMOUNT = r"^\d{1,8}(\.\d{1,8})?$"
EARLIEST = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
AHEAD = datetime.timedelta(days=1)  # that another machine's clock may be
LARGEST = {"PositiveSmallIntegerField": 2**15 - 1, "PositiveIntegerField": 2**31 - 1}

if TYPE_CHECKING:
    Field = models.Field[Any, Any]


def written(value: Any) -> Any:
    """A row's value as JSON has it."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    return format(value, ".8f") if isinstance(value, Decimal) else value


def taken(field: Field, value: Any) -> Any:
    """The row's value, of one that fits the field's schema; raises ValueError for a time that cannot be."""
    if value is None:
        return None
    if isinstance(field, models.DateTimeField):
        moment = datetime.datetime.fromisoformat(value)
        if not EARLIEST <= moment <= timezone.now() + AHEAD:
            raise ValueError(value)
        return moment
    if isinstance(field, models.DecimalField):
        return Decimal(value)
    return int(value) if isinstance(field, models.IntegerField) else value


def is_needed(field: Field) -> bool:
    """Whether a file must have the field; any other stands for what is usual where it is missing."""
    if isinstance(field, models.DateTimeField):
        return not (field.null or field.has_default())  # Django calls the ones that it fills blank
    return not (field.has_default() or field.null or field.blank)


def schema(field: Field) -> dict[str, Any]:
    """The JSON Schema of the field's values."""
    found = _schema(field)
    return {**found, "type": [found["type"], "null"]} if field.null else found


def _schema(field: Field) -> dict[str, Any]:
    match field:
        case models.JSONField():
            return SHAPES[f"{field.model.__name__}.{field.name}"]
        case models.BooleanField():
            return {"type": "boolean"}
        case models.DateTimeField():
            return {"type": "string", "pattern": MOMENT}
        case models.DecimalField():
            return {"type": "string", "pattern": AMOUNT}
        case models.IntegerField():
            largest = LARGEST.get(type(field).__name__, 2**53 - 1)
            return {"type": "integer", "minimum": 0, "maximum": largest}
        case models.CharField() | models.TextField():
            return _text(field)
    raise TypeError(f"no kind of value is known for {field}")


def _text(field: Field) -> dict[str, Any]:
    choices = [str(value) for value, _label in field.choices or ()]
    if choices:
        return {"type": "string", "enum": ["", *choices] if field.blank else choices}
    return {"type": "string", **({"maxLength": field.max_length} if field.max_length else {})}


TEXT = {"type": "string"}
DIGEST = {"type": "string", "pattern": "^([0-9a-f]{32})?$"}
LONGEST_ID = 200
# What the address of a picture, and the request that shows it to a model, are made from.
PICTURE = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "media_type": {"type": "string", "maxLength": 40},
        "size": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
        "digest": DIGEST,
        "fault": {"type": "string", "maxLength": 40},
    },
    "required": ["digest"],
    "additionalProperties": False,
}
CHANGE = {
    "path": TEXT,
    "before": {"type": ["string", "null"]},
    "after": {"type": ["string", "null"]},
    "state": TEXT,
    "cut": {"type": "boolean"},
    "binary": {"type": "boolean"},
}
DETAIL = {
    "type": "object",
    "properties": {
        **CHANGE,
        "foreseen": {"type": "object", "properties": CHANGE},
        "pictures": {"type": "array", "items": PICTURE},
    },
}
ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
        "content": TEXT,
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        "active_form": TEXT,
        "key": TEXT,
    },
    "required": ["id", "content", "status"],
    "additionalProperties": False,
}


def _value(name: str) -> dict[str, Any]:
    """The schema of a profile's field, by what it usually is."""
    field = Profile._meta.get_field(name)
    if name == "rules":
        rules = {"type": "string", "enum": [rule.value for rule in Rule]}
        return {"type": "object", "additionalProperties": rules}
    if isinstance(field, models.CharField | models.TextField):
        choices = [str(value) for value, _label in field.choices or ()]
        empty = [""] if field.blank else []
        return {"type": "string", "enum": [*empty, *choices]} if choices else TEXT
    if isinstance(field, models.FloatField):
        return {"type": ["number", "null"]}
    return {"type": ["integer", "null"]}


THEN = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        **{name: _value(name) for name in FIELDS},
        "asked": TEXT,
        "connection": {
            "type": "object",
            "properties": {"name": TEXT, "address": TEXT},
            "required": ["name", "address"],
            "additionalProperties": False,
        },
        "since": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
        "changed": {"type": "array", "items": TEXT},
    },
    "dependentRequired": {"title": ["id", "asked", "connection", "since", "changed"], "id": ["title"]},
    "additionalProperties": False,
}

SHAPES: dict[str, dict[str, Any]] = {
    "Turn.profile_snapshot": THEN,
    "Message.extra": {"type": "object"},
    "ToolCall.extra": {"type": "object"},
    "ToolCall.detail": DETAIL,
    "TodoRevision.skipped": {"type": "array", "items": TEXT},
    "TodoRevision.items": {"type": "array", "items": ITEM},
}


class Numbers:
    """Names that a file has for what rows name by keys."""

    def __init__(self, turns: list[int]) -> None:
        self.turns = {pk: number for number, pk in enumerate(turns, 1)}
        self._profiles: dict[Any, int] = {}

    def row(self, table: Table[Any], row: Model, refs: dict[str, Any] | None = None) -> dict[str, Any]:
        """The row as its table says; `refs` are the references to side calls."""
        values = {name: written(getattr(row, table.attribute(name))) for name in table.fields}
        if "profile_then" in values:
            values["profile_then"] = self.profile(values["profile_then"])
        if "endpoint" in values:
            values["endpoint"] = bare_address(values["endpoint"])
        values |= {name: [str(each.word) for each in getattr(row, name).all()] for name in table.words}
        return (
            values
            | {name: self._ref(kind, row, table.attribute(name)) for name, kind in table.refs.items()}
            | (refs or {})
        )

    def profile(self, then: Mapping[str, Any]) -> dict[str, Any]:
        """A turn's profile without this site's keys."""
        if not then:
            return {}
        number = self._profiles.setdefault(then["id"], len(self._profiles) + 1)
        connection = {name: then["connection"][name] for name in ("name", "address")}
        since = self.turns.get(then["since"], 1)
        return {**then, "id": number, "connection": connection, "since": since}

    def _ref(self, kind: str, row: Model, name: str) -> Any:
        if kind == "turn":
            return self.turns.get(getattr(row, f"{name}_id"))
        if kind == "step":
            return row.step.number if row.step else None  # type: ignore[attr-defined]
        if kind == "step_of_turn":
            return self._step(getattr(row, name))
        return of_call(getattr(row, name)) if kind == "tool_call" else None

    def _step(self, step: Step | None) -> dict[str, int] | None:
        if step is None or step.turn_id not in self.turns:
            return None
        return {"turn": self.turns[step.turn_id], "step": step.number}


def of_call(call: ToolCall | None) -> dict[str, int] | None:
    """How a file names a tool call of a turn that is named beside it."""
    return {"step": call.step.number, "index": call.index} if call else None
