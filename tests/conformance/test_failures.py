"""Answers that are none, and replies that end before their end (B8 to B11). What was said until then stays,
and the turn is failed with a sentence that helps: never "completed"."""

from __future__ import annotations

from typing import Any

import pytest

from chat.demo.reply import Reply, chunk, sse
from tests.conformance.conftest import Play
from tests.conformance.scenario import DONE, FILE_TEXT, Call, Scenario, call, piece, raw, said, stream

PART = chunk({"content": "Half of"})
START = sse(PART)[0]
GONE = "reported an error while it answered"
CUT = "ended before the reply was complete"
NO_CHAT = "is not a chat completion"
JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = b"<!doctype html>\n<html><head><title>Sign in &amp; go on</title></head>\n<body>data: 1</body></html>"


def broken(row: str, title: str, reply: Reply, sentence: str, **expected: Any) -> Scenario:
    """A scenario in which half of a reply came, and stays."""
    expected = {"text": "Half of", "asks": 1, **expected}
    return Scenario(row, title, [reply], status="failed", sentence=sentence, **expected)


def none(row: str, title: str, reply: Reply, sentence: str, asks: int = 1) -> Scenario:
    """A scenario in which nothing of a reply came; an answer of nothing is asked for again."""
    sends = [reply] * asks
    return Scenario(row, title, sends, status="failed", sentence=sentence, shows=["Retry"], asks=asks)


