"""The JSON file format: which fields of which models are exported, and their schemas.

Each field of each model of a conversation is listed in `fields` or, with the reason, in `excluded`; a test
compares. A field with a default may be missing, so older files stay readable.
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

DATABASE_KEY = "a key of this site's database"
NESTED = "given by the row's position in the file"
CLAIM = "which worker has claimed the turn"
REQUEST = "the id of a browser's request; the import sets a new one"


@dataclass(frozen=True)
class Table(Generic[M]):
    model: type[M]
    fields: tuple[str, ...]
    refs: Mapping[str, str] = field(default_factory=dict)
    """Kinds of reference by field: a turn or step by its number, a side call by its position in its turn, a
    tool call by step and index, a step of another turn by both numbers."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """Relations to rows that are exported as their `word`."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Model attribute by the name in the file, where they differ."""

    def attribute(self, name: str) -> str:
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
    excluded={
        "id": "the import creates a new conversation",
        "owner": "the user who imports it",
        "profile": "each turn has a snapshot; the next one uses the default of the importing user",
        "model": "as the profile",
        "workspace": "a directory of this machine",
        "unseen_turn": "what its owner has not read",
        "deleted_at": "deleted conversations are not exported",
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
        "id": DATABASE_KEY,
        "conversation": NESTED,
        "client_id": REQUEST,
        "worker": CLAIM,
        "fence": CLAIM,
        "frame": CLAIM,
        "lease_until": CLAIM,
        "unindexed_at": "the search index is rebuilt",
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
    excluded={"id": DATABASE_KEY, "turn": NESTED},
    attributes={"told": "edit_note"},
)
SIDE_CALL = Table(SideCall, ("purpose", *_MODEL_CALL), excluded={"id": DATABASE_KEY, "turn": NESTED})
MESSAGE = Table(
    Message,
    ("role", "text", "reasoning", "extra", "complete", "cut_off", "thought_for", "created_at"),
    {"step": "step"},
    {"id": DATABASE_KEY, "turn": NESTED},
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
    {"id": DATABASE_KEY, "turn": NESTED},
    attributes={"wire_id": "call_id"},
)
SUMMARY = Table(
    Summary,
    ("number", "until_step", "text", "carried", "created_at"),
    {"until": "turn", "side_call": "side_call"},
    {"id": DATABASE_KEY, "turn": NESTED},
)
REVISION = Table(
    TodoRevision,
    ("policy", "items", "author", "afterwards", "skipped", "kept", "created_at"),
    {"turn": "turn", "tool_call": "tool_call", "after": "tool_call", "told_in": "step_of_turn"},
    {"id": DATABASE_KEY, "conversation": NESTED},
    attributes={"told_in": "delivered_in_step"},
)
FOLLOW_UP = Table(
    FollowUp,
    ("text", "status", "created_at"),
    {"turn": "turn"},
    {"id": DATABASE_KEY, "conversation": NESTED, "client_id": REQUEST, "taken_by": REQUEST},
)
ATTACHMENT = Table(
    Attachment,
    ("path", "media_type", "size", "digest", "fault"),
    excluded={"id": DATABASE_KEY, "message": NESTED, "follow_up": NESTED},
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
# The rows nested in a turn, by name in the file.
PARTS: dict[str, Table[Any]] = {
    "steps": STEP,
    "side_calls": SIDE_CALL,
    "messages": MESSAGE,
    "tool_calls": TOOL_CALL,
    "summaries": SUMMARY,
}
WITH_ATTACHMENTS = (MESSAGE, FOLLOW_UP)

# Models of a conversation that are not exported.
EXCLUDED_MODELS = {
    "Allowance": "a file must not grant approvals",
    "ShareLink": "a link belongs to the original conversation",
    "SearchIndexState": "the search index is rebuilt",
    "SearchEntry": "the search index is rebuilt",
    "PlanCount": "counted again from the rows",
    "PlanFigures": "counted again from the rows",
}


TIMESTAMP_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
DECIMAL_PATTERN = r"^\d{1,8}(\.\d{1,8})?$"
EARLIEST = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
MAX_CLOCK_SKEW = datetime.timedelta(days=1)  # of the exporting machine
MAX_INTEGERS = {"PositiveSmallIntegerField": 2**15 - 1, "PositiveIntegerField": 2**31 - 1}

if TYPE_CHECKING:
    Field = models.Field[Any, Any]


def to_json(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    return format(value, ".8f") if isinstance(value, Decimal) else value


def from_json(field: Field, value: Any) -> Any:
    """The field's value from JSON that matches its schema. Raises ValueError for an implausible time."""
    if value is None:
        return None
    if isinstance(field, models.DateTimeField):
        timestamp = datetime.datetime.fromisoformat(value)
        if not EARLIEST <= timestamp <= timezone.now() + MAX_CLOCK_SKEW:
            raise ValueError(value)
        return timestamp
    if isinstance(field, models.DecimalField):
        return Decimal(value)
    return int(value) if isinstance(field, models.IntegerField) else value


def is_required(field: Field) -> bool:
    if isinstance(field, models.DateTimeField):
        return not (field.null or field.has_default())  # auto_now fields are blank
    return not (field.has_default() or field.null or field.blank)


def field_schema(field: Field) -> dict[str, Any]:
    schema = _value_schema(field)
    return {**schema, "type": [schema["type"], "null"]} if field.null else schema


def _value_schema(field: Field) -> dict[str, Any]:
    match field:
        case models.JSONField():
            return JSON_SCHEMAS[f"{field.model.__name__}.{field.name}"]
        case models.BooleanField():
            return {"type": "boolean"}
        case models.DateTimeField():
            return {"type": "string", "pattern": TIMESTAMP_PATTERN}
        case models.DecimalField():
            return {"type": "string", "pattern": DECIMAL_PATTERN}
        case models.IntegerField():
            maximum = MAX_INTEGERS.get(type(field).__name__, 2**53 - 1)
            return {"type": "integer", "minimum": 0, "maximum": maximum}
        case models.CharField() | models.TextField():
            return _text_schema(field)
    raise TypeError(f"no kind of value is known for {field}")


def _text_schema(field: Field) -> dict[str, Any]:
    choices = [str(value) for value, _label in field.choices or ()]
    if choices:
        return {"type": "string", "enum": ["", *choices] if field.blank else choices}
    return {"type": "string", **({"maxLength": field.max_length} if field.max_length else {})}


TEXT = {"type": "string"}
DIGEST = {"type": "string", "pattern": "^([0-9a-f]{32})?$"}
MAX_ID_LENGTH = 200
# Used for a picture's URL and for requests to the model.
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
        "id": {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH},
        "content": TEXT,
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        "active_form": TEXT,
        "key": TEXT,
    },
    "required": ["id", "content", "status"],
    "additionalProperties": False,
}


