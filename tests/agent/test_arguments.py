"""Arguments as models really write them, and as they are sent back to endpoints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.agent.arguments import as_object, decoded, fitted, readable
from chat.agent.events import Reply, ToolCall


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (" \n", {}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "\\ud83d", "\\u0000": ["\\ud83d\\ude00"]}', {"a": "\ufffd", "\ufffd": ["😀"]}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("[1]", [1]),
    ],
)
def test_what_a_model_wrote_is_read_kindly(text: str, given: Any) -> None:
    assert decoded(text) == given


UNREADABLE = [
    "{",
    '{"a": 1,}',
    '{"a": NaN}',
    '{"a": 1e999}',
    '{"a": -Infinity}',
    "[" * 100_000,
    '{"a":' * 100 + "1" + "}" * 100,
    "9" * 5000,
    "x",
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_has_no_meaning_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        decoded(text)
    assert not readable(text)


def test_arguments_that_never_began_are_not_readable() -> None:
    assert not readable("")
    assert readable("{}")


@pytest.mark.parametrize("text", ['{"a": 1}', '{ "b":  [2] }', "{}", '{"a": "\\ud83d\\ude00"}'])
def test_a_plain_object_goes_back_just_as_it_came(text: str) -> None:
    assert as_object(text) == text


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ('"{\\"a\\": 1}"', '{"a": 1}'),
        ('{"a": "x\ny"}', '{"a": "x\\ny"}'),
        ('{"a": "\\ud83d"}', '{"a": "\ufffd"}'),
        ("", "{}"),
        ("[1]", "{}"),
    ],
)
def test_anything_else_goes_back_as_an_object(text: str, sent: str) -> None:
    assert as_object(text) == sent


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_reply_always_goes_back_with_arguments_that_an_endpoint_can_take_apart(text: str) -> None:
    message = Reply("", "", (ToolCall("1", "f", text),)).as_message()
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {}


LISTS = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "object"}}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "list": LISTS,
        "maybe": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "text": {"type": "string"},
        "either": {"type": ["string", "array"]},
        "odd": True,
    },
}


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({"list": '[{"n": 1}]'}, {"list": [{"n": 1}]}),
        ({"list": ['{"n": "{}"}']}, {"list": [{"n": {}}]}),
        ({"maybe": " [1]"}, {"maybe": [1]}),
        ({"maybe": None, "text": "[1]", "either": "[1]"}, {"maybe": None, "text": "[1]", "either": "[1]"}),
        ({"list": "[1", "odd": "[1]", "more": "[1]"}, {"list": "[1", "odd": "[1]", "more": "[1]"}),
        ({"list": '{"n": 1}'}, {"list": '{"n": 1}'}),
    ],
)
def test_json_in_a_string_is_taken_where_no_string_would_fit(given: Any, fits: Any) -> None:
    assert fitted(given, SCHEMA) == fits


@pytest.mark.parametrize("schema", [None, {}, {"properties": None}, {"type": None, "anyOf": "x"}])
def test_a_schema_that_says_nothing_changes_nothing(schema: Any) -> None:
    assert fitted({"a": "[1]"}, schema) == {"a": "[1]"}
