"""Tool calls as endpoints cut, number and name them (A1 to A12, A16, A18)."""

from __future__ import annotations

import pytest

from tests.conformance.conftest import Play
from tests.conformance.scenario import (
    FILE,
    FILE_TEXT,
    OTHER,
    OTHER_TEXT,
    Call,
    Scenario,
    call,
    piece,
    said,
)

ONE = [Call(result="Created a.txt")]
TWO = [*ONE, Call(arguments=OTHER, result="Created b.txt")]
HALVES = (FILE_TEXT[:9], FILE_TEXT[9:])
WHOLE = piece(FILE_TEXT, "write_file", index=0, id="call_1", type="function")
WHOLE_OTHER = piece(OTHER_TEXT, "write_file", index=1, id="call_2", type="function")


def one(row: str, title: str, *deltas: dict, finish: str | None = "tool_calls") -> Scenario:
    """A scenario in which the deltas are one call that writes a file."""
    return Scenario(row, title, [said(*deltas, finish=finish)], calls=ONE)


def two(row: str, title: str, *deltas: dict, finish: str | None = "tool_calls") -> Scenario:
    """A scenario in which the deltas are two calls."""
    return Scenario(row, title, [said(*deltas, finish=finish)], calls=TWO)


SCENARIOS = [
    one(
        "A1",
        "the index is null",
        call(piece(HALVES[0], "write_file", index=None, id="c1")),
        call(piece(HALVES[1], index=None)),
    ),
    two(
        "A1",
        "there is no index, and ids tell the calls apart",
        call(piece(HALVES[0], "write_file", id="c1")),
        call(piece(HALVES[1], id="c1")),
        call(piece(OTHER_TEXT, "write_file", id="c2")),
    ),
    two(
        "A1",
        "there is neither index nor id, and each call comes whole",
        call(piece(FILE_TEXT, "write_file")),
        call(piece(OTHER_TEXT, "write_file")),
    ),
    two(
        "A2",
        "all calls have the index 0",
        call(piece("", "write_file", index=0, id="c1")),
        call(piece(HALVES[0], index=0)),
        call(piece(HALVES[1], index=0)),
        call(piece("", "write_file", index=0, id="c2")),
        call(piece(OTHER_TEXT, index=0)),
    ),
    two(
        "A2",
        "whole calls with the index 0 in one chunk",
        call(
            piece(FILE_TEXT, "write_file", index=0, id="c1"),
            piece(OTHER_TEXT, "write_file", index=0, id="c2"),
        ),
    ),
    two(
        "A2",
        "whole calls with the index 0 and no ids",
        call(piece(FILE_TEXT, "write_file", index=0)),
        call(piece(OTHER_TEXT, "write_file", index=0)),
    ),
    one("A3", "the id is missing", call(piece(FILE_TEXT, "write_file", index=0))),
    one("A3", "the id is empty", call(piece(FILE_TEXT, "write_file", index=0, id=""))),
    one("A3", "the id is null", call(piece(FILE_TEXT, "write_file", index=0, id=None))),
    one("A3", "the id is a number", call(piece(FILE_TEXT, "write_file", index=0, id=17))),
    Scenario(
        "A4",
        "later pieces have an empty id and no name",
        [
            said(
                call(piece("", "write_file", index=0, id="call_1")),
                call(piece(HALVES[0], "", index=0, id="")),
                call({"index": 0, "id": None, "function": {"name": None, "arguments": HALVES[1]}}),
                finish="tool_calls",
            )
        ],
        calls=[Call(id="call_1")],
    ),
    one(
        "A5",
        "id and name are repeated with every piece",
        call(piece(HALVES[0], "write_file", index=0, id="c1")),
        call(piece(HALVES[1], "write_file", index=0, id="c1")),
    ),
    one(
        "A5",
        "the closing piece has the name and no id",
        call(piece(FILE_TEXT, "write_file", index=0, id="c1")),
        call(piece("", "write_file", index=0, id=None)),
    ),
    one(
        "A5",
        "the closing piece has the whole call once more",
        call(piece(HALVES[0], "write_file", index=0, id="c1")),
        call(piece(HALVES[1], index=0)),
        call(piece(FILE_TEXT, "write_file", index=0, id=None)),
    ),
    one("A6", "the whole call in one chunk", call(WHOLE)),
    Scenario(
        "A6",
        "the whole call, its text and the finish in one chunk",
        [
            said(
                call(WHOLE, content="I write.", role="assistant"),
                finish="tool_calls",
            )
        ],
        text="I write.",
        calls=ONE,
    ),
    two("A6", "two whole calls in one chunk", call(WHOLE, WHOLE_OTHER)),
    one("A7", "the arguments are an object", call(piece(FILE, "write_file", index=0, id="c1"))),
    *(
        Scenario(
            "A8",
            f"a tool is called with {title}",
            [said(call(piece(given, "TodoWrite", index=0, id="c1")), finish="tool_calls")],
            calls=[Call("TodoWrite", {}, "failed", "Error: items must be a list")],
        )
        for title, given in {"no arguments": None, "empty arguments": "", "an empty object": {}}.items()
    ),
    Scenario(
        "A8",
        "the arguments are null",
        [
            said(
                call({"index": 0, "id": "c1", "function": {"name": "TodoWrite", "arguments": None}}),
                finish="tool_calls",
            )
        ],
        calls=[Call("TodoWrite", {}, "failed")],
    ),
    two(
        "A9",
        "two calls have the same id",
        call(piece(FILE_TEXT, "write_file", index=0, id="same")),
        call(piece(OTHER_TEXT, "write_file", index=1, id="same")),
    ),
    two(
        "A9",
        "two calls have the same id and no index",
        call(piece(FILE_TEXT, "write_file", id="same")),
        call(piece(OTHER_TEXT, "write_file", id="same")),
    ),
    Scenario(
        "A9",
        "an id of an earlier step comes again",
        [
            said(call(piece(FILE_TEXT, "write_file", index=0, id="write_file:0")), finish="tool_calls"),
            said(call(piece(OTHER_TEXT, "write_file", index=0, id="write_file:0")), finish="tool_calls"),
        ],
        calls=[Call(id="write_file:0")],
        asks=3,
        shows=["a.txt", "b.txt", "Understood."],
    ),
    Scenario(
        "A10",
        "the id goes back just as it came",
        [
            said(
                call(piece(FILE_TEXT, "write_file", index=0, id="functions.write_file:0")),
                finish="tool_calls",
            )
        ],
        calls=[Call(id="functions.write_file:0")],
    ),
    one("A12", "the finish says stop", call(WHOLE), finish="stop"),
    one("A12", "the finish says length, but the call is whole", call(WHOLE), finish="length"),
    *(
        one("A16", f"the name is {name}", call(piece(FILE_TEXT, name, index=0, id="c1")))
        for name in (
            "write_file<|channel|>commentary",
            "functions.write_file",
            "functions.write_file:0",
            "Write_File",
            "writeFile",
            " write_file\n",
            "default_api.write_file",
        )
    ),
    Scenario(
        "A16",
        "nobody knows the tool",
        [said(call(piece("{}", "wipe the disk!", index=0, id="c1")), finish="tool_calls")],
        calls=[Call("wipe the disk!", {}, "failed", "there is no tool called", back="wipe_the_disk_")],
    ),
    Scenario(
        "A16",
        "the call has no name at all",
        [said(call(piece("{}", index=0, id="c1")), finish="tool_calls")],
        calls=[Call("", {}, "failed", "there is no tool called", back="unnamed")],
    ),
    Scenario(
        "A18",
        "the old form of a call",
        [
            said(
                {
                    "role": "assistant",
                    "content": None,
                    "function_call": {"name": "write_file", "arguments": ""},
                },
                {"function_call": {"arguments": HALVES[0]}},
                {"function_call": {"arguments": HALVES[1]}},
                finish="function_call",
            )
        ],
        calls=ONE,
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_calls(play: Play, scenario: Scenario) -> None:
    await play(scenario)
