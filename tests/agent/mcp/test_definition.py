"""Definitions: fingerprints, and schemas converted for providers."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.mcp import Definition, UnfitError
from chat.agent.mcp.definition import for_providers

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
keys = st.sampled_from(
    ["type", "properties", "items", "anyOf", "required", "$ref", "$defs", "not", "additionalProperties"]
)


def test_a_good_schema_stays_as_it_is() -> None:
    assert for_providers(SCHEMA) == SCHEMA


@pytest.mark.parametrize(
    ("given_", "made"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({**SCHEMA, "$schema": "http://json-schema.org/draft-07/schema#"}, SCHEMA),
        ({**SCHEMA, "anyOf": [{"required": ["a"]}], "if": True}, SCHEMA),
        ({**SCHEMA, "required": ["a", "gone", 1]}, SCHEMA),
        ({**SCHEMA, "required": "a"}, {"type": "object", "properties": {"a": {"type": "string"}}}),
        (
            {"properties": {"a": True, "b": {"type": "array"}, "c": {"type": ["array", "null"]}}},
            {
                "type": "object",
                "properties": {
                    "a": {},
                    "b": {"type": "array", "items": {}},
                    "c": {"type": ["array", "null"], "items": {}},
                },
            },
        ),
        ({**SCHEMA, "additionalProperties": False}, {**SCHEMA, "additionalProperties": False}),
    ],
)
def test_what_providers_refuse_is_repaired(given_: dict[str, Any], made: dict[str, Any]) -> None:
    assert for_providers(given_) == made


def nested(depth: int) -> dict[str, Any]:
    return {"properties": {"a": nested(depth - 1)}} if depth else {}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string"}, "of type 'string'"),
        ({"$ref": "#/$defs/a", "$defs": {"a": SCHEMA}}, "a reference"),
        ({"properties": {"a": {"$ref": "http://169.254.169.254/"}}}, "another document"),
        ({"properties": {"a b": {}}}, "called 'a b'"),
        ({"properties": {"": {}}}, "called ''"),
        ({"properties": {"a": "string"}}, "no schema"),
        ({"properties": [1]}, "no object"),
        ({"properties": {"a": {"description": "x" * 40_000}}}, "characters"),
        (nested(40), "nested"),
    ],
)
def test_what_cannot_be_repaired_is_said(schema: dict[str, Any], why: str) -> None:
    assert why in Definition("tool", "", schema).problem


@given(st.dictionaries(keys, values, max_size=5))
def test_whatever_a_server_sends_is_repaired_or_refused(schema: dict[str, Any]) -> None:
    try:
        made = for_providers(schema)
    except UnfitError:
        return
    assert made["type"] == "object"
    assert isinstance(made["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "not", "enum"} & made.keys()


def test_a_fingerprint_minds_what_a_model_reads_and_nothing_else() -> None:
    tool = Definition("a", "b", SCHEMA)
    turned = dict(reversed(SCHEMA.items()))
    assert tool.fingerprint == Definition("a", "b", turned).fingerprint
    others = [Definition("x", "b", SCHEMA), Definition("a", "x", SCHEMA), Definition("a", "b", {})]
    assert tool.fingerprint not in {other.fingerprint for other in others}


def test_what_no_database_keeps_is_left_out() -> None:
    odd = {
        "type": "object",
        "properties": {"a\0": {"default": math.inf, "const": 10**400, "title": "\ud800"}},
    }
    read = Definition.read("a", "nul \0", {**odd, "x": [math.nan, 1.5, 2]})
    assert read.description == "nul \ufffd"
    assert read.schema["properties"] == {"a\ufffd": {"default": None, "const": None, "title": "\ufffd"}}
    assert read.schema["x"] == [None, 1.5, 2]
    assert "\0" not in json.dumps(read.schema, allow_nan=False)


def test_a_fingerprint_that_was_kept_counts() -> None:
    assert Definition("a", "b", SCHEMA, "kept").fingerprint == "kept"


def test_a_long_description_is_cut() -> None:
    assert len(Definition("a", "x" * 5000, SCHEMA).summary) == 1024


def test_what_is_made_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(for_providers({"properties": {"a": False}}))
