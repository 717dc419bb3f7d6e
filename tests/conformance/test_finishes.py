"""Why a reply ended, as endpoints say it, and what stands beside the calls (A12 to A15, A17)."""

from __future__ import annotations

import pytest

from chat.demo.reply import Reply, chunk
from tests.conformance.conftest import Play
from tests.conformance.scenario import FILE_TEXT, Call, Scenario, call, piece, said, stream, text

ONE = [Call(result="Created a.txt")]
WHOLE = call(piece(FILE_TEXT, "write_file", index=0, id="c1"))
WRITTEN = "wrote its call of write_file as text, so nothing was run. Switch tool calling on at http"
NOTHING = "The model said nothing"


def hello(title: str, *payloads: dict | str, row: str = "A13") -> Scenario:
    """A scenario in which the reply is the text "Hello"."""
    return Scenario(row, title, [stream(chunk({"content": "Hello"}), *payloads)], text="Hello")


def as_text(title: str, written: str, *shows: str, sentence: str = WRITTEN) -> Scenario:
    """A scenario in which a call is only written down: it is shown as it came, nothing runs, and the turn
    says why."""
    return Scenario(
        "A17",
        title,
        [said(*text(written[:11], written[11:]))],
        text=written,
        shows=shows,
        status="failed" if sentence else "completed",
        sentence=sentence,
        asks=1,
    )


SCENARIOS = [
    hello("tool_calls without calls", chunk({}, "tool_calls"), "[DONE]"),
    hello("an empty reason", chunk({}, ""), "[DONE]"),
    hello("eos", chunk({}, "eos"), "[DONE]"),
    hello("end_turn", chunk({}, "end_turn"), "[DONE]"),
    hello("STOP", chunk({}, "STOP"), "[DONE]"),
    hello("twice", chunk({}, "stop"), chunk({}, "stop"), "[DONE]"),
    hello("no string", chunk({}, {"type": "stop"}), "[DONE]"),  # type: ignore[arg-type]
    hello("null to the end, which is told", chunk({}), "[DONE]"),
    hello("in a chunk of its own without a delta", {"choices": [{"finish_reason": "stop"}]}, "[DONE]"),
    Scenario(
        "A13",
        "null to the end, which is not told",
        [stream(chunk({"content": "Hello"}), chunk({}))],
        text="Hello",
        status="failed",
        sentence="ended before the reply was complete",
        asks=1,
    ),
    Scenario("A13", "tool_calls after calls that came with stop", [said(WHOLE, finish="stop")], calls=ONE),
    Scenario(
        "A13",
        "tool_calls without calls and without text",
        [stream(chunk({}, "tool_calls"), "[DONE]")] * 3,
        status="failed",
        sentence=NOTHING,
        asks=3,
    ),
    Scenario(
        "A13",
        "tool_calls without calls after results",
        [said(WHOLE, finish="tool_calls"), *[stream(chunk({}, "tool_calls"), "[DONE]")] * 3],
        calls=ONE,
        status="failed",
        sentence=NOTHING,
        asks=4,
    ),
    Scenario(
        "A13",
        "nothing more to say after results",
        [said(WHOLE, finish="tool_calls"), said({"content": ""})],
        calls=ONE,
        asks=2,
    ),
    Scenario(
        "A13", "nothing to say at all", [said({"content": ""})] * 3, status="failed", sentence=NOTHING, asks=3
    ),
    Scenario(
        "A13",
        "nothing but blanks",
        [said({"content": "\n\n"})] * 3,
        status="failed",
        sentence=NOTHING,
        asks=3,
    ),
    Scenario(
        "A13",
        "content_filter",
        [said({"content": "Half of"}, finish="content_filter")],
        text="Half of",
        status="stopped",
        sentence="content filter",
    ),
    Scenario(
        "A14",
        "length with half-written arguments",
        [said(call(piece(FILE_TEXT[:20], "write_file", index=0, id="c1")), finish="length")],
        calls=[Call(arguments={}, status="failed", result="cut off while these arguments were written")],
        asks=2,
    ),
    Scenario(
        "A14",
        "length before the arguments began",
        [said(call(piece("", "write_file", index=0, id="c1")), finish="length")],
        calls=[Call(arguments={}, status="failed", result="cut off while these arguments were written")],
        asks=2,
    ),
    Scenario(
        "A14",
        "length in the second of two calls",
        [said(WHOLE, call(piece('{"path": "b', "write_file", index=1, id="c2")), finish="length")],
        calls=[*ONE, Call(arguments={}, status="failed", result="cut off while")],
        asks=2,
    ),
    Scenario(
        "A14",
        "length in the middle of the text",
        [said({"content": "Once upon"}, finish="length")],
        text="Once upon",
        status="stopped",
        sentence="length limit",
    ),
    Scenario("A15", "text and a call", [said(*text("I ", "write."), WHOLE)], text="I write.", calls=ONE),
    Scenario(
        "A15", "content is null beside a call", [said({**WHOLE, "content": None}, finish="stop")], calls=ONE
    ),
    Scenario(
        "A15",
        "content is a list of parts",
        [
            said(
                {"content": [{"type": "text", "text": "Hel"}, {"type": "reference", "reference_ids": [1]}]},
                {"content": [{"type": "text", "text": "lo"}]},
            )
        ],
        text="Hello",
    ),
    Scenario(
        "A15", "a refusal in a field of its own", [said({"refusal": "I will not."})], text="I will not."
    ),
    as_text(
        "<tool_call>",
        '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.txt"}}\n</tool_call>',
        "&lt;tool_call&gt;",
        "&quot;write_file&quot;",
    ),
    as_text(
        "<function=…>",
        "<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n</function>",
        "&lt;function=write_file&gt;",
    ),
    as_text("unclosed", '<tool_call>{"name": "write_file", "arg', "&lt;tool_call&gt;"),
    as_text("a Python call", "[write_file(path='a.txt', content='x')]", "write_file(path=", sentence=""),
    as_text(
        "in a code block", 'So:\n```\n<tool_call>\n{"name": "write_file"}\n```', "tool_call", sentence=""
    ),
    as_text("of a tool that is not there", '<tool_call>{"name": "fly"}', "&lt;tool_call&gt;", sentence=""),
    as_text("in a sentence", "Models write <tool_call> and write_file.", "&lt;tool_call&gt;", sentence=""),
    Scenario(
        "A15",
        "an answer that does not stream has both",
        [
            Reply(
                raw=[
                    b'{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",'
                    b'"content":"I write.","tool_calls":[{"id":"c1","type":"function","function":{"name":'
                    b'"write_file","arguments":"{\\"path\\":\\"a.txt\\",\\"content\\":\\"one\\"}"}}]}}]}'
                ],
                headers={"Content-Type": "application/json"},
            )
        ],
        text="I write.",
        calls=ONE,
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_finishes(play: Play, scenario: Scenario) -> None:
    await play(scenario)
