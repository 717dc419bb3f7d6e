"""Chunks as real endpoints send them. Rows are those of the conformance list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.events import Reasoning, Text, Usage
from chat.agent.model import Delta, Finish, ModelError, ToolCallDelta
from chat.agent.model.chunks import MAX_COUNT, ChunkReader, usage_in
from chat.agent.model.errors import error_text


def deltas(chunk: dict[str, Any]) -> Iterator[Delta]:
    return ChunkReader().deltas(chunk)


def of_delta(delta: Any) -> list[Delta]:
    return list(deltas({"choices": [{"index": 0, "delta": delta}]}))


def of_call(call: Any) -> ToolCallDelta:
    (found,) = of_delta({"tool_calls": [call]})
    assert isinstance(found, ToolCallDelta)
    return found


@pytest.mark.parametrize(
    "chunk",
    [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        {"choices": "none"},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"delta": None, "finish_reason": None}]},
        {"choices": [{"delta": "text"}]},
        {"choices": [{"delta": []}]},
        {"choices": [{"delta": {"content": None, "tool_calls": None, "role": "assistant"}}]},
        {"choices": [{"delta": {"content": "", "tool_calls": [], "function_call": None}}]},
        {"choices": [{"delta": {"tool_calls": [None, "call"]}}]},
        {
            "choices": [{"delta": {}, "finish_reason": ""}],
            "id": 7,
            "created": 1.5,
            "error": None,
            "usage": None,
        },
    ],
)
def test_a_chunk_that_says_nothing_is_no_delta_and_no_error(chunk: dict[str, Any]) -> None:
    assert list(deltas(chunk)) == []


def test_text_reasoning_finish_and_usage_come_in_this_order() -> None:
    delta = {"content": "a", "reasoning_content": "b"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    chunk = {"choices": [{"delta": delta, "finish_reason": "stop"}], "usage": usage}
    assert list(deltas(chunk)) == [Reasoning("b"), Text("a"), Finish("stop"), Usage(3, 2)]


def test_content_may_be_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "reference"}, "x", {"type": "text", "text": "b"}]
    assert of_delta({"content": parts}) == [Text("ab")]


def test_a_whole_message_is_read_like_a_delta() -> None:
    chunk = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}
    assert list(deltas(chunk)) == [Text("a"), Finish("stop")]


@pytest.mark.parametrize(("index", "key"), [(2, 2), (0, 0), (None, None), ("0", None)])
def test_a_calls_index_is_its_key_if_it_is_a_number(index: Any, key: int | None) -> None:
    assert of_call({"index": index, "id": "x"}).key == key


@pytest.mark.parametrize("function", [None, "f", [], {}])
def test_a_call_without_a_function_is_an_empty_piece(function: Any) -> None:
    assert of_call({"index": 0, "function": function}) == ToolCallDelta(0)


def test_the_providers_own_fields_of_a_call_are_kept() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "s"}}}
    assert of_call({"index": 0, "id": "a", "type": "function", "function": {}, **extra}).extra == extra


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": None, "completion_tokens": 2}, Usage(0, 2)),
        ({"prompt_tokens": "3", "prompt_tokens_details": None}, Usage()),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(9, 5, 4, 3),
        ),
    ],
)
def test_usage_may_have_holes(usage: dict[str, Any], read: Usage) -> None:
    assert list(deltas({"choices": [], "usage": usage})) == [read]


@pytest.mark.parametrize(
    ("chunk", "detail"),
    [
        ({"error": {"message": "out of memory", "code": 500}}, "out of memory"),
        ({"error": "out of memory"}, "out of memory"),
        ({"error": {"code": 500}}, '{"code": 500}'),
        ({"object": "error", "message": "out of memory", "code": 400}, "out of memory"),
        ({"choices": [{"delta": {}, "finish_reason": "error"}]}, ""),
        (
            {"choices": [{"delta": {"content": ""}, "finish_reason": "error", "error": {"message": "gone"}}]},
            "gone",
        ),
    ],
)
def test_an_error_in_the_stream_is_told(chunk: dict[str, Any], detail: str) -> None:
    with pytest.raises(ModelError) as caught:
        list(deltas(chunk))
    assert (caught.value.kind, caught.value.values["detail"]) == ("reported", detail)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("plain\n text", "plain text"),
        ({"error": {"message": "m"}}, "m"),
        ({"error": "m"}, "m"),
        ({"detail": [{"loc": ["body"], "msg": "m"}]}, "m"),
        ([{"error": {"message": "m"}}], "m"),
        ({"message": "m"}, "m"),
        ({"code": 7}, '{"code": 7}'),
        ("x" * 400, "x" * 300),
    ],
)
def test_what_an_error_body_says_in_one_short_line(body: Any, text: str) -> None:
    assert error_text(body) == text


def test_halves_of_a_character_and_nul_are_marked() -> None:
    assert of_delta({"content": "a\ud83db\x00"}) == [Text("a\ufffdb\ufffd")]


ODD: Any = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())
WORDS = (
    "prompt_tokens completion_tokens total_tokens input_tokens output_tokens cached_tokens reasoning_tokens"
)
GROUPS = "prompt_tokens_details completion_tokens_details cache_read_input_tokens"
NAMES = st.sampled_from([*WORDS.split(), *GROUPS.split()])


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({}, Usage()),
        ({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}, Usage(9, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 3}, Usage(9, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 14}, Usage(9, 5, 0, 3)),
        ({"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 14}, Usage(9, 0)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4}, Usage(9, 0, 4)),
        ({"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}, Usage(9, 1, 4)),
        ({"promptTokenCount": 9, "candidatesTokenCount": 5, "thoughtsTokenCount": 3}, Usage(9, 5, 0, 3)),
        ({"prompt_tokens": True, "completion_tokens": "5"}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": float("inf")}, Usage(0, MAX_COUNT)),
        ({"prompt_tokens": float("nan"), "prompt_tokens_details": 7}, Usage()),
    ],
)
def test_the_counts_are_found(counts: dict[str, Any], usage: Usage) -> None:
    assert usage_in(counts) == usage


@given(st.dictionaries(NAMES, ODD | st.dictionaries(NAMES, ODD)))
def test_whatever_is_told_each_count_fits_its_column(counts: dict[str, Any]) -> None:
    usage = usage_in(counts)
    read = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
    assert all(0 <= count <= MAX_COUNT for count in read)
