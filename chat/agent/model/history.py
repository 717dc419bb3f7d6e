"""A conversation that every endpoint takes: each call answered once and at once, and nothing left over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Message = Mapping[str, Any]

NO_RESULT = "Error: this call has no result; it was cut off. Look before you repeat it."

_SYSTEM = ("system", "developer")


@dataclass
class Exchange:
    """A message, and the results of the calls that it asks for, in the order of the calls."""

    message: dict[str, Any]
    results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls that the message asks for."""
        return list(self.message.get("tool_calls") or ())


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The conversation without its system messages, made valid both ways.

    A call without a result gets one that says so; a result without its call, a second one of the same call,
    and an assistant's message that says nothing are left out. Results stand right after their calls, also
    where something had come in between.
    """
    made: list[Exchange] = []
    for place, message in enumerate(messages):
        if message["role"] == "user":
            made.append(Exchange(dict(message)))
        elif message["role"] == "assistant" and _says_something(message):
            made.append(Exchange(_normal(message), _results(message, messages[place + 1 :])))
    return made


def system_text(messages: Sequence[Message]) -> str:
    """What all system messages say, in their order."""
    texts = [text_of(message) for message in messages if message["role"] in _SYSTEM]
    return "\n\n".join(text for text in texts if text.strip())


def text_of(message: Message) -> str:
    """The text of a message, whose content may be a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _says_something(message: Message) -> bool:
    content = message.get("content")
    said = bool(content) if isinstance(content, list) else bool(content and str(content).strip())
    return said or bool(message.get("tool_calls"))


def _normal(message: Message) -> dict[str, Any]:
    """The message with its calls as dictionaries of the usual form, or without that field."""
    normal = {name: value for name, value in message.items() if name != "tool_calls"}
    if calls := [dict(call) for call in message.get("tool_calls") or ()]:
        normal["tool_calls"] = calls
    return normal


def _results(message: Message, following: Sequence[Message]) -> list[dict[str, Any]]:
    found = list(_answers(following))
    results = []
    for call in message.get("tool_calls") or ():
        answer = next((each for each in found if each.get("tool_call_id") == call.get("id")), None)
        if answer is not None:
            found.remove(answer)
        results.append(dict(answer) if answer is not None else {"role": "tool", "content": NO_RESULT})
    return results


def _answers(following: Sequence[Message]) -> Iterable[Message]:
    """The results up to the next calls: an id may well be used again further on."""
    for message in following:
        if message.get("tool_calls"):
            return
        if message["role"] == "tool":
            yield message
