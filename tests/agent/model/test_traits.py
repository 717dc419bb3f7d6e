"""Traits in settings, and those known by host and name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from chat.agent.model import Traits, known_traits


def test_traits_survive_being_written_down() -> None:
    traits = Traits(echo_reasoning="calls", drop_params=("temperature",), context_window=8192, silence=30)
    assert Traits.from_dict(traits.as_dict()) == traits
    assert Traits.from_dict(traits.changes()) == traits
    assert traits.changes() == {
        "echo_reasoning": "calls",
        "drop_params": ["temperature"],
        "context_window": 8192,
        "silence": 30.0,
    }


def test_what_nobody_knows_is_passed_over() -> None:
    assert Traits.from_dict({"colour": "blue", "tools": False}) == Traits(tools=False)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tools": "yes"}, "tools must be true or false, not 'yes'."),
        ({"tools": 1}, "tools must be true or false, not 1."),
        ({"id_style": "uuid"}, 'id_style must be one of "native", "alnum9", "functions", not \'uuid\'.'),
        ({"drop_params": "temperature"}, "drop_params must be a list of names, not 'temperature'."),
        ({"drop_params": [1]}, "drop_params must be a list of names, not [1]."),
        ({"context_window": -1}, "context_window must be a whole number from 0, not -1."),
        ({"context_window": 1.5}, "context_window must be a whole number from 0, not 1.5."),
        ({"context_window": True}, "context_window must be a whole number from 0, not True."),
        ({"context_window": float("nan")}, "context_window must be a whole number from 0, not nan."),
        ({"silence": "long"}, "silence must be a number from 0, not 'long'."),
        ({"reasoning_field": ""}, "reasoning_field must be a name, not ''."),
        (
            {"max_tokens_param": []},
            'max_tokens_param must be one of "", "max_tokens", "max_completion_tokens", not [].',
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        Traits.from_dict(given)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("base_url", "model", "changes"),
    [
        ("https://unknown.example/v1", "unknown", {}),
        (
            "https://api.openai.com/v1",
            "gpt-5-mini",
            {"max_tokens_param": "max_completion_tokens", "silence": 600.0},
        ),
        ("https://x.openai.azure.com/openai/v1", "mine", {"max_tokens_param": "max_completion_tokens"}),
        ("https://api.deepseek.com", "deepseek-v4-pro", {"echo_reasoning": "calls", "images": False}),
        (
            "https://api.moonshot.ai/v1",
            "kimi-k2-thinking",
            {"echo_reasoning": "calls", "id_style": "functions"},
        ),
        (
            "https://api.mistral.ai/v1",
            "mistral-large-latest",
            {"id_style": "alnum9", "user_after_tool": False},
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-3-pro",
            {"thought_signature": True, "simple_schemas": True},
        ),
        (
            "https://openrouter.ai/api/v1",
            "google/gemini-3-pro",
            {"context_window": 1_048_576, "silence": 300.0},
        ),
        ("http://localhost:11434/v1", "qwen3:8b", {"first_byte": 600.0}),
        ("http://192.168.1.5:8080/v1", "local", {"first_byte": 600.0}),
        ("http://vllm:8000/v1", "local", {"first_byte": 600.0}),
    ],
)
def test_what_is_known_by_host_and_name(base_url: str, model: str, changes: dict[str, Any]) -> None:
    found = known_traits(base_url, model).changes()
    assert {name: found.get(name) for name in changes} == changes


def test_a_host_that_only_ends_alike_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_traits("https://api.openai.com.example/v1", "mine") == Traits()
    assert known_traits("https://notmistral.ai/v1", "mine") == Traits()


def test_without_an_address_it_is_where_the_environment_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert known_traits(None, "mine").max_tokens_param == "max_completion_tokens"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.mistral.ai/v1")
    assert known_traits(None, "mine").id_style == "alnum9"


def test_what_is_learned_and_what_is_set_come_on_top() -> None:
    shipped = known_traits("https://api.mistral.ai/v1", "mine")
    assert shipped.but({"user_after_tool": True}).but({"tools": False}).changes()["tools"] is False


def test_the_documentation_names_every_trait_and_its_default() -> None:
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))
    usual = Traits().as_dict()
    assert list(told) == list(usual)
    assert told == {name: _written(value) for name, value in usual.items()}


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"`{each}`" for each in value) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"
