"""Chunks and events as they come over the wire (B1 to B7, B12)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import pytest

from chat.agent.model.assembly import MAX_REPLY
from chat.demo.reply import Reply, chunk, sse
from tests.conformance.conftest import Play
from tests.conformance.scenario import DONE, Call, Scenario, call, piece, raw, said, stream, text

HELLO = sse(chunk({"content": "Hel"}), chunk({"content": "lo 你好 🎈"}), chunk({}, "stop"))
BYTES = b"".join([*HELLO, *DONE])
MANY = 30_000
FILLER = "x" * 1024


def hello(row: str, title: str, *parts: bytes) -> Scenario:
    """A scenario in which a stream of these bytes says hello."""
    return Scenario(row, title, [raw(*parts)], text="Hello 你好 🎈")


def chunks(row: str, title: str, *payloads: dict | str) -> Scenario:
    """A scenario in which chunks around the text of "Hello" change nothing."""
    return Scenario(row, title, [stream(*payloads)], text="Hello")


class Endless(Iterable[bytes]):
    """Delta after delta: each is what `delta` makes of its number."""

    def __init__(self, delta: Callable[[int], dict]) -> None:
        self.delta = delta

    def __iter__(self) -> Iterator[bytes]:
        return (sse(chunk(self.delta(number)))[0] for number in itertools.count())


HEAD, TAIL = chunk({"content": "Hello"}), chunk({}, "stop")
FILTER = {"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}

SCENARIOS = [
    chunks("B1", "a content filter's chunk without choices comes first", FILTER, HEAD, TAIL, "[DONE]"),
    chunks("B3", "choices are null", {"choices": None, "id": "x"}, HEAD, TAIL, "[DONE]"),
    chunks(
        "B3", "there are no choices", {"id": "x", "object": "chat.completion.chunk"}, HEAD, TAIL, "[DONE]"
    ),
    chunks("B3", "the delta is null", {"choices": [{"index": 0, "delta": None}]}, HEAD, TAIL, "[DONE]"),
    chunks("B3", "a choice is null", {"choices": [None]}, HEAD, TAIL, "[DONE]"),
    chunks("B3", "keys that nobody knows", {**HEAD, "p": "abc", "x": {"y": [1]}}, TAIL, "[DONE]"),
    chunks(
        "B3", "the id is a number and the time is none", {**HEAD, "id": 7, "created": 1.5}, TAIL, "[DONE]"
    ),
    chunks(
        "B3",
        "the choice is numbered 1",
        {"choices": [{"index": 1, "delta": {"content": "Hello"}, "finish_reason": "stop"}]},
        "[DONE]",
    ),
    chunks(
        "B3",
        "a second choice, which nobody asked for",
        HEAD,
        {"choices": [{"index": 1, "delta": {"content": "Other"}, "finish_reason": None}]},
        TAIL,
        "[DONE]",
    ),
    chunks(
        "B3",
        "a second choice, which comes first",
        {"choices": [{"index": 1, "delta": {"content": "Other"}, "finish_reason": None}]},
        HEAD,
        {"choices": [{"index": 1, "delta": {"content": " text"}, "finish_reason": "stop"}]},
        TAIL,
        "[DONE]",
    ),
    chunks(
        "B3",
        "two choices in each chunk, the second one first",
        {"choices": [{"index": 1, "delta": {"content": "Other"}}, {"index": 0, "delta": {"content": "Hel"}}]},
        {"choices": [{"index": 1, "delta": {"content": " text"}}, {"index": 0, "delta": {"content": "lo"}}]},
        {"choices": [{"index": 1, "finish_reason": "stop"}, {"index": 0, "finish_reason": "stop"}]},
        "[DONE]",
    ),
    chunks(
        "B3",
        "the only choice is numbered 1, and does not say why it ends",
        {"choices": [{"index": 1, "delta": {"content": "Hel"}}]},
        {"choices": [{"index": 1, "delta": {"content": "lo"}}]},
        "[DONE]",
    ),
    chunks(
        "B3",
        "the whole message once more at the end",
        HEAD,
        {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]},
        "[DONE]",
    ),
    hello("B4", "comments", b": OPENROUTER PROCESSING\n\n", HELLO[0], b": ping\n\n", *HELLO[1:], *DONE),
    hello("B4", "CRLF", BYTES.replace(b"\n", b"\r\n")),
    hello("B4", "CR", BYTES.replace(b"\n", b"\r")),
    hello("B4", "no space after the colon", BYTES.replace(b"data: ", b"data:")),
    hello("B4", "data of several lines", BYTES.replace(b', "choices"', b',\ndata:  "choices"')),
    hello(
        "B4", "names, ids and pauses", BYTES.replace(b"data: ", b"event: message\nid: 1\nretry: 5\ndata: ")
    ),
    hello("B5", "a byte order mark", b"\xef\xbb\xbf" + BYTES),
    hello("B5", "a byte order mark in pieces", b"\xef", b"\xbb\xbf", BYTES),
    Scenario(
        "B5",
        "a byte order mark before a whole answer",
        [raw(b'\xef\xbb\xbf{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}')],
        text="Hello",
    ),
    hello("B6", "one byte at a time", *(bytes([byte]) for byte in BYTES)),
    hello("B6", "all at once", BYTES),
    hello("B7", "no [DONE]", *HELLO),
    hello("B7", "no [DONE] and no last empty line", b"".join(HELLO).rstrip(b"\n")),
    hello("B7", "data after [DONE]", *HELLO, *DONE, *sse(chunk({"content": "More"}))),
    hello("B7", "an error after [DONE]", *HELLO, *DONE, *sse({"error": {"message": "late"}})),
    Scenario(
        "B12", "8 MiB at once", [said({"content": "x" * 8 * 1024 * 1024})], status="failed", sentence="grew"
    ),
    Scenario("B12", "1 MiB at once", [said({"content": FILLER * 1000})], text=FILLER * 1000, shows=[FILLER]),
    Scenario("B12", "30,000 tiny deltas", [said(*text("a ") * MANY)], text="a " * MANY, shows=["a a a a"]),
    Scenario(
        "B12",
        "30,000 tiny pieces of one call",
        [
            said(
                call(piece('{"path": "a.txt", "content": "', "write_file", index=0, id="c1")),
                *[call(piece("ab", index=0))] * MANY,
                call(piece('"}', index=0)),
                finish="tool_calls",
            )
        ],
        calls=[Call(arguments={"path": "a.txt", "content": "ab" * MANY}, result="Created a.txt")],
    ),
    Scenario(
        "B12",
        "text without end",
        [Reply(raw=Endless(lambda _: {"content": FILLER}))],
        text=FILLER * (MAX_REPLY // 1024),
        status="failed",
        sentence="grew beyond 1048576 characters",
        shows=[FILLER],
        asks=1,
    ),
    Scenario(
        "B12",
        "arguments without end",
        [Reply(raw=Endless(lambda _: call(piece(FILLER, "write_file", index=0, id="c1"))))],
        status="failed",
        sentence="grew beyond 1048576 characters",
        asks=1,
    ),
    Scenario(
        "B12",
        "calls without end",
        [Reply(raw=Endless(lambda n: call(piece("{}", "write_file", id=str(n)))))],
        status="failed",
        sentence="more than 256 tool calls",
        asks=1,
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_framing(play: Play, scenario: Scenario) -> None:
    await play(scenario)
