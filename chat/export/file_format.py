"""The JSON file format: which fields of which models are exported, and the types that files are read as.

Each field of each model of a conversation is listed in `fields` or, with the reason, in `excluded`; a test
compares. The types follow the columns. A field with a default may be missing, so older files stay readable.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, Self, TypeAlias, TypeVar, cast

from django.db import models
from django.db.models import Model
from django.utils import timezone
from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    PlainValidator,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError

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
from chat.models.tag import MAX_LENGTH, MAX_TAGS_OF_CONVERSATION

M = TypeVar("M", bound=models.Model)
Column: TypeAlias = "models.Field[Any, Any]"

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

    def column(self, name: str) -> Column:
        return cast(Column, self.model._meta.get_field(self.attribute(name)))


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
        "profile": "each turn has a snapshot; the next one uses the importing user's of the same name",
        "model": "each turn has it in its snapshot; the next one uses the profile's",
        "lost_model": "as the model",
        "workspace": "a directory of this machine",
        "unseen_turn": "what its owner has not read",
        "deleted_at": "deleted conversations are not exported",
        "imported_at": "when it was imported here",
        "path_version": "counts changes for open pages",
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
        "chosen",
        "on_path",
        "created_at",
        "started_at",
        "ended_at",
    ),
    {"follows": "turn", "parent": "turn"},
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
        "deaths": "crash_count",
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
    ("policy", "items", "author", "afterwards", "skipped", "kept", "dismissed", "created_at"),
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
    ("path", "sent_path", "media_type", "size", "digest", "fault"),
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

# Models of a conversation that are not exported.
EXCLUDED_MODELS = {
    "Allowance": "a file must not grant approvals",
    "ShareLink": "a link belongs to the original conversation",
    "SearchIndexState": "the search index is rebuilt",
    "SearchEntry": "the search index is rebuilt",
    "PlanCount": "counted again from the rows",
    "PlanFigures": "counted again from the rows",
}


FORMAT = "agent-conversation"
VERSION = 1

EARLIEST = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
MAX_CLOCK_SKEW = datetime.timedelta(days=1)  # of the exporting machine
MAX_INTEGERS = {"PositiveSmallIntegerField": 2**15 - 1, "PositiveIntegerField": 2**31 - 1}
MAX_ID_LENGTH = 200
TIMESTAMP_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
DECIMAL_PATTERN = r"^\d{1,8}(\.\d{1,8})?$"


def to_json(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    return format(value, ".8f") if isinstance(value, Decimal) else value


def _matching(value: Any, pattern: str) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "not text")
    if not re.match(pattern, value):
        raise PydanticCustomError("pattern", "not of this form")
    return value


def _timestamp(value: Any) -> datetime.datetime:
    text = _matching(value, TIMESTAMP_PATTERN)
    try:
        timestamp = datetime.datetime.fromisoformat(text)
    except ValueError:
        timestamp = datetime.datetime.min.replace(tzinfo=datetime.UTC)
    if not EARLIEST <= timestamp <= timezone.now() + MAX_CLOCK_SKEW:
        raise PydanticCustomError("implausible_time", "not a valid time")
    return timestamp


def _decimal(value: Any) -> Decimal:
    return Decimal(_matching(value, DECIMAL_PATTERN))


Timestamp = Annotated[
    datetime.datetime,
    PlainValidator(_timestamp),
    WithJsonSchema({"type": "string", "pattern": TIMESTAMP_PATTERN}),
]
Amount = Annotated[
    Decimal, PlainValidator(_decimal), WithJsonSchema({"type": "string", "pattern": DECIMAL_PATTERN})
]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]
Index = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Part(BaseModel):
    """An object in the file, with these fields and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CallRef(Part):
    step: Index
    index: Index


class StepRef(Part):
    turn: Positive
    step: Index


class PictureDescription(Part):
    """Used for a picture's URL and for requests to the model."""

    name: str = ""
    media_type: Annotated[str, Field(max_length=40)] = ""
    size: Annotated[int, Field(ge=0, le=2**53 - 1)] = 0
    digest: Annotated[str, Field(pattern=r"^([0-9a-f]{32})?$")]
    fault: Annotated[str, Field(max_length=40)] = ""


class Change(Part):
    """What a call does to a file. Tools may add fields of their own."""

    model_config = ConfigDict(extra="allow", strict=True)

    path: str = ""
    before: str | None = None
    after: str | None = None
    state: str = ""
    cut: bool = False
    binary: bool = False


class Detail(Change):
    foreseen: Change = Change()
    pictures: list[PictureDescription] = []


class Item(Part):
    id: Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH)]
    content: str
    status: Literal["pending", "in_progress", "completed"]
    active_form: str = ""
    key: str = ""


class Connection(Part):
    name: str
    address: str


_IDENTITY = {"title", "id", "asked", "connection", "since", "changed"}
_DEPENDENT: dict[str, Any] = {"dependentRequired": {"title": sorted(_IDENTITY - {"title"}), "id": ["title"]}}


