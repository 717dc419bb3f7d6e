"""Random conversations, broken as by crashes and changes of the model, and checks of their validity."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from chat.agent.model.traits import Traits

HERE, ELSEWHERE = "https://here.example/v1", "https://elsewhere.example/v1"
NAMES = ["bash", "read_file", "TodoWrite", "f<|channel|>commentary", "读", "", "x" * 80]
IDS = ["call_1", "call_2", "functions.bash:0", "search:0", "", "a" * 60, "Ab3dE6gH9", "ид"]
PRIVATE = {"provider", "reasoning_content", "extra"}

providers = st.sampled_from([HERE, ELSEWHERE, None])
texts = st.sampled_from(["", " ", "hello", "好", None])
arguments = st.sampled_from(["{}", "", '{"a": 1}', "[1]", '{"a": ', '"{\\"a\\": 1}"', "null", "{'a': 1}"])


@st.composite
def assistants(draw: Any) -> dict[str, Any]:
    """Assistant messages with calls and provider-specific fields."""
    message: dict[str, Any] = {"role": "assistant", "content": draw(texts)}
    calls = draw(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(NAMES), arguments), max_size=3))
    if calls:
        message["tool_calls"] = [
            {
                "id": identity,
                "type": "function",
                "function": {"name": name, "arguments": given},
                **draw(st.sampled_from([{}, {"extra_content": {"google": {"thought_signature": "s"}}}])),
            }
            for identity, name, given in calls
        ]
    own = {
        "provider": draw(providers),
        "reasoning_content": draw(st.sampled_from(["", "hm"])),
        "extra": draw(st.sampled_from([{}, {"reasoning_details": [{"text": "hm"}], "odd": 1}])),
    }
    return {**message, **{name: value for name, value in own.items() if value}}


pictures = st.just([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}])
users = st.builds(lambda content: {"role": "user", "content": content}, st.one_of(st.just("go on"), pictures))
results = st.builds(
    lambda identity, content: {"role": "tool", "tool_call_id": identity, "content": content},
    st.sampled_from(IDS),
    st.sampled_from(["", "done"]),
)
systems = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["system", "developer"]),
    st.sampled_from(["Be good.", ""]),
)
histories = st.lists(st.one_of(assistants(), users, results, systems), max_size=14)

all_traits = st.builds(
    Traits,
    echo_reasoning=st.sampled_from(["never", "calls", "always"]),
    forbid_reasoning=st.booleans(),
    content_with_reasoning=st.booleans(),
    thought_signature=st.booleans(),
    id_style=st.sampled_from(["native", "alnum9", "functions"]),
    system_role=st.sampled_from(["system", "user"]),
    user_after_tool=st.booleans(),
    alternate=st.booleans(),
    tools=st.booleans(),
    images=st.booleans(),
)


def faults(messages: Sequence[dict[str, Any]], traits: Traits) -> list[str]:
    """The errors that an endpoint with these traits would report about the messages."""
    return [*_of_form(messages), *_of_calls(messages), *_of_traits(messages, traits)]


def _of_form(messages: Sequence[dict[str, Any]]) -> list[str]:
    found = []
    for place, message in enumerate(messages):
        if PRIVATE & message.keys() - {"reasoning_content"} or "odd" in message:
            found.append(f"{place} carries what is nobody's business")
        if message["role"] not in ("system", "user", "assistant", "tool"):
            found.append(f"{place} is by {message['role']}")
        if message["role"] == "system" and place:
            found.append(f"{place} is a system message that does not lead")
        if message["role"] == "assistant" and not (message.get("content") or message.get("tool_calls")):
            found.append(f"{place} says nothing")
    return found


def _of_calls(messages: Sequence[dict[str, Any]]) -> list[str]:
    found, open_ids = [], []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                found.append(f"{place} answers no call")
            else:
                open_ids.remove(message["tool_call_id"])
            if not message["content"]:
                found.append(f"{place} is an empty result")
            continue
        if open_ids:
            found.append(f"{place} comes before {open_ids} are answered")
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
        found += [f"{place} has {each}" for call in message.get("tool_calls", ()) for each in _of_call(call)]
        if len(set(open_ids)) < len(open_ids):
            found.append(f"{place} uses an id twice")
    return [*found, *(["unanswered at the end"] if open_ids else [])]


def _of_call(call: dict[str, Any]) -> list[str]:
    found = []
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["function"]["name"]):
        found.append("a name that no endpoint takes")
    if not isinstance(json.loads(call["function"]["arguments"]), dict):
        found.append("arguments that are no object")
    return found if call["id"] else [*found, "no id"]


def _of_traits(messages: Sequence[dict[str, Any]], traits: Traits) -> list[str]:
    found = []
    pairs = list(pairwise(messages))
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    if not traits.tools and (calls or any(message["role"] == "tool" for message in messages)):
        found.append("tools, where there are none")
    if traits.id_style == "alnum9" and not all(re.fullmatch("[A-Za-z0-9]{9}", call["id"]) for call in calls):
        found.append("an id that is not of 9 letters and digits")
    if not traits.user_after_tool and any((a["role"], b["role"]) == ("tool", "user") for a, b in pairs):
        found.append("a person right after a result")
    if traits.alternate and any(
        a["role"] == b["role"] != "tool" and not b.get("tool_calls") for a, b in pairs
    ):
        found.append("a role twice in a row")
    if traits.system_role == "user" and any(message["role"] == "system" for message in messages):
        found.append("a system message")
    if not traits.images and "image_url" in json.dumps(messages):
        found.append("an image")
    if traits.forbid_reasoning and re.search("reasoning_content|reasoning_details", json.dumps(messages)):
        found.append("reasoning")
    return [*found, *_of_echo(messages, traits)]


def _of_echo(messages: Sequence[dict[str, Any]], traits: Traits) -> list[str]:
    asked = {"never": (), "calls": ("tool_calls",), "always": ("role",)}[traits.echo_reasoning]
    found = []
    for message in messages:
        wanted = message["role"] == "assistant" and any(name in message for name in asked)
        lets = not traits.forbid_reasoning
        if "reasoning_content" in message and not (wanted and lets):
            found.append("reasoning that nobody asked for")
        both = bool(message.get("content")) and not traits.content_with_reasoning
        if wanted and lets and not both and "reasoning_content" not in message:
            found.append("no reasoning where it is demanded")
    return found
