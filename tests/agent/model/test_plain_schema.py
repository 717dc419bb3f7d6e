"""Schemas in the plainest keywords."""

from __future__ import annotations

from chat.agent.model.request_builder import plain_schema


def test_references_choices_and_constraints_are_put_in_place_or_left_out() -> None:
    schema = {
        "$schema": "x",
        "type": "object",
        "additionalProperties": False,
        "$defs": {"Size": {"type": "integer", "minimum": 1, "description": "How large"}},
        "properties": {
            "size": {"$ref": "#/$defs/Size"},
            "maybe": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "default": None},
            "both": {"type": ["string", "null"]},
            "list": {"type": "array"},
            "fixed": {"const": "a"},
            "number": {"enum": [1, 2]},
        },
        "required": ["size", "gone"],
    }
    integer = {"type": "integer", "description": "How large"}
    assert plain_schema(schema) == {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": integer,
            "maybe": {**integer, "nullable": True},
            "both": {"type": "string", "nullable": True},
            "list": {"type": "array", "items": {"type": "string"}},
            "fixed": {"enum": ["a"]},
            "number": {},
        },
    }


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    schema = {
        "type": "object",
        "$defs": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}},
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
    }
    assert plain_schema(schema)["properties"]["tree"]["type"] == "object"


def test_an_empty_schema_has_properties() -> None:
    assert plain_schema({}) == {"type": "object", "properties": {}}
