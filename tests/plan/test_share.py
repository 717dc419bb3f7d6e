"""Shares, and the intervals around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.plan.plan_stats import Share


# From Newcombe, Statistics in Medicine 17 (1998), table I: the score method without continuity correction.
@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(81, 263, 25.53, 36.62), (15, 148, 6.24, 16.05), (0, 20, 0.0, 16.11), (1, 29, 0.61, 17.18)],
)
def test_intervals_are_as_published(part: int, whole: int, low: float, high: float) -> None:
    share = Share(part, whole)
    assert (share.low, share.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_any_share_lies_in_its_interval(one: int, other: int) -> None:
    share = Share(one, one + other)
    assert -1e-9 <= share.low <= share.percent + 1e-9
    assert share.percent <= share.high + 1e-9 <= 100 + 1e-6


def test_four_are_too_few() -> None:
    assert not Share(4, 4).is_enough
    assert Share(0, 5).is_enough
    assert (Share(0, 0).percent, Share(0, 0).low, Share(0, 0).high) == (0.0, 0.0, 100.0)