class _Snapshot(Part):
    """A profile as a turn used it; empty for turns from before there were profiles."""

    model_config = ConfigDict(json_schema_extra=_DEPENDENT)

    id: Index = 0
    asked: str = ""
    connection: Connection = Connection(name="", address="")
    since: Positive = 1
    changed: list[str] = []
    chosen: bool = False  # the model, apart from the profile
    lost: bool = False  # the chosen model could not be used any more
    override: bool = False  # the profile was used in this turn alone

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        given = self.model_fields_set
        if {"title", "id"} & given and not given >= _IDENTITY:
            raise PydanticCustomError("incomplete", "fields are missing")
        return self


def _literal(values: Iterable[Any]) -> Any:
    return Literal[tuple(str(value) for value in values)]


def _text_type(column: Column) -> Any:
    if column.choices:
        return _literal(([""] if column.blank else []) + [value for value, _label in column.choices])
    return Annotated[str, Field(max_length=column.max_length)] if column.max_length else str


def _profile_type(name: str) -> Any:
    column = Profile._meta.get_field(name)
    if name == "rules":
        return dict[str, _literal(Rule)]  # type: ignore[misc]
    if isinstance(column, models.CharField | models.TextField):
        return _text_type(column) if column.choices else str
    return (float if isinstance(column, models.FloatField) else int) | None


ProfileSnapshot: type[BaseModel] = create_model(
    "ProfileSnapshot", __base__=_Snapshot, **{name: (_profile_type(name), None) for name in FIELDS}
)  # type: ignore[call-overload]

JSON_TYPES: dict[str, Any] = {
    "Turn.profile_snapshot": ProfileSnapshot,
    "Message.extra": dict[str, Any],
    "ToolCall.extra": dict[str, Any],
    "ToolCall.detail": Detail,
    "TodoRevision.skipped": list[str],
    "TodoRevision.items": list[Item],
}
REFS: dict[str, Any] = {
    "turn": Positive,
    "step": Index,
    "side_call": Positive,
    "tool_call": CallRef,
    "step_of_turn": StepRef,
}
Tags = Annotated[
    list[Annotated[str, Field(max_length=MAX_LENGTH)]], Field(max_length=MAX_TAGS_OF_CONVERSATION)
]


def _type_of(column: Column) -> Any:
    match column:
        case models.JSONField():
            return JSON_TYPES[f"{column.model.__name__}.{column.name}"]
        case models.BooleanField():
            return bool
        case models.DateTimeField():
            return Timestamp
        case models.DecimalField():
            return Amount
        case models.IntegerField():
            maximum = MAX_INTEGERS.get(type(column).__name__, 2**53 - 1)
            return Annotated[int, Field(ge=0, le=maximum)]
        case models.CharField() | models.TextField():
            return _text_type(column)
    raise TypeError(f"no kind of value is known for {column}")


def _is_required(column: Column) -> bool:
    if isinstance(column, models.DateTimeField):
        return not (column.null or column.has_default())  # auto_now fields are blank
    return not (column.has_default() or column.null or column.blank)


def _rows(model: Any) -> Any:
    return Annotated[list[model], FailFast()]


def _row_type(table: Table[Any], **more: Any) -> type[BaseModel]:
    """The type of a row in the file: its columns, and references in place of keys."""
    fields: dict[str, Any] = {}
    for name in table.fields:
        column = table.column(name)
        fields[name] = _field(_type_of(column), null=column.null, required=_is_required(column))
    for name, kind in table.refs.items():
        null = table.column(name).null
        fields[name] = _field(REFS[kind], null=null, required=not null)
    fields |= dict.fromkeys(table.words, (Tags, []))
    return create_model(table.model.__name__, __base__=Part, **fields, **more)


def _field(kind: Any, *, null: bool, required: bool) -> tuple[Any, Any]:
    return (kind | None if null else kind), (... if required else None)


_ATTACHMENTS: tuple[Any, Any] = (_rows(_row_type(ATTACHMENT)), [])
_PARTS = {
    name: (_rows(_row_type(table, **({"attachments": _ATTACHMENTS} if table is MESSAGE else {}))), ...)
    for name, table in PARTS.items()
}
TurnInFile = _row_type(TURN, **_PARTS)


class Picture(Part):
    digest: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    data: str | None


class File(Part):
    """A conversation with an agent"""

    format: Literal["agent-conversation"]
    version: Literal[1]
    exported_at: Timestamp
    conversation: _row_type(CONVERSATION)  # type: ignore[valid-type]
    turns: _rows(TurnInFile)  # type: ignore[valid-type]
    revisions: _rows(_row_type(REVISION))  # type: ignore[valid-type]
    follow_ups: _rows(_row_type(FOLLOW_UP, attachments=_ATTACHMENTS))  # type: ignore[valid-type]
    pictures: _rows(Picture)  # type: ignore[valid-type]


class _Schema(GenerateJsonSchema):
    """Without pydantic's titles, and without defaults: a missing field keeps that of its column."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])


def schema() -> dict[str, Any]:
    """The JSON Schema of a file. docs/export.schema.json is its output."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **File.model_json_schema(schema_generator=_Schema),
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
        elsewhere = {name: value for name, value in snapshot.items() if name != "instead_of"}
        return {**elsewhere, "id": number, "connection": connection, "since": since}

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
