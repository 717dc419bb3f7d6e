"""How many tokens a text or a request comes to, guessed where nobody counts them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chat.agent.pictures import MARK

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
    pictures = PICTURE * len(message.get(MARK) or ())
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
