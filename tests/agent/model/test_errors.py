"""Parsing endpoints' errors: too long requests, empty accounts, loading models."""

from __future__ import annotations

from typing import Any

import pytest

from chat.agent.model.errors import ErrorReport


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


# Status, body, and the tokens that the model's context has by it.
OVERFLOWS: dict[str, tuple[int, Any, int]] = {
    "OpenAI": (
        400,
        error(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 "
            "tokens.",
            code="context_length_exceeded",
        ),
        128000,
    ),
    "OpenAI, newer": (400, error("Your input exceeds the context window of this model."), 0),
    "Anthropic's form": (400, error("prompt is too long: 210000 tokens > 200000 maximum"), 200000),
    "Anthropic's form, with the reply": (
        400,
        error("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
        200000,
    ),
    "OpenRouter": (
        400,
        error("This endpoint's maximum context length is 131072 tokens. However, you requested about 140000"),
        131072,
    ),
    "a router's raw words": (
        400,
        error("Provider returned error", metadata={"raw": '{"error": {"message": "prompt is too long"}}'}),
        0,
    ),
    "vLLM": (
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        },
        4096,
    ),
    "llama.cpp": (
        400,
        error(
            "the request exceeds the available context size, try increasing it",
            type="exceed_context_size_error",
            n_prompt_tokens=9000,
            n_ctx=8192,
        ),
        8192,
    ),
    "llama.cpp, newer": (
        400,
        error("request (9000 tokens) exceeds the available context size (8192 tokens)"),
        8192,
    ),
    "Ollama": (400, error("the input length exceeds the context length"), 0),
    "LM Studio": (
        400,
        {
            "error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
            "loaded with context length of only 4096 tokens, which is not enough."
        },
        4096,
    ),
    "Gemini": (
        400,
        [error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")],
        1048576,
    ),
    "Mistral": (
        400,
        {
            "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
            "maximum context length"
        },
        32768,
    ),
    "Kimi": (400, error("Invalid request: Your request exceeded model token limit: 131072"), 131072),
    "Qwen": (
        400,
        error("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]"),
        98304,
    ),
    "xAI": (
        400,
        error("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        131072,
    ),
    "Groq": (
        413,
        error("Please reduce the length of the messages or completion.", code="context_length_exceeded"),
        0,
    ),
    "a limit by the minute": (
        429,
        error("Request too large for gpt-4o on tokens per min (TPM): Limit 10000, Requested 20000."),
        0,
    ),
    "a number with commas": (400, error("maximum context length is 128,000 tokens"), 128000),
    "text": (400, "prompt is too long", 0),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_a_request_that_is_too_long_is_known_by_the_endpoints_words(name: str) -> None:
    status, body, window = OVERFLOWS[name]
    report = ErrorReport.of(status, body)
    assert (report.kind, report.window) == ("overflow", window)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            error(
                "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context "
                "length is 4096 tokens and your request has 100 input tokens."
            ),
        ),
        (400, error("max_tokens must be at most 4096")),
        (
            400,
            {
                "detail": [
                    {"loc": ["body", "messages"], "msg": "Field required", "input": "prompt is too long"}
                ]
            },
        ),
        (429, error("Rate limit reached")),
    ],
)
def test_other_complaints_are_not_that(status: int, body: Any) -> None:
    assert ErrorReport.of(status, body).kind == ""


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, error("You exceeded your current quota", code="insufficient_quota"), "no_credit"),
        (402, error("Insufficient Balance"), "no_credit"),
        (402, "", "no_credit"),
        (403, error("insufficient_balance"), "no_credit"),
        (503, error("Loading model", type="unavailable_error", code=503), "loading"),
        (503, error("Overloaded"), ""),
        (400, error("does not support tools"), "no_tools"),
        (400, error("tool_choice is not supported"), ""),
    ],
)
def test_kinds(status: int, body: Any, kind: str) -> None:
    assert ErrorReport.of(status, body).kind == kind


def test_what_it_names_as_wrong() -> None:
    fault = {"loc": ["body", "tools", 0, "function", "strict"], "msg": "Extra inputs are not permitted"}
    assert ErrorReport.of(422, {"detail": [fault]}).params == ("tools.0.function.strict",)
    assert ErrorReport.of(400, error("no", param="temperature")).params == ("temperature",)


def test_an_error_of_any_size_and_depth_is_read() -> None:
    deep: Any = "x"
    for _ in range(2000):
        deep = {"error": deep}
    assert ErrorReport.of(400, deep).kind == ""
    assert len(ErrorReport.of(400, ["x" * 1000] * 1000).text) <= 8192
    assert ErrorReport.of(400, "[" * 100_000).kind == ""