SCENARIOS = [
    broken(
        "B8", "a dict", stream(PART, {"error": {"message": "out of memory", "code": 500}}), "out of memory"
    ),
    broken("B8", "a string", stream(PART, {"error": "out of memory"}), "out of memory"),
    broken("B8", "an error, then [DONE]", stream(PART, {"error": {"message": "gone"}}, "[DONE]"), GONE),
    broken(
        "B8",
        "event: error with an object",
        raw(START, b'event: error\ndata: {"message": "overloaded", "type": "overloaded_error"}\n\n'),
        "overloaded",
    ),
    broken(
        "B8", "event: error with plain text", raw(START, b"event: error\ndata: gone away\n\n"), "gone away"
    ),
    broken(
        "B8",
        "event: error with an error",
        raw(START, b'event:error\ndata:{"error":"gone away"}\n\n'),
        "gone away",
    ),
    broken(
        "B8", "type: error", stream(PART, {"type": "error", "error": {"message": "gone away"}}), "gone away"
    ),
    broken("B8", "object: error", stream(PART, {"object": "error", "message": "gone away"}), "gone away"),
    broken("B8", "the finish reason is error", stream(PART, chunk({}, "error"), "[DONE]"), GONE),
    broken(
        "B8",
        "the finish reason is error, and its choice says why",
        stream(
            PART,
            {
                "choices": [
                    {"delta": {}, "finish_reason": "error", "error": {"code": 502, "message": "gone away"}}
                ]
            },
        ),
        "gone away",
    ),
    broken(
        "B8",
        "a router's error has that of the endpoint behind it",
        stream(
            PART,
            {
                "error": {
                    "message": "Provider returned error",
                    "metadata": {"raw": '{"error":{"message":"prompt too long"}}'},
                }
            },
        ),
        "Provider returned error prompt too long",
    ),
    broken(
        "B8", "bare JSON among the events", raw(START, b'{"error": {"message": "gone away"}}\n'), "gone away"
    ),
    broken("B8", "a detail", stream(PART, {"detail": [{"loc": ["body"], "msg": "gone away"}]}), "gone away"),
    broken(
        "B8",
        "the key in the error is not told on",
        stream(PART, {"error": "bad key sk-tests-0123456789"}),
        "bad key ***",
        hides=["sk-tests"],
    ),
    broken(
        "B8",
        "markup in the error is text",
        stream(PART, {"error": "<b>gone</b> <script>away()</script>"}),
        GONE,
        hides=["<script>", "<b>gone"],
    ),
    Scenario(
        "B8",
        "in the middle of a call, which then does not run",
        [
            stream(
                chunk(call(piece(FILE_TEXT, "write_file", index=0, id="c1"))),
                {"error": {"message": "gone away"}},
            )
        ],
        status="failed",
        sentence="gone away",
        hides=["a.txt"],
        asks=1,
    ),
    none("B8", "before anything was said", stream({"error": {"message": "gone away"}}), "gone away"),
    none("B9", "a sign-in page", raw(PAGE, headers=HTML), "Sign in & go on"),
    none("B9", "a sign-in page that claims to be an event stream", raw(PAGE), "Sign in & go on"),
    none("B9", "a page without a title", raw(b"<html>hello</html>", headers=HTML), "a web page"),
    none("B9", "plain text", raw(b"upstream connect error\n"), '("upstream connect error")'),
    none("B9", "broken JSON", raw(b'{"id": "x", "choices": [{"del'), "(text that is not JSON)"),
    none("B9", "code", raw(b"<?php $key = 'abc'; ?>"), "(a web page)"),
    none("B9", "bytes", raw(b"\x00\x01{}%$#"), "(text that is not JSON)"),
    none("B9", "an error as JSON", raw(b'{"error": {"message": "no quota"}}', headers=JSON), "no quota"),
    none(
        "B9",
        "an error as JSON that claims to be an event stream",
        raw(b'{"error":\n "no quota"}'),
        "no quota",
    ),
    none(
        "B9", "a detail as JSON", raw(b'{"detail": "Not authenticated"}', headers=JSON), "Not authenticated"
    ),
    none("B9", "another kind of JSON", raw(b'{"status": "ok"}', headers=JSON), "(JSON of another kind)"),
    none("B9", "JSON that is no object", raw(b'["a"]', headers=JSON), NO_CHAT),
    none("B9", "the answer of another API", stream({"model": "x", "message": {"content": "Hi"}}), NO_CHAT),
    none("B9", "nothing", raw(), "answered with nothing", asks=3),
    none("B9", "nothing, with a header of JSON", raw(headers=JSON), "answered with nothing", asks=3),
    none("B9", "nothing but comments", raw(b": ping\n\n", b": ping\n\n"), "answered with nothing", asks=3),
    none("B9", "nothing but [DONE]", raw(*DONE), "answered with nothing", asks=3),
    none(
        "B9",
        "nothing but usage",
        stream({"choices": [], "usage": {"prompt_tokens": 1}}),
        "with nothing",
        asks=3,
    ),
    Scenario(
        "B9",
        "a completion as JSON is one, whatever its header says",
        [raw(b'{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}')],
        text="Hello",
    ),
    Scenario(
        "B9",
        "nothing at first, and a reply the second time",
        [raw(), said({"content": "Hello"})],
        text="Hello",
        asks=2,
    ),
    broken("B10", "the stream ends", raw(START), CUT),
    broken("B10", "the connection breaks", Reply(raw=[START, START], cut_after=1, broken=True), CUT),
    broken(
        "B10", "half of an event", raw(START, b'data: {"choices": [{"delta": {"content": "the r'), NO_CHAT
    ),
    broken("B10", "half of a field's name", raw(START, b"dat"), CUT),
    broken(
        "B10",
        "half of a character",
        raw(START, 'data: {"choices": [{"delta": {"content": "ü'.encode()[:-1]),
        NO_CHAT,
    ),
    Scenario(
        "B10",
        "in the middle of a call, which then does not run",
        [stream(chunk(call(piece(FILE_TEXT, "write_file", index=0, id="c1"))))] * 3,
        status="failed",
        sentence=CUT,
        hides=["a.txt"],
        asks=3,
    ),
    Scenario(
        "B10",
        "before anything was said, and a reply the second time",
        [Reply(raw=[b": ping\n\n", START], cut_after=1, broken=True), said({"content": "Hello"})],
        text="Hello",
        asks=2,
    ),
    Scenario(
        "B10",
        "after calls of an earlier step, which stay",
        [said(call(piece(FILE_TEXT, "write_file", index=0, id="c1")), finish="tool_calls"), raw(START)],
        calls=[Call()],
        status="failed",
        sentence=CUT,
        shows=["a.txt", "Half of"],
        asks=2,
    ),
    broken("B11", "invalid JSON", raw(START, b"data: {broken\n\n"), NO_CHAT),
    broken("B11", "no JSON at all", raw(START, b"data: internal server error\n\n"), "internal server error"),
    broken("B11", "another kind of JSON", raw(START, b"data: [1]\n\n"), NO_CHAT),
    broken("B11", "100,000 levels", raw(START, b"data: " + b"[" * 100_000 + b"\n\n"), NO_CHAT),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_failures(play: Play, scenario: Scenario) -> None:
    await play(scenario)
