"""The JSON Schema of the file, made of the tables; docs/export.schema.json is what this gives."""

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
from chat.models.tag import LONGEST, MOST_OF_ONE

NUMBER = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
PLACE = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
CALL = {
    "type": "object",
    "properties": {"step": PLACE, "index": PLACE},
    "required": ["step", "index"],
    "additionalProperties": False,
}
STEP = {
    "type": "object",
    "properties": {"turn": NUMBER, "step": PLACE},
    "required": ["turn", "step"],
    "additionalProperties": False,
}
REFS: dict[str, dict[str, Any]] = {"turn": NUMBER, "step": PLACE, "side_call": NUMBER, "tool_call": CALL}
REFS |= {"step_of_turn": STEP}
WORDS = {"type": "array", "items": {"type": "string", "maxLength": LONGEST}, "maxItems": MOST_OF_ONE}
PICTURE = {
    "digest": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "data": {"type": ["string", "null"]},
}


def schema() -> dict[str, Any]:
    """The schema of a whole file."""
    parts = {name: _array(_of(table)) for name, table in PARTS.items()}
    turn = _of(TURN)
    turn["properties"] |= parts
    turn["required"] += parts
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A conversation with an agent",
        **_object(
            {
                "format": {"const": FORMAT},
                "version": {"const": VERSION},
                "exported_at": {"type": "string", "pattern": file_format.MOMENT},
                "conversation": _of(CONVERSATION),
                "turns": _array(turn),
                "revisions": _array(_of(REVISION)),
                "follow_ups": _array(_of(FOLLOW_UP)),
                "pictures": _array(_object(PICTURE)),
            }
        ),
    }


def _of(table: Table[Any]) -> dict[str, Any]:
    """The schema of a row."""
    needed = [name for name in table.fields if file_format.is_needed(table.column(name))]
    found = _object({name: file_format.schema(table.column(name)) for name in table.fields}, needed)
    found["properties"] |= dict.fromkeys(table.words, WORDS)
    for name, kind in table.refs.items():
        leads = REFS[kind]
        null = table.column(name).null
        found["properties"][name] = {**leads, "type": [leads["type"], "null"]} if null else leads
        found["required"] += [] if null else [name]
    if table in WITH_ATTACHMENTS:
        found["properties"]["attachments"] = _array(_of(ATTACHMENT))
    return found


def _object(properties: dict[str, Any], needed: list[str] | None = None) -> dict[str, Any]:
    required = list(properties) if needed is None else needed
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
