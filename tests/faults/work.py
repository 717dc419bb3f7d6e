"""A piece of work: a text and a list, two commands that leave their traces, the list again, a last text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chat.demo.reply import Call, Reply, Request

TASK = "Leave two traces"
MORE = "And now?"
TRACES = ("one", "two")
LAST = "Both traces are left, **and** this is said in several pieces."


def work(request: Request) -> Reply:
    """The next reply, by what the request has behind it; it may be asked for twice."""
    asked = max(n for n, message in enumerate(request.messages) if message["role"] == "user")
    if MORE in str(request.messages[asked]["content"]):
        return Reply(text="Nothing more.")
    return STEPS[min(_steps_done(request.messages[asked:]), 3)]()


def _steps_done(messages: Sequence[Mapping[str, Any]]) -> int:
    """How many steps were taken; a list that was not accepted is written again, a command is not repeated."""
    refused = {m["tool_call_id"] for m in messages if m["role"] == "tool" and "Error" in m["content"]}
    steps = [message["tool_calls"][0] for message in messages if message.get("tool_calls")]
    return sum(call["function"]["name"] == "bash" or call["id"] not in refused for call in steps)


def items(done: bool) -> list[dict[str, str]]:
    """The list, before the work or after it."""
    status = "completed" if done else "pending"
    return [{"content": word, "status": status, "activeForm": f"Leaving {word}"} for word in TRACES]


def plan(done: bool) -> Call:
    """The call that writes it."""
    return Call("TodoWrite", {"items": items(done)})


def trace(word: str) -> Call:
    """A command that cannot be repeated unseen."""
    return Call("bash", {"command": f"echo {word} >> traces; echo left {word}"})


STEPS = (
    lambda: Reply(text="I begin with a plan.", tool_calls=[plan(done=False)]),
    lambda: Reply(tool_calls=[trace(word) for word in TRACES]),
    lambda: Reply(tool_calls=[plan(done=True)]),
    lambda: Reply(text=LAST),
)
