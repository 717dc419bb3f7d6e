"""What the objects within rows look like: lists of todos, profiles as they were, details of calls."""

from __future__ import annotations

from typing import Any

from django.db import models

from chat.models import Profile
from chat.models.profile_then import FIELDS
from chat.models.rule import Rule

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
    "Turn.profile_then": THEN,
    "Message.extra": {"type": "object"},
    "ToolCall.extra": {"type": "object"},
    "ToolCall.detail": DETAIL,
    "TodoRevision.skipped": {"type": "array", "items": TEXT},
    "TodoRevision.items": {"type": "array", "items": ITEM},
}