def _profile_field_schema(name: str) -> dict[str, Any]:
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


PROFILE_SNAPSHOT = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        **{name: _profile_field_schema(name) for name in FIELDS},
        "asked": TEXT,
        "chosen": {"type": "boolean"},
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

JSON_SCHEMAS: dict[str, dict[str, Any]] = {
    "Turn.profile_snapshot": PROFILE_SNAPSHOT,
    "Message.extra": {"type": "object"},
    "ToolCall.extra": {"type": "object"},
    "ToolCall.detail": DETAIL,
    "TodoRevision.skipped": {"type": "array", "items": TEXT},
    "TodoRevision.items": {"type": "array", "items": ITEM},
}


class RowSerializer:
    """Serializes rows, with keys replaced by numbers within the file."""

    def __init__(self, turns: list[int]) -> None:
        self.turns = {pk: number for number, pk in enumerate(turns, 1)}
        self._profiles: dict[Any, int] = {}

    def row(self, table: Table[Any], row: Model, refs: dict[str, Any] | None = None) -> dict[str, Any]:
        """The row in its table's format; `refs` are the references to side calls."""
        values = {name: to_json(getattr(row, table.attribute(name))) for name in table.fields}
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

    def profile(self, snapshot: Mapping[str, Any]) -> dict[str, Any]:
        if not snapshot:
            return {}
        number = self._profiles.setdefault(snapshot["id"], len(self._profiles) + 1)
        connection = {name: snapshot["connection"][name] for name in ("name", "address")}
        since = self.turns.get(snapshot["since"], 1)
        return {**snapshot, "id": number, "connection": connection, "since": since}

    def _ref(self, kind: str, row: Model, name: str) -> Any:
        if kind == "turn":
            return self.turns.get(getattr(row, f"{name}_id"))
        if kind == "step":
            return row.step.number if row.step else None  # type: ignore[attr-defined]
        if kind == "step_of_turn":
            return self._step_ref(getattr(row, name))
        return _call_ref(getattr(row, name)) if kind == "tool_call" else None

    def _step_ref(self, step: Step | None) -> dict[str, int] | None:
        if step is None or step.turn_id not in self.turns:
            return None
        return {"turn": self.turns[step.turn_id], "step": step.number}


def _call_ref(call: ToolCall | None) -> dict[str, int] | None:
    return {"step": call.step.number, "index": call.index} if call else None
