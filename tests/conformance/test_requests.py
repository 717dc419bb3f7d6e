"""Requests that an endpoint refuses for their form, and what is made of its errors (A11, D1 to D8)."""

from __future__ import annotations

from typing import Any

import pytest

from chat.demo.reply import Reply
from tests.conformance.conftest import Play
from tests.conformance.scenario import (
    FILE_TEXT,
    OTHER_TEXT,
    Call,
    Scenario,
    call,
    piece,
    refusal,
    said,
    stream,
    text,
)

ONE = [Call(result="Created a.txt")]
WHOLE = piece(FILE_TEXT, "write_file", index=0, id="functions.write_file:0")
CALLED = said(call(WHOLE), finish="tool_calls")
HELLO = said(*text("Hello"))
MAX_TOKENS = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
MAX_COMPLETION = {
    "detail": [
        {
            "type": "extra_forbidden",
            "loc": ["body", "max_completion_tokens"],
            "msg": "Extra inputs are not permitted",
        }
    ]
}
NINE = "Tool call id was functions.write_file:0 but must be a-z, A-Z, 0-9, with a length of 9."
ALTERNATE = (
    "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
)


def learns(row: str, title: str, error: Any, status: int = 400, **expected: Any) -> Scenario:
    """A scenario in which the first request is refused, and a second one, made to fit, is answered."""
    message = {"error": {"message": error}} if isinstance(error, str) else error
    return Scenario(row, title, [refusal(message, status), HELLO], text="Hello", asks=2, **expected)


def fails(row: str, title: str, reply: Reply, sentence: str, asks: int = 1, **expected: Any) -> Scenario:
    """A scenario in which the turn fails with a sentence."""
    return Scenario(row, title, [reply] * asks, status="failed", sentence=sentence, asks=asks, **expected)


