"""Where a conversation may be cut, and what is left of it then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from chat.agent.context.marks import Message, as_one, begins_turn
from chat.agent.events import Compacted


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
    fitting = [place for place in turns if left[place] <= keep]
    if fitting:
        return fitting[0]
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
