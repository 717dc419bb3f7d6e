"""Usage in every endpoint's own words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.events import Usage
from chat.agent.model.chunks import MOST, usage_in

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
        ({"prompt_tokens": -1, "completion_tokens": float("inf")}, Usage(0, MOST)),
        ({"prompt_tokens": float("nan"), "prompt_tokens_details": 7}, Usage()),
    ],
)
def test_the_counts_are_found(counts: dict[str, Any], usage: Usage) -> None:
    assert usage_in(counts) == usage


@given(st.dictionaries(NAMES, ODD | st.dictionaries(NAMES, ODD)))
def test_whatever_is_told_each_count_fits_its_column(counts: dict[str, Any]) -> None:
    usage = usage_in(counts)
    read = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
    assert all(0 <= count <= MOST for count in read)
