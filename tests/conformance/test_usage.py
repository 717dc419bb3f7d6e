"""What endpoints say that a reply cost, by whichever name and in whichever chunk (B2)."""

from __future__ import annotations

from typing import Any

import pytest

from chat.demo.reply import chunk
from tests.conformance.conftest import Play
from tests.conformance.scenario import Scenario, stream

HEAD, TAIL = chunk({"content": "Hello"}), chunk({}, "stop")
COUNTED = (9, 5, 4, 3)
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 5,
    "total_tokens": 14,
    "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


def told(title: str, usage: Any, *tokens: int | None) -> Scenario:
    """A scenario in which a last chunk without choices has this usage."""
    payloads = [HEAD, TAIL, {"choices": [], "usage": usage}, "[DONE]"]
    return _counted(title, payloads, *tokens)


def _counted(title: str, payloads: list[Any], *tokens: int | None) -> Scenario:
    return Scenario("B2", title, [stream(*payloads)], text="Hello", tokens=tokens)


SCENARIOS = [
    told("a chunk without choices", USAGE, *COUNTED),
    _counted("beside the last choice", [HEAD, {**TAIL, "usage": USAGE}, "[DONE]"], *COUNTED),
    _counted(
        "in the choice itself",
        [HEAD, {"choices": [{**TAIL["choices"][0], "usage": USAGE}]}, "[DONE]"],
        *COUNTED,
    ),
    _counted(
        "on every chunk, and the last one counts",
        [{**HEAD, "usage": {**USAGE, "completion_tokens": 1}}, {**TAIL, "usage": USAGE}, "[DONE]"],
        *COUNTED,
    ),
    _counted(
        "null on every chunk but one", [{**HEAD, "usage": None}, {**TAIL, "usage": USAGE}, "[DONE]"], *COUNTED
    ),
    _counted(
        "null after it was told", [HEAD, {**TAIL, "usage": USAGE}, {"choices": [], "usage": None}], *COUNTED
    ),
    told(
        "null fields", {**USAGE, "prompt_tokens_details": None, "completion_tokens_details": None}, 9, 5, 0, 0
    ),
    told("null counts", {"prompt_tokens": None, "completion_tokens": 5}, None, 5, 0, 0),
    told(
        "below zero, beyond all columns, and no number",
        {"prompt_tokens": -3, "completion_tokens": 10**30, "cached_tokens": "4"},
        None,
        None,
        0,
        0,
    ),
    told("with fractions", {"prompt_tokens": 9.0, "completion_tokens": 5.0}, 9, 5, 0, 0),
    told(
        "DeepSeek's",
        {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "prompt_cache_hit_tokens": 4,
            "prompt_cache_miss_tokens": 5,
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        *COUNTED,
    ),
    told("Moonshot's", {"prompt_tokens": 9, "completion_tokens": 5, "cached_tokens": 4}, 9, 5, 4, 0),
    told(
        "OpenRouter's",
        {**USAGE, "cost": 0.95, "cost_details": {"upstream_inference_cost": 19}, "is_byok": False},
        *COUNTED,
    ),
    told(
        "Anthropic's by way of a proxy",
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 2,
            "output_tokens": 5,
        },
        11,
        5,
        4,
        0,
    ),
    told(
        "Gemini's, which counts thoughts in the total alone",
        {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 14},
        9,
        5,
        0,
        3,
    ),
    told(
        "the newer names",
        {
            "input_tokens": 9,
            "output_tokens": 5,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 3},
        },
        *COUNTED,
    ),
    Scenario("B2", "none at all is estimated", [stream(HEAD, TAIL, "[DONE]")], text="Hello"),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_usage(play: Play, scenario: Scenario) -> None:
    await play(scenario)
