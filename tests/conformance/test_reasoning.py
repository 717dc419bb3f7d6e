"""Reasoning: told apart from the answer, folded on the page, given back where it is wanted (C1 to C5)."""

from __future__ import annotations

from typing import Any

import pytest

from chat.demo.reply import chunk, sse
from tests.conformance.conftest import Play
from tests.conformance.scenario import FILE_TEXT, Call, Scenario, call, piece, raw, refusal, said, text

ONE = [Call(result="Created a.txt")]
WHOLE = piece(FILE_TEXT, "write_file", index=0, id="c1")
FOLDED = '<details class="reasoning"><summary>Thought for '
DETAILS = [{"type": "reasoning.text", "text": "I ", "format": None, "index": 0}]
MORE_DETAILS = [{"type": "reasoning.text", "text": "think.", "signature": "c2ln", "index": 0}]
JOINED = [{"type": "reasoning.text", "text": "I think.", "format": None, "index": 0, "signature": "c2ln"}]
DEMANDED = "The `reasoning_content` in the thinking mode must be passed back to the API."
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
REFUSED = {"error": {"message": "messages.1.reasoning_content: Extra inputs are not permitted"}}


def thought(title: str, *deltas: dict, shows: tuple[str, ...] = (), **expected: Any) -> Scenario:
    """A scenario in which "I think." is reasoning and "Hello" the answer, which goes back alone."""
    back = {
        "reasoning_content": None,
        "reasoning": None,
        "reasoning_details": None,
        **expected.pop("back", {}),
    }
    shows = (FOLDED, "I think.", "<p>Hello</p>", *shows)
    expected = {"text": "Hello", "reasoning": "I think.", **expected}
    return Scenario("C1", title, [said(*deltas)], shows=shows, back=back, **expected)


def plain(title: str, written: str, *shows: str) -> Scenario:
    """A scenario in which tags are the answer's own."""
    return Scenario("C1", title, [said(*text(written[:5], written[5:]))], text=written, shows=shows)


def tagged(title: str, *pieces: str) -> Scenario:
    """A scenario in which tags in the text enclose the reasoning."""
    return thought(title, *text(*pieces), hides=("&lt;", "think&gt;"))


def echoed(row: str, title: str, *sends: Any, **expected: Any) -> Scenario:
    """A scenario with a thought ahead of a call."""
    expected = {"reasoning": "I think.", "calls": ONE, "shows": (FOLDED, "I think."), **expected}
    return Scenario(row, title, list(sends), **expected)


THOUGHT_AND_CALL = said({"reasoning_content": "I think."}, call(WHOLE), finish="tool_calls")

