"""Arguments as small models write them (A19): read kindly where they have one meaning, else refused in words
that the model can act on. Never a turn that dies, nor a request that an endpoint cannot take apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.conftest import Play
from tests.conformance.scenario import FILE, FILE_TEXT, Call, Scenario, call, piece, said

NOT_JSON = "the arguments are not valid JSON"
NOT_AN_OBJECT = "the arguments must be one JSON object"
TODO = {"content": "Look", "status": "pending", "activeForm": "Looking"}


def read(title: str, written: str, means: dict[str, Any] = FILE, shows: str = "a.txt") -> Scenario:
    """A scenario in which a file is written by these arguments."""
    return Scenario("A19", title, [_asking(written)], calls=[Call(arguments=means)], shows=[shows])


def refused(title: str, written: str, result: str = NOT_JSON, **back: Any) -> Scenario:
    """A scenario in which the call fails with a sentence, and the turn goes on."""
    calls = [Call(arguments=back, status="failed", result=result)]
    return Scenario("A19", title, [_asking(written)], calls=calls, shows=["Understood."], asks=2)


def listed(title: str, written: str) -> Scenario:
    """A scenario in which the todo list is written by these arguments."""
    return Scenario(
        "A19",
        title,
        [_asking(written, "TodoWrite")],
        calls=[Call("TodoWrite", json.loads(written), "succeeded", "Look")],
        shows=["To-dos updated"],
    )


def _asking(written: str, name: str = "write_file") -> Any:
    half = len(written) // 2
    first = piece(written[:half], name, index=0, id="c1")
    return said(call(first), call(piece(written[half:], index=0)), finish="tool_calls")


SCENARIOS = [
    read("JSON written twice", json.dumps(FILE_TEXT)),
    read(
        "a raw line break in a string", '{"path": "a.txt", "content": "o\nne"}', {**FILE, "content": "o\nne"}
    ),
    read(
        "half of a character",
        '{"path": "a.txt", "content": "\\ud83d"}',
        {**FILE, "content": "\ufffd"},
        "\ufffd",
    ),
    read("NUL", '{"path": "a.txt", "content": "a\\u0000"}', {**FILE, "content": "a\ufffd"}, "\ufffd"),
    read("a name twice", '{"path": "b.txt", "path": "a.txt", "content": "one"}'),
    read("blanks around", f"\n\n {FILE_TEXT} \n"),
    read("letters as numbers", '{"path": "\\u0061.txt", "content": "one"}'),
    refused("an array", '[{"path": "a.txt"}]', NOT_AN_OBJECT),
    refused("a number", "7", NOT_AN_OBJECT),
    refused("null", "null", NOT_AN_OBJECT),
    refused("a trailing comma", '{"path": "a.txt",}'),
    refused("single quotes", "{'path': 'a.txt'}"),
    refused("a fence around", f"```json\n{FILE_TEXT}\n```"),
    refused("never closed", '{"path": "a.txt", "content": "on'),
    refused("NaN", '{"path": NaN}'),
    refused("a number beyond all", '{"path": 1e999}'),
    refused("5,000 digits", f'{{"path": {"9" * 5000}}}'),
    refused("100,000 levels", '{"path": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    refused("900 levels", '{"path": ' + "[" * 900 + "]" * 900 + "}"),
    refused("objects of 900 levels", '{"path": ' * 900 + "1" + "}" * 900),
    refused("half of a character as a name", '{"\\udc00": 1}', "\ufffd", **{"\ufffd": 1}),
    listed("a list of objects", json.dumps({"items": [TODO]})),
    listed("a list as JSON in a string", json.dumps({"items": json.dumps([TODO])})),
    listed("an item as JSON in a string", json.dumps({"items": [json.dumps(TODO)]})),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_arguments(play: Play, scenario: Scenario) -> None:
    await play(scenario)
