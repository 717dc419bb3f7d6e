"""Replies assembled from pieces as real endpoints send them. Rows are those of the conformance list."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chat.agent.events import Reasoning, Reply, Text, TextWasReasoning, ToolCall, Usage
from chat.agent.model import Assembly, Delta, Finish, ModelError, ToolCallDelta
from chat.agent.model.assembly import MAX_CALLS, MAX_REPLY, merge_fields, storable_fields
from chat.agent.model.protocol import MessageFields

Piece = ToolCallDelta


def reply(*deltas: Delta) -> Reply:
    assembly = Assembly()
    for delta in deltas:
        assembly.add(delta)
    return assembly.reply()


def calls(*deltas: Delta) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in reply(*deltas).calls]


def test_text_reasoning_and_finish_are_joined() -> None:
    whole = reply(Reasoning("h"), Reasoning("m"), Text("a"), Text("b"), Finish("stop"), Finish("again"))
    assert whole == Reply("ab", "hm", (), "stop")


def test_the_last_usage_counts() -> None:
    assembly = Assembly()
    assembly.add(Usage(1, 1))
    assembly.add(Usage(5, 2))
    assert assembly.usage == Usage(5, 2)


def test_pieces_are_told_apart_by_their_index() -> None:
    pieces = [Piece(0, "a", "f", '{"x":'), Piece(1, "b", "g", '{"y":'), Piece(0, arguments="1}")]
    assert calls(*pieces, Piece(1, arguments="2}")) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_an_index_that_is_given_only_once_is_found_again_by_the_id() -> None:
    pieces = [Piece(0, "a", "f", '{"x":'), Piece(None, "a", "", "1}")]
    assert calls(*pieces) == [("a", "f", '{"x":1}')]


def test_a_call_without_an_id_gets_one_of_nine_letters_and_digits() -> None:
    (call,) = reply(Piece(0, "", "f", "{}")).calls
    assert re.fullmatch(r"[A-Za-z0-9]{9}", call.id)


def test_an_id_that_came_twice_is_replaced_and_the_first_stays() -> None:
    first, second = reply(Piece(0, "search:0", "f", "{}"), Piece(1, "search:0", "f", "{}")).calls
    assert first.id == "search:0"
    assert second.id not in ("", "search:0")


def test_an_assembled_reply_is_the_same_when_asked_twice() -> None:
    assembly = Assembly()
    assembly.add(Piece(0, "", "f", "{}"))
    assert assembly.reply() == assembly.reply()


def test_the_providers_own_fields_stay_with_their_call() -> None:
    (call,) = reply(Piece(0, "a", "f", "{}", {"signature": "s"}), Piece(0, extra={"more": 1})).calls
    assert call == ToolCall("a", "f", "{}", {"signature": "s", "more": 1})


@pytest.mark.parametrize("piece", [Text("x" * 1024), Reasoning("x" * 1024), Piece(0, "a", "f", "x" * 1024)])
def test_a_reply_without_end_is_given_up(piece: Delta) -> None:
    assembly = Assembly()
    for _ in range(MAX_REPLY // 1024):
        assembly.add(piece)
    with pytest.raises(ModelError) as caught:
        assembly.add(piece)
    assert (caught.value.kind, caught.value.retryable) == ("endless", False)


def test_text_that_was_reasoning_is_taken_as_such() -> None:
    whole = reply(Text("a"), Reasoning("b"), TextWasReasoning(), Text("c"))
    assert (whole.text, whole.reasoning) == ("c", "ba")


def test_a_tool_on_offer_is_called_by_its_own_name() -> None:
    assembly = Assembly(("bash",))
    for piece in (Piece(0, "", "Bash", "{"), Piece(0, "", "Bash", "}"), Piece(0, "", "Sh", "{}")):
        assembly.add(piece)
    assert [(call.name, call.arguments) for call in assembly.reply().calls] == [("bash", "{}"), ("Sh", "{}")]


def test_the_messages_own_fields_are_joined() -> None:
    fields = [MessageFields({"details": [{"index": 0, "text": text}]}) for text in "ab"]
    assert reply(*fields).extra == {"details": [{"index": 0, "text": "ab"}]}


def test_calls_without_end_are_given_up() -> None:
    pieces = [Piece(number, str(number), "f", "{}") for number in range(MAX_CALLS + 1)]
    with pytest.raises(ModelError) as caught:
        reply(*pieces)
    assert (caught.value.kind, caught.value.retryable) == ("many_calls", False)


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": None}, {"a": 2, "b": None}),
        ({"a": 1}, {"a": None}, {"a": 1}),
        ({"text": "a"}, {"text": "b"}, {"text": "ab"}),
        ({"format": "a"}, {"format": "b"}, {"format": "b"}),
        ({"x": {"summary": "a"}}, {"x": {"summary": "b", "n": 1}}, {"x": {"summary": "ab", "n": 1}}),
        ({"l": [1]}, {"l": [2]}, {"l": [1, 2]}),
        (
            {"l": [{"index": 0, "type": "t", "text": "a"}]},
            {"l": [{"index": 0, "type": "t", "text": "b", "signature": "s"}]},
            {"l": [{"index": 0, "type": "t", "text": "ab", "signature": "s"}]},
        ),
        (
            {"l": [{"index": 0, "type": "t", "text": "a"}]},
            {"l": [{"index": 0, "type": "u"}, {"index": 1, "type": "t"}]},
            {
                "l": [
                    {"index": 0, "type": "t", "text": "a"},
                    {"index": 0, "type": "u"},
                    {"index": 1, "type": "t"},
                ]
            },
        ),
        ({"l": [{"text": "a"}]}, {"l": [{"text": "b"}]}, {"l": [{"text": "a"}, {"text": "b"}]}),
    ],
)
def test_pieces_are_joined(before: Any, after: Any, whole: Any) -> None:
    assert merge_fields(before, after) == whole


def test_what_no_database_takes_is_replaced() -> None:
    odd = {"a\0": ["\ud83d", float("nan"), float("-inf"), 1.5, None, True]}
    assert storable_fields(odd) == {"a\ufffd": ["\ufffd", None, None, 1.5, None, True]}


def test_fields_that_are_nested_without_end_are_refused() -> None:
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ModelError) as caught:
        storable_fields(deep)
    assert caught.value.kind == "garbage"
