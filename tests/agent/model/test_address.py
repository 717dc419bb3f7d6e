"""Addresses as users paste them."""

from __future__ import annotations

import pytest

from chat.agent.model.address import Address


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://api.example/v1", "https://api.example/v1"),
        (" https://api.example/v1/ ", "https://api.example/v1"),
        ("https://api.example", "https://api.example/v1"),
        ("https://API.Example/", "https://api.example/v1"),
        ("https://api.example/v1/chat/completions", "https://api.example/v1"),
        ("https://api.example/chat/completions", "https://api.example/v1"),
        ("https://api.example/v1/models/", "https://api.example/v1"),
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1"),
        (
            "https://generativelanguage.googleapis.com",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        (
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
        ),
        ("https://x.openai.azure.com", "https://x.openai.azure.com/openai/v1"),
        ("https://api.example/Deep/Path#here", "https://api.example/Deep/Path"),
    ],
)
def test_one_form_for_all(given: str, base: str) -> None:
    assert Address.of(given).base == base
    assert Address.of(base) == Address.of(given)


def test_a_query_goes_along() -> None:
    given = "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21&b="
    address = Address.of(given)
    assert address.base == "https://x.openai.azure.com/openai/deployments/d"
    assert address.query == (("api-version", "2024-10-21"), ("b", ""))
    assert address.is_azure


@pytest.mark.parametrize(
    "given",
    [
        "",
        "api.example/v1",
        "ftp://api.example",
        "https://",
        "https://[broken",
        "https://a:b@c/v1",
        "http://h:x/",
        "http://①②⑦.0.0.1",
        "http://a\nb/\x00",
    ],
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        Address.of(given)


def test_its_origin_is_what_a_key_is_bound_to() -> None:
    assert Address.of("https://API.example:8443/v1?a=b").origin == "https://api.example:8443"
