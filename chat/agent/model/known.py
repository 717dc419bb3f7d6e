"""What is known of endpoints and models by their names. Who they meet and what they learn comes on top."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from chat.agent.model.traits import Traits

OPENAI = "https://api.openai.com/v1"

Known = tuple[str, str, Mapping[str, Any]]

# Host, with a dot ahead, and model as regular expressions that must be found in them; later rows win.
_KNOWN: tuple[Known, ...] = (
    # By the model alone, wherever it is served.
    ("", r"gpt-3\.5", {"context_window": 16_385, "images": False}),
    ("", r"gpt-4o|gpt-4-turbo", {"context_window": 128_000}),
    ("", r"gpt-4\.1", {"context_window": 1_047_576}),
    ("", r"gpt-5", {"context_window": 400_000}),
    ("", r"gpt-oss", {"context_window": 131_072, "images": False}),
    ("", r"\bo[134](-|$)", {"context_window": 200_000}),
    ("", r"claude", {"context_window": 200_000}),
    ("", r"gemini", {"context_window": 1_048_576}),
    ("", r"deepseek(?!.*(vl|ocr))", {"context_window": 128_000, "images": False}),
    ("", r"deepseek-v4", {"context_window": 1_000_000}),
    ("", r"(moonshot|kimi-k2)(?!.*vision)", {"images": False}),
    ("", r"kimi-k2(\.\d|-0905|-thinking|-turbo)", {"context_window": 262_144}),
    ("", r"kimi-k2\.\d", {"images": True}),
    ("", r"mistral-(large|medium|small)", {"context_window": 128_000}),
    # By the host.
    (r"^\.demo$", "", {"images": False}),
    (r"\.api\.openai\.com$|\.azure\.com$", "", {"max_tokens_param": "max_completion_tokens"}),
    (r"\.api\.openai\.com$|\.azure\.com$", r"^(o[134](-|$)|gpt-5)", {"silence": 600}),
    (r"\.deepseek\.com$", r"reasoner|v3\.2|v4", {"echo_reasoning": "calls", "silence": 300}),
    (r"\.moonshot\.(ai|cn)$|\.kimi\.com$", "kimi", {"id_style": "functions"}),
    (r"\.moonshot\.(ai|cn)$|\.kimi\.com$", r"thinking|k2\.\d|k[3-9]", {"echo_reasoning": "calls"}),
    (r"\.mistral\.ai$", "", {"id_style": "alnum9", "user_after_tool": False, "forbid_reasoning": True}),
    (r"\.mistral\.ai$", "", {"drop_params": ["stream_options"]}),
    (r"\.googleapis\.com$", "", {"simple_schemas": True}),
    (r"\.googleapis\.com$", r"gemini-3", {"thought_signature": True}),
    (r"\.googleapis\.com$", r"gemma", {"system_role": "user", "tools": False}),
    (r"\.openrouter\.ai$", "", {"silence": 300}),
)
# A server on one's own machine may have to load the model first, and reads a long request for minutes.
_OWN_MACHINE = Traits(first_byte=600)


def known_traits(base_url: str | None, model: str) -> Traits:
    """The traits of the model at the endpoint, as far as its host and its name tell.

    Without `base_url` it is OpenAI's, or where the environment of the `openai` package points.
    """
    host = _host(base_url)
    traits = _OWN_MACHINE if is_local(base_url) else Traits()
    for at, called, changes in _KNOWN:
        if re.search(at, f".{host}") and re.search(called, model.lower()):
            traits = traits.but(changes)
    return traits


def is_local(base_url: str | None) -> bool:
    """Whether the endpoint is on this machine or in its network, as far as its address tells."""
    host = _host(base_url)
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))


def _host(base_url: str | None) -> str:
    return (urlsplit(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).hostname or "").lower()