SCENARIOS = [
    thought(
        "reasoning_content", {"reasoning_content": "I "}, {"reasoning_content": "think."}, *text("Hello")
    ),
    thought("reasoning", {"reasoning": "I think.", "content": ""}, *text("Hello")),
    thought(
        "reasoning_details alone",
        {"reasoning_details": DETAILS},
        {"reasoning_details": MORE_DETAILS},
        *text("Hello"),
        back={"reasoning_details": JOINED},
    ),
    thought(
        "reasoning and reasoning_details say the same",
        {"reasoning": "I ", "reasoning_details": DETAILS},
        {"reasoning": "think.", "reasoning_details": MORE_DETAILS},
        *text("Hello"),
        back={"reasoning_details": JOINED},
    ),
    thought(
        "a part of the content",
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "I think."}]}]},
        {"content": [{"type": "text", "text": "Hello"}]},
    ),
    tagged("tags", "<think>I think.</think>Hello"),
    tagged("tags split over chunks", *"<think>\nI think.</think>\n\nHello"),
    tagged("blanks ahead of the tag", "\n", " <thi", "nk>I think.</think>", "\n", "\nHello"),
    tagged("another name for the tag", "<thinking>I think.</thinking>Hello"),
    tagged("Mistral's tag", "[THINK]I think.[/THINK]Hello"),
    thought("a missing open tag", *text("I think.", "\n</thi", "nk>\n\nHel", "lo"), reasoning="I think.\n"),
    Scenario(
        "C1",
        "a tag that is never closed",
        [said(*text("<think>I think.", " </thin"))],
        reasoning="I think. </thin",
        shows=[FOLDED],
        status="failed",
        sentence="The model said nothing",
        asks=1,
    ),
    echoed(
        "C1",
        "tags ahead of a call",
        said(*text("<think>I think.</think>\n\n"), call(WHOLE), finish="tool_calls"),
    ),
    echoed(
        "C1",
        "a missing open tag ahead of a call",
        said(*text("I think.", "\n</think>"), call(WHOLE), finish="tool_calls"),
        reasoning="I think.\n",
    ),
    plain("a tag in the middle", "Use <think> and </think> here", "&lt;think&gt;"),
    plain("a tag in code", "Like so:\n```\n</think>\n```\nDone", "&lt;/think&gt;"),
    plain("less than", "<3 is less", "&lt;3 is less"),
    plain("a beginning of a tag", "<th", "&lt;th"),
    plain("markup in a thought's place", "<i title=a>bold</i>", "&lt;i title=a&gt;bold"),
    Scenario(
        "C1",
        "markup in a thought is text",
        [said({"reasoning_content": "<script>a()</script>"}, *text("Hello"))],
        text="Hello",
        reasoning="<script>a()</script>",
        shows=["&lt;script&gt;"],
        hides=["<script>"],
    ),
    echoed(
        "C2",
        "is demanded where calls are",
        THOUGHT_AND_CALL,
        traits={"echo_reasoning": "calls"},
        back={"reasoning_content": "I think."},
    ),
    echoed(
        "C2",
        "is demanded where there was none",
        said(call(WHOLE), finish="tool_calls"),
        reasoning="",
        traits={"echo_reasoning": "calls"},
        back={"reasoning_content": ""},
        shows=["a.txt"],
    ),
    echoed(
        "C2",
        "the endpoint says that it demands it",
        THOUGHT_AND_CALL,
        refusal({"error": {"message": DEMANDED}}),
        learned={"echo_reasoning": "calls", "forbid_reasoning": False},
        back={"reasoning_content": "I think."},
        asks=3,
    ),
    echoed(
        "C2",
        "tags go back as they are demanded",
        said(*text("<think>I think.</think>"), call(WHOLE), finish="tool_calls"),
        traits={"echo_reasoning": "calls"},
        back={"reasoning_content": "I think.", "content": None},
    ),
    echoed("C3", "does not go back unasked", THOUGHT_AND_CALL, back={"reasoning_content": None}),
    echoed(
        "C3",
        "the endpoint refuses it",
        THOUGHT_AND_CALL,
        refusal(REFUSED, 422),
        traits={"echo_reasoning": "calls"},
        learned={"forbid_reasoning": True},
        back={"reasoning_content": None},
        asks=3,
    ),
    echoed(
        "C4",
        "text and thought together are refused",
        said({"reasoning_content": "I think."}, *text("Now."), call(WHOLE), finish="tool_calls"),
        refusal({"error": {"message": "Cannot pass both content and thinking in an assistant message"}}, 500),
        text="Now.",
        traits={"echo_reasoning": "calls"},
        learned={"content_with_reasoning": False},
        back={"reasoning_content": None},
        asks=3,
    ),
    Scenario(
        "C5",
        "a signature goes back with its call",
        [said(call({**WHOLE, **SIGNED}), finish="tool_calls")],
        calls=ONE,
        back={
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "write_file", "arguments": FILE_TEXT},
                    **SIGNED,
                }
            ]
        },
        hides=["c2ln"],
    ),
    Scenario(
        "C5",
        "a signature that is missing",
        [
            said(call(WHOLE), finish="tool_calls"),
            refusal(
                [
                    {
                        "error": {
                            "message": "Function call is missing a thought_signature in functionCall parts."
                        }
                    }
                ]
            ),
        ],
        calls=ONE,
        learned={"thought_signature": True},
        asks=3,
    ),
    Scenario(
        "C5",
        "fields that no database takes",
        [
            raw(
                *sse(chunk(call({**WHOLE, "odd": "<1>", "deep": "<2>"})))[0]
                .replace(b'"<1>"', b'[NaN, 1e999, "\\ud83d"]')
                .replace(b'"<2>"', b'{"\\u0000": -Infinity}')
                .split(b"<none>"),
                *sse(chunk({}, "tool_calls"), "[DONE]"),
            )
        ],
        calls=ONE,
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_reasoning(play: Play, scenario: Scenario) -> None:
    await play(scenario)
