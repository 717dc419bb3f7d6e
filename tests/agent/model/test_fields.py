"""A provider's own fields: joined from the chunks, and fit to be stored and sent back."""

from __future__ import annotations

from typing import Any

import pytest

from chat.agent.model import ModelError
from chat.agent.model.assembly import joined, kept


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
    assert joined(before, after) == whole


def test_what_no_database_takes_is_replaced() -> None:
    odd = {"a\0": ["\ud83d", float("nan"), float("-inf"), 1.5, None, True]}
    assert kept(odd) == {"a\ufffd": ["\ufffd", None, None, 1.5, None, True]}


def test_fields_that_are_nested_without_end_are_refused() -> None:
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ModelError) as caught:
        kept(deep)
    assert caught.value.kind == "garbage"
