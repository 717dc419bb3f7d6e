"""A conversation as a turn keeps it: messages in the chat-completions form, with marks of our own beside.

- `note` on a message of the person that joined a turn at work, and began none;
- `reminder` on a tool's result: what rides on it;
- `told` on a tool's result, or on a message that began a turn: what the person changed in the todo list;
- `carried` on a message of the person: what stands for all that was said before it.

Marks are rendered, and gone, in what is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from chat.agent.events import Compacted
from chat.agent.pictures import pictures_field
from chat.agent.prompts import Language
from chat.agent.todo import remind, with_first_reminder

Message = dict[str, Any]

CHANGED = "todo-change"  # the tag around what the person changed
MARKS = ("note", "reminder", "told", "carried")


def as_sent(messages: Iterable[Mapping[str, Any]], language: Language, *, plan: bool = True) -> list[Message]:
    """The messages as the model reads them, with the reminder to plan, if it can, ahead of the first."""
    rendered = [sent(message) for message in messages]
    return with_first_reminder(rendered, language) if plan else rendered


def sent(message: Mapping[str, Any]) -> Message:
    """The message as the model reads it."""
    plain = {name: value for name, value in message.items() if name not in MARKS}
    if message["role"] == "tool" and isinstance(plain["content"], str):
        # What a tool read somewhere may not pass for the person's word.
        plain["content"] = plain["content"].replace(f"<{CHANGED}>", f"< {CHANGED}>")
    if carried := message.get("carried"):
        plain["content"] = joined([carried, plain["content"]])
    if reminder := message.get("reminder"):
        remind(plain, reminder)
    if told := message.get("told"):
        remind(plain, told, tag=CHANGED)
    return plain


def as_notes(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Messages of the person that join a turn at work."""
    return [{**message, "note": True} for message in messages]


def begins_turn(message: Mapping[str, Any]) -> bool:
    """Whether a turn begins with the message."""
    return message["role"] == "user" and not message.get("note")


def as_one(messages: Sequence[Mapping[str, Any]]) -> Message:
    """The first of the messages, with the words and pictures of them all."""
    pictures = [picture for message in messages for picture in message.get("pictures", ())]
    words = joined([message["content"] for message in messages])
    return {**messages[0], "content": words, **pictures_field(pictures)}


def joined(contents: Sequence[Any]) -> Any:
    """Several contents as one: texts with a blank line between them, or a list of all their parts."""
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(contents)
    return [part for content in contents for part in _parts(content)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def last_turn(messages: Sequence[Mapping[str, Any]]) -> int:
    """Where the latest turn begins."""
    return max((place for place, message in enumerate(messages) if begins_turn(message)), default=0)


def cut_for(messages: Sequence[Mapping[str, Any]], counts: Sequence[int], keep: int) -> int:
    """The first message to keep, so that those kept have `keep` tokens at most, or as few as may be.

    Whole turns go first. Of the latest one only its first steps may go, and never what the person wrote nor
    the latest step. 0 keeps all.
    """
    left = [*accumulate(reversed(counts))][::-1]
    begin = last_turn(messages)
    turns = [place for place in range(1, begin + 1) if begins_turn(messages[place])]
    builder = [place for place in turns if left[place] <= keep]
    if builder:
        return builder[0]
    said = [place for place in range(begin, len(messages)) if messages[place]["role"] == "assistant"][1:]
    words = sum(counts[place] for place in range(begin, len(messages)) if messages[place]["role"] == "user")
    within = [place for place in said if left[place] + words <= keep]
    return next(iter(within or said[-1:] or turns[-1:]), 0)


def compacted(messages: Sequence[Message], event: Compacted) -> list[Message]:
    """What is left of the messages after the event."""
    shorter = [
        {**message, "content": event.shortened[place]} if place in event.shortened else message
        for place, message in enumerate(messages)
    ]
    if not event.kept_from:
        return shorter
    said = kept_words(shorter, event.kept_from) or [event.kept_from]
    rest = shorter[max(event.kept_from, said[-1] + 1) :]
    return [as_one([shorter[place] for place in said]) | {"carried": event.carried}, *rest]


def kept_words(messages: Sequence[Mapping[str, Any]], kept_from: int) -> list[int]:
    """The places ahead of `kept_from` of what stays: the person's words in a turn that is cut through."""
    begin = last_turn(messages[: kept_from + 1]) if kept_from else 0
    return [place for place in range(begin, kept_from) if messages[place]["role"] == "user"]
