"""The JSON Schema of an exported file, built from the tables. docs/export.schema.json is its output."""

from __future__ import annotations

from typing import Any

from chat.export import file_format
from chat.export.file_format import (
    ATTACHMENT,
    CONVERSATION,
    FOLLOW_UP,
    PARTS,
    REVISION,
    TURN,
    WITH_ATTACHMENTS,
    Table,
)
from chat.export.json_file import FORMAT, VERSION
from chat.models.tag import MAX_LENGTH, MAX_TAGS_OF_CONVERSATION

POSITIVE = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
INDEX = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
CALL = {
    "type": "object",
    "properties": {"step": INDEX, "index": INDEX},
    "required": ["step", "index"],
    "additionalProperties": False,
}
STEP = {
    "type": "object",
    "properties": {"turn": POSITIVE, "step": INDEX},
    "required": ["turn", "step"],
    "additionalProperties": False,
}
REFS: dict[str, dict[str, Any]] = {"turn": POSITIVE, "step": INDEX, "side_call": POSITIVE, "tool_call": CALL}
REFS |= {"step_of_turn": STEP}
WORDS = {
    "type": "array",
    "items": {"type": "string", "maxLength": MAX_LENGTH},
    "maxItems": MAX_TAGS_OF_CONVERSATION,
}
PICTURE = {
    "digest": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "data": {"type": ["string", "null"]},
}


def schema() -> dict[str, Any]:
    parts = {name: _array(_row_schema(table)) for name, table in PARTS.items()}
    turn = _row_schema(TURN)
    turn["properties"] |= parts
    turn["required"] += parts
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A conversation with an agent",
        **_object(
            {
                "format": {"const": FORMAT},
                "version": {"const": VERSION},
                "exported_at": {"type": "string", "pattern": file_format.TIMESTAMP_PATTERN},
                "conversation": _row_schema(CONVERSATION),
                "turns": _array(turn),
                "revisions": _array(_row_schema(REVISION)),
                "follow_ups": _array(_row_schema(FOLLOW_UP)),
                "pictures": _array(_object(PICTURE)),
            }
        ),
    }


def _row_schema(table: Table[Any]) -> dict[str, Any]:
    required = [name for name in table.fields if file_format.is_required(table.column(name))]
    schema = _object({name: file_format.field_schema(table.column(name)) for name in table.fields}, required)
    schema["properties"] |= dict.fromkeys(table.words, WORDS)
    for name, kind in table.refs.items():
        ref = REFS[kind]
        null = table.column(name).null
        schema["properties"][name] = {**ref, "type": [ref["type"], "null"]} if null else ref
        schema["required"] += [] if null else [name]
    if table in WITH_ATTACHMENTS:
        schema["properties"]["attachments"] = _array(_row_schema(ATTACHMENT))
    return schema


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    if required is None:
        required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
