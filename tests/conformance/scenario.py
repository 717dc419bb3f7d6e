"""A scenario: the bytes that an endpoint sends, and what must come of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.demo.reply import Reply, chunk, sse

FILE = {"path": "a.txt", "content": "one"}
OTHER = {"path": "b.txt", "content": "two"}
FILE_TEXT, OTHER_TEXT = json.dumps(FILE), json.dumps(OTHER)

DONE = sse("[DONE]")


@dataclass(frozen=True)
class Call:
    """A tool call as it must be stored, and as it must go back: `arguments` is what the text sent means.

    `back` is the name that goes back, where that is another.
    """

    name: str = "write_file"
    arguments: Mapping[str, Any] = field(default_factory=lambda: FILE)
    status: str = "succeeded"
    result: str = ""
    id: str = ""
    back: str = ""


@dataclass(frozen=True)
class Scenario:
    """`row` is that of the list of deviations. `sends` answers the first requests; each later one gets a
    plain text.

    Expected of the first turn: its `status` and a part of its `sentence`; of its first step the stored
    `text`, `reasoning` and `calls`, and the `tokens` by input, output, cached and reasoning, None for any; in
    the next request `back`, which the assistant's message has beside these; on the page `shows`, and nothing
    of `hides`. `asks` is how many requests the turn took, and `sent` has fields of these by the request's
    number, from 1; None for those that must be missing. `learned` are the traits that errors taught.

    Set before: `traits` of the model, fields of the `profile`, and what the address has behind the port.
    """

    row: str
    title: str
    sends: Sequence[Reply]
    text: str = ""
    reasoning: str = ""
    calls: Sequence[Call] = ()
    status: str = "completed"
    sentence: str = ""
    back: Mapping[str, Any] = field(default_factory=dict)
    shows: Sequence[str] = ()
    hides: Sequence[str] = ()
    asks: int | None = None
    tokens: Sequence[int | None] = ()
    sent: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    traits: Mapping[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    at: str = "/v1"
    learned: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.row} {self.title}"


def raw(*parts: bytes, **how: Any) -> Reply:
    """A body of these bytes, one chunk each, under the header of an event stream unless `headers` differ."""
    return Reply(raw=parts, **how)


def stream(*payloads: Mapping[str, Any] | str, **how: Any) -> Reply:
    """Events of these payloads, without anything after them."""
    return Reply(raw=sse(*payloads), **how)


def refusal(error: Any, status: int = 400, **headers: str) -> Reply:
    """An answer with this status, whose body says why; dashes in a header's name are underscores here."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, body=error, headers=named)


def said(*deltas: Mapping[str, Any], finish: str | None = "stop") -> Reply:
    """A whole reply: a chunk for each delta, one that finishes, and `[DONE]`."""
    return stream(*map(chunk, deltas), chunk({}, finish), "[DONE]")


def text(*pieces: str) -> list[dict[str, str]]:
    """Deltas of text."""
    return [{"content": piece} for piece in pieces]


def call(*calls: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A delta with pieces of tool calls."""
    return {"tool_calls": list(calls), **more}


def piece(arguments: Any = None, name: Any = None, **fields: Any) -> dict[str, Any]:
    """A piece of a tool call; what is None is left out, and `fields` go beside the function."""
    function = {"name": name, "arguments": arguments}
    return {**fields, "function": {key: value for key, value in function.items() if value is not None}}
