"""Arguments as models really write them, and as endpoints take them back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.agent.arguments import as_object, decoded, readable
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


@pytest.mark.parametrize("text", ['{"a": 1}', '{ "b":  [2] }', "{}", '{"a": "\\ud83d"}'])
def test_a_plain_object_goes_back_just_as_it_came(text: str) -> None:
    assert as_object(text) == text


@pytest.mark.parametrize(
    ("text", "sent"),
    [('"{\\"a\\": 1}"', '{"a": 1}'), ('{"a": "x\ny"}', '{"a": "x\\ny"}'), ("", "{}"), ("[1]", "{}")],
)
def test_anything_else_goes_back_as_an_object(text: str, sent: str) -> None:
    assert as_object(text) == sent


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_reply_always_goes_back_with_arguments_that_an_endpoint_can_take_apart(text: str) -> None:
    message = Reply("", "", (ToolCall("1", "f", text),)).as_message()
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {}
