"""What a turn's calls of the model come to: by the endpoint's own count, or a guess where it gives none."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.agent.events import Usage
from chat.agent.model import Assembly
from chat.agent.pictures import PICTURES_KEY


@dataclass(frozen=True)
class Attempt:
    """A request, and what has come back of it by now."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    assembly: Assembly

    @property
    def silent(self) -> bool:
        """Whether nothing came back."""
        reply = self.assembly
        return not (reply.text or reply.reasoning or reply.calls or reply.usage != Usage())

    def usage(self) -> Usage:
        """The endpoint's count; what it leaves out is guessed, and the whole then marked as estimated."""
        counted, said = self.assembly.usage, self._said()
        if counted.input_tokens and (counted.output_tokens or not said):
            return counted
        return dataclasses.replace(
            counted,
            input_tokens=counted.input_tokens or request_tokens(self.messages, self.tools),
            output_tokens=counted.output_tokens or said,
            reasoning_tokens=counted.reasoning_tokens or text_tokens(self.assembly.reasoning),
            estimated=True,
        )

    def _said(self) -> int:
        reply = self.assembly
        calls = sum(text_tokens(call.name) + text_tokens(call.arguments) for call in reply.calls)
        return text_tokens(reply.text) + text_tokens(reply.reasoning) + calls


class Meter:
    """Follows a turn's calls of the model, so that one that is torn off is counted too.

    `total` is the usage of all that is settled.
    """

    def __init__(self) -> None:
        self.total = Usage()
        self._attempts: list[Attempt] = []

    def ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], assembly: Assembly
    ) -> None:
        """The model is asked; `assembly` takes in the reply as it comes."""
        self._attempts.append(Attempt(messages, tools, assembly))

    def fail(self) -> None:
        """The endpoint failed to reply: where nothing came, nothing is counted."""
        if self._attempts and self._attempts[-1].silent:
            self._attempts.pop()

    @property
    def is_open(self) -> bool:
        """Whether there is something to settle."""
        return bool(self._attempts)

    def outstanding(self) -> Usage:
        """The usage since it was last settled, all attempts together."""
        return sum((attempt.usage() for attempt in self._attempts), Usage())

    def settle(self) -> Usage:
        """What is outstanding, which then is not any more."""
        usage = self.outstanding()
        self._attempts = []
        self.total += usage
        return usage


# What models' tokenizers make one token of, roughly: each match stands for one.
_PIECE = re.compile(
    r"""
     [A-Z]?[a-z]{1,11}
    |[A-Z]{1,3}
    |[0-9]{1,3}
    |\n\s*
    |[ \t]{2,16}
    |[!-/:-@\[-`{-~]{1,3}\n?
    |[\u00c0-\u024f\u1e00-\u1eff][a-z]{0,3}    # Latin with marks
    |[\u0400-\u052f]{1,4}                     # Cyrillic
    |[\u0370-\u1dff\u1f00-\u1fff]{1,3}         # Greek, Hebrew, Arabic, Devanagari, Thai ...
    |[\u3000-\u303f\uff00-\uff65]              # full-width punctuation
    |[\u2e80-\ud7ff\uf900-\ufaff\uff66-\uffef]{1,2}
    |[^ ]
    """,
    re.VERBOSE,
)
_IDEOGRAPH = re.compile("[\u3040-\ud7ff\uf900-\ufaff]")  # Chinese, Japanese, Korean

AROUND_MESSAGE = 4  # its role, and the marks where it begins and ends
AROUND_CALL = 8
PICTURE = 1100  # what an image of a screen's size comes to; providers' own rules give 260 to 1,600
PICTURE_LOW = 85  # one that is asked to be looked at in low detail


def text_tokens(text: str) -> int:
    """About how many tokens the text has; 0 for an empty one. Takes 0.1 s for a million characters.

    Measured against the tokenizer of GPT-4o and later: -3 to +12 % for English, JSON, HTML and source code,
    -11 to +9 % for Chinese, Japanese and Korean, -19 to +40 % for other languages, -20 % for hexadecimal
    digits and columns of numbers. The tokenizer before that takes up to half as many again for Chinese, and
    several times as many for scripts that few people write.
    """
    pieces = len(_PIECE.findall(text))
    return pieces if text.isascii() else pieces + len(_IDEOGRAPH.findall(text)) // 6


def message_tokens(message: Mapping[str, Any]) -> int:
    """About how many tokens a message in the chat-completions form has, with its images and tool calls.

    Fields of our own, like the reasoning that only some endpoints get back, are not counted.
    """
    calls = sum(map(_call_tokens, message.get("tool_calls") or ()))
    pictures = PICTURE * len(message.get(PICTURES_KEY) or ())
    return AROUND_MESSAGE + _content_tokens(message.get("content")) + calls + pictures


def tools_tokens(definitions: Iterable[Mapping[str, Any]]) -> int:
    """About how many tokens the tools' definitions add to a request."""
    return sum(AROUND_CALL + text_tokens(_as_json(each.get("function", each))) for each in definitions)


def request_tokens(messages: Sequence[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]] = ()) -> int:
    """About how many tokens a request has: messages, the system prompt's among them, and tools."""
    return sum(map(message_tokens, messages)) + tools_tokens(tools)


def _content_tokens(content: Any) -> int:
    if isinstance(content, str):
        return text_tokens(content)
    return sum(map(_part_tokens, content)) if isinstance(content, list | tuple) else 0


def _part_tokens(part: Any) -> int:
    if not isinstance(part, Mapping):
        return 0
    if part.get("type") == "image_url":
        image = part.get("image_url")
        low = isinstance(image, Mapping) and image.get("detail") == "low"
        return PICTURE_LOW if low else PICTURE
    return _content_tokens(part.get("text"))


def _call_tokens(call: Mapping[str, Any]) -> int:
    function = call.get("function") or {}
    arguments = function.get("arguments") or ""
    written = arguments if isinstance(arguments, str) else _as_json(arguments)
    return AROUND_CALL + text_tokens(str(function.get("name") or "")) + text_tokens(written)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
