"""A turn's messages: in chat-completions form, with annotations of our own.

- `note` on a user message that joined a running turn;
- `reminder` on a tool result: the reminder sent with it;
- `edit_note`, formerly `told`, on a tool result, or on a message that began a turn: the user's changes to the
  todo list;
- `carried` on a user message: what replaces the conversation before it.

Sending renders annotations as text and removes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from chat.agent.events import Compacted
from chat.agent.pictures import pictures_field
from chat.agent.prompts import Language
from chat.agent.todo import prepend_tagged, with_first_reminder

Message = dict[str, Any]

CHANGED = "todo-change"  # the tag around the user's changes
ANNOTATIONS = ("note", "reminder", "edit_note", "told", "carried")


def render_messages(
    messages: Iterable[Mapping[str, Any]], language: Language, *, plan: bool = True
) -> list[Message]:
    """The messages as the model reads them, with the first reminder to plan unless `plan` is false."""
    rendered = [render_message(message) for message in messages]
    return with_first_reminder(rendered, language) if plan else rendered


def render_message(message: Mapping[str, Any]) -> Message:
    plain = {name: value for name, value in message.items() if name not in ANNOTATIONS}
    if message["role"] == "tool" and isinstance(plain["content"], str):
        # Text that a tool read must not pass for the user's changes.
        plain["content"] = plain["content"].replace(f"<{CHANGED}>", f"< {CHANGED}>")
    if carried := message.get("carried"):
        plain["content"] = join_contents([carried, plain["content"]])
    if reminder := message.get("reminder"):
        prepend_tagged(plain, reminder)
    if edit_note := message.get("edit_note") or message.get("told"):
        prepend_tagged(plain, edit_note, tag=CHANGED)
    return plain


def as_notes(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    return [{**message, "note": True} for message in messages]


def begins_turn(message: Mapping[str, Any]) -> bool:
    return message["role"] == "user" and not message.get("note")


def merge_messages(messages: Sequence[Mapping[str, Any]]) -> Message:
    pictures = [picture for message in messages for picture in message.get("pictures", ())]
    content = join_contents([message["content"] for message in messages])
    return {**messages[0], "content": content, **pictures_field(pictures)}


def join_contents(contents: Sequence[Any]) -> Any:
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(contents)
    return [part for content in contents for part in _parts(content)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def last_turn_start(messages: Sequence[Mapping[str, Any]]) -> int:
    return max((index for index, message in enumerate(messages) if begins_turn(message)), default=0)


def cut_point(messages: Sequence[Mapping[str, Any]], counts: Sequence[int], keep: int) -> int:
    """The index of the first message to keep so that at most `keep` tokens remain; 0 keeps all.

    Whole turns go first, then steps of the latest turn, but never its user messages or its last step. The
    rest may exceed `keep` if nothing more may go.
    """
    left = [*accumulate(reversed(counts))][::-1]
    start = last_turn_start(messages)
    turns = [index for index in range(1, start + 1) if begins_turn(messages[index])]
    fitting = [index for index in turns if left[index] <= keep]
    if fitting:
        return fitting[0]
    steps = [index for index in range(start, len(messages)) if messages[index]["role"] == "assistant"][1:]
    user = sum(counts[index] for index in range(start, len(messages)) if messages[index]["role"] == "user")
    fitting = [index for index in steps if left[index] + user <= keep]
    return next(iter(fitting or steps[-1:] or turns[-1:]), 0)


def compacted(messages: Sequence[Message], event: Compacted) -> list[Message]:
    shorter = [
        {**message, "content": event.shortened[index]} if index in event.shortened else message
        for index, message in enumerate(messages)
    ]
    if not event.kept_from:
        return shorter
    kept = kept_user_messages(shorter, event.kept_from) or [event.kept_from]
    rest = shorter[max(event.kept_from, kept[-1] + 1) :]
    return [merge_messages([shorter[index] for index in kept]) | {"carried": event.carried}, *rest]


def kept_user_messages(messages: Sequence[Mapping[str, Any]], kept_from: int) -> list[int]:
    """Indexes before `kept_from` that stay: the user's messages of a turn cut in the middle."""
    start = last_turn_start(messages[: kept_from + 1]) if kept_from else 0
    return [index for index in range(start, kept_from) if messages[index]["role"] == "user"]
