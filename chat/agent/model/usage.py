"""What a reply cost, by the endpoint's own count and in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.agent.events import Usage

# More tokens than any endpoint counts in one reply, and what a column of whole numbers still takes.
MOST = 2**31 - 1

_INPUT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_CACHED = (
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "prompt_cache_hit_tokens",  # DeepSeek
    "cached_tokens",  # Moonshot
    "cache_read_input_tokens",  # Anthropic's own word, which some proxies pass on
    "cachedContentTokenCount",  # Gemini's
)
_CACHES = ("cache_read_input_tokens", "cache_creation_input_tokens")
_REASONING = (
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
    "reasoning_tokens",
    "thoughtsTokenCount",
)


def usage_in(counts: Mapping[str, Any]) -> Usage:
    """The usage that an endpoint reports; what it leaves out, or says in no number, is 0."""
    asked, said = _asked(counts), _first(counts, _OUTPUT)
    # Gemini counts what the model thought in the total alone.
    thought = 0 if _first(counts, _REASONING) else max(0, _count(counts, "total_tokens") - asked - said)
    return Usage(
        input_tokens=asked,
        output_tokens=min(said + thought, MOST) if said else said,
        cached_tokens=_first(counts, _CACHED),
        reasoning_tokens=_first(counts, _REASONING) or (thought if said else 0),
    )


def _asked(counts: Mapping[str, Any]) -> int:
    asked = _first(counts, _INPUT)
    # Anthropic counts as input what was in no cache.
    apart = 0 if _count(counts, "prompt_tokens") else sum(_count(counts, name) for name in _CACHES)
    return min(asked + apart, MOST)


def _first(counts: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return next((count for name in names if (count := _count(counts, name))), 0)


def _count(counts: Any, name: str) -> int:
    for part in name.split("."):
        counts = counts.get(part) if isinstance(counts, dict) else None
    if isinstance(counts, bool) or not isinstance(counts, int | float) or counts != counts:
        return 0
    return int(min(max(counts, 0), MOST))