SCENARIOS = [
    Scenario(
        "A11",
        "ids of nine letters and digits are demanded",
        [CALLED, refusal({"object": "error", "message": NINE})],
        calls=ONE,
        learned={"id_style": "alnum9"},
        asks=3,
    ),
    Scenario(
        "D1",
        "no longest reply unless one is wished for",
        [HELLO],
        text="Hello",
        sent={1: {"max_tokens": None, "max_completion_tokens": None}},
    ),
    learns(
        "D1",
        "max_tokens is refused",
        MAX_TOKENS,
        profile={"max_output_tokens": 50},
        sent={
            1: {"max_tokens": 50, "max_completion_tokens": None},
            2: {"max_tokens": None, "max_completion_tokens": 50},
            3: {"max_completion_tokens": 50},
        },
        learned={"max_tokens_param": "max_completion_tokens"},
    ),
    learns(
        "D1",
        "max_completion_tokens is refused",
        MAX_COMPLETION,
        422,
        profile={"max_output_tokens": 50},
        traits={"max_tokens_param": "max_completion_tokens"},
        sent={2: {"max_tokens": 50, "max_completion_tokens": None}},
        learned={"max_tokens_param": "max_tokens"},
    ),
    learns("D2", "the system role is refused", "System role not supported", learned={"system_role": "user"}),
    learns("D2", "roles must alternate", ALTERNATE, learned={"alternate": True}),
    learns(
        "D3",
        "stream_options are refused",
        "Unknown parameter: 'stream_options'.",
        sent={
            1: {"stream_options": {"include_usage": True}},
            2: {"stream_options": None},
            3: {"stream_options": None},
        },
        learned={"drop_params": ["stream_options"]},
    ),
    learns(
        "D3",
        "the temperature is refused",
        "Unsupported value: 'temperature' does not support 0.2. Only the default (1) is.",
        profile={"temperature": 0.2},
        sent={1: {"temperature": 0.2}, 2: {"temperature": None}, 3: {"temperature": None}},
        learned={"drop_params": ["temperature"]},
    ),
    fails(
        "D3",
        "a parameter that is not ours is refused, and nobody asks twice",
        refusal({"error": {"message": "Unknown parameter: 'frobnicate'."}}),
        "frobnicate",
    ),
    *(
        fails(
            "D4",
            title,
            refusal({"error": {"message": message}}, status),
            "cannot call tools",
            learned={"tools": False},
            sent={2: {"tools": None}},
        )
        for title, message, status in (
            (
                "Ollama's model without tools",
                "registry.ollama.ai/library/gemma:2b does not support tools",
                400,
            ),
            ("llama.cpp without templates", "tools param requires --jinja flag", 500),
            ("a parameter called tools", "Unsupported param: tools", 400),
        )
    ),
    learns(
        "D5",
        "a schema is too much",
        "Invalid schema for function 'write_file': 'additionalProperties' is not supported",
        learned={"simple_schemas": True},
    ),
    Scenario(
        "D6",
        "arguments of a call without any go back as an object",
        [said(call(piece("", "TodoWrite", index=0, id="c1")), finish="tool_calls")],
        calls=[Call("TodoWrite", {}, "failed")],
    ),
    Scenario(
        "D7",
        "a turn that failed between its calls",
        [
            said(call(WHOLE, piece(OTHER_TEXT[:9], "write_file", index=1, id="c2")), finish="tool_calls"),
            refusal("no", 400),
        ],
        calls=[*ONE, Call(arguments={}, status="failed", result="not valid JSON")],
        status="failed",
        sentence="refused the request",
        asks=2,
    ),
    Scenario(
        "D7",
        "a result at the end, and then the person",
        [CALLED, refusal("gone", 400)],
        calls=ONE,
        status="failed",
        sentence="gone",
        traits={"user_after_tool": False},
        asks=2,
    ),
    fails("D8", "plain text", refusal("model is on holiday"), "model is on holiday"),
    fails("D8", "a string as the error", refusal({"error": "on holiday"}), "on holiday"),
    fails(
        "D8", "details", refusal({"detail": [{"loc": ["body", "x"], "msg": "on holiday"}]}, 422), "on holiday"
    ),
    fails(
        "D8",
        "a list, as Gemini has it",
        refusal([{"error": {"code": 400, "message": "on holiday"}}]),
        "on holiday",
    ),
    fails(
        "D8",
        "a web page",
        refusal("<html><title>On holiday</title></html>"),
        "refused the request (HTTP 400)",
    ),
    fails("D8", "no UTF-8", refusal(b"\xff\xfeon holiday"), "on holiday"),
    fails("D8", "nothing", refusal(""), "refused the request (HTTP 400)"),
    fails("D8", "without end", refusal("on holiday " * 100_000), "on holiday on holiday"),
    fails(
        "D8",
        "the key is not told on",
        refusal({"error": {"message": "key sk-tests-0123456789 is bad"}}, 401),
        "key *** is bad",
        hides=["sk-tests"],
    ),
    fails(
        "D9",
        "too many requests",
        refusal({"error": "slow"}, 429, retry_after="0"),
        "limiting requests",
        asks=3,
    ),
    fails(
        "D9",
        "too many requests for an hour",
        refusal({"error": "slow"}, 429, retry_after="3600"),
        "wait 3600 seconds",
    ),
    fails(
        "D9",
        "a date in the past",
        refusal("", 503, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
        "failed (HTTP 503)",
        asks=3,
    ),
    fails("D9", "overloaded", refusal({"error": {"message": "Overloaded"}}, 529), "Overloaded", asks=3),
    Scenario(
        "D9",
        "the model is being loaded",
        [*[refusal({"error": {"message": "Loading model"}}, 503, retry_after="0")] * 3, HELLO],
        text="Hello",
        asks=4,
    ),
    fails(
        "D9",
        "no credit left",
        refusal({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, 429),
        "no credit",
    ),
    Scenario(
        "D9",
        "too many requests, and then an answer",
        [refusal("", 429, retry_after="0"), HELLO],
        text="Hello",
        asks=2,
    ),
    Scenario("D10", "the address has no /v1", [HELLO], text="Hello", at=""),
    Scenario("D10", "the address ends with a slash", [HELLO], text="Hello", at="/v1/"),
    Scenario("D10", "the address is that of the call", [HELLO], text="Hello", at="/v1/chat/completions"),
    Scenario("D10", "the address has a query", [HELLO], text="Hello", at="/v1?api-version=2"),
    Scenario("D10", "the address has a path of its own", [HELLO], text="Hello", at="/openai/deployments/x"),
    fails("D10", "another place", stream({"object": "list", "data": []}), "is not a chat completion"),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_requests(play: Play, scenario: Scenario) -> None:
    await play(scenario)
