"""Endpoints' own words for a request that is longer than the model's context."""

from __future__ import annotations

import re

_OVERFLOW = re.compile(
    "|".join(
        (
            r"context[_ ]length[_ ]exceeded|maximum context length",  # OpenAI, DeepSeek, OpenRouter, vLLM
            r"exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context",  # OpenAI's newer words, vLLM
            r"longer than the maximum model length",  # vLLM
            r"exceed_context_size|exceeds? the available context",  # llama.cpp
            r"tokens to keep from the initial prompt|when context the overflows|when the context overflows",
            r"context length of only|greater than the context length",  # LM Studio
            r"input length exceeds the context|exceed\w* max context",  # Ollama
            r"prompt is too long|exceed context limit|input is too long for",  # Anthropic's, Bedrock
            r"input token count.{0,40}exceeds",  # Gemini
            r"maximum prompt length is",  # xAI
            r"prompt contains \d+ tokens.{0,60}too large",  # Mistral
            r"exceeded model token limit",  # Kimi
            r"range of input length should be",  # Qwen
            r"context window exceeds",  # MiniMax
            r"prompt token count.{0,40}exceeds the limit",  # Copilot
            r"must be <= \d+\. given: \d+ `?inputs",  # TGI
            r"request too large for|reduce the length of the (?:messages|prompt)",  # Groq
        )
    )
)
# The longest reply that was asked for is the one thing that is too long.
_REPLY_TOO_LONG = re.compile(r"max_(?:completion_|new_)?tokens['\"`]?.{0,40}(?:too large|must be|at most)")

_WINDOWS = tuple(
    re.compile(pattern)
    for pattern in (
        r"maximum (?:context|prompt|model) length (?:is|of) (\d+)",
        r"with (\d+) maximum context",
        r"maximum number of tokens allowed \((\d+)\)",
        r"> (\d+) maximum",
        r"available context size \((\d+)",
        r"range of input length should be \[\d+, (\d+)\]",
        r"(?:token limit:?|context length of only|exceeds the limit of|context limit: [\d +]+>) (\d+)",
        r"n_ctx:? (\d+)",
    )
)
_SANE = range(256, 10**8)


def overflows(said: str) -> bool:
    """Whether the words, in lower case, say that the request is too long for the model."""
    return bool(_OVERFLOW.search(said)) and not _REPLY_TOO_LONG.search(said)


def window_in(said: str) -> int:
    """How many tokens the model's context has by these words; 0 where they do not tell."""
    found = [int(match[1]) for each in _WINDOWS if (match := each.search(said))]
    return next((tokens for tokens in found if tokens in _SANE), 0)
