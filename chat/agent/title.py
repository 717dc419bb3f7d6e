"""Asks the model for a conversation's title, outside of its turns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncGenerator

from chat.agent.meter import Meter
from chat.agent.model import Assembly, Model, ModelError
from chat.agent.prompts import Language, text

EXCERPT = 2000  # characters of the question, and of the answer, that the model reads
MAX_TITLE = 80  # characters
MAX_REPLY = 64 * 1024  # characters of the reply that are read
MAX_TOKENS = 2000  # of the reply: a title takes a dozen, but some models reason first

_LABEL = re.compile(r"(title|标题|题目)\s*[:：]\s*", re.IGNORECASE)
_MARKUP = re.compile(r"^[#>\-\s]+|[*`]+|(?<!\w)_+|_+(?!\w)")
_QUOTES = "\"'“”‘’«»「」『』《》"
_ENDS = ".。:：,，;； "


async def ask_title(model: Model, question: str, answer: str, language: Language, meter: Meter) -> str:
    """A title for the exchange, empty if there is none; raises ModelError. `meter` gets the usage."""
    prompt = text("title", language).substitute(
        question=question[:EXCERPT].strip(), answer=answer[:EXCERPT].strip()
    )
    messages = [{"role": "user", "content": prompt}]
    assembly = Assembly()
    meter.ask(messages, [], assembly)
    stream = aiter(model.stream(messages, [], {"max_tokens": MAX_TOKENS}))
    try:
        async for delta in stream:
            assembly.add(delta)
    except ModelError:
        meter.fail()
        raise
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
    return as_title(assembly.reply().text)


def as_title(reply: str) -> str:
    """A model's reply as one plain line without markup, quotes or label, truncated; may be empty."""
    lines = (line[:EXCERPT] for line in reply[:MAX_REPLY].splitlines())
    line = next((line for line in lines if _MARKUP.sub("", line).strip()), "")
    visible = "".join(each for each in line if unicodedata.category(each) not in ("Cc", "Cf", "Cs"))
    plain = _LABEL.sub("", _MARKUP.sub("", visible).strip(), count=1)
    bare = " ".join(plain.split()).strip(_QUOTES).rstrip(_ENDS).strip(_QUOTES).strip()
    return bare if len(bare) <= MAX_TITLE else f"{bare[: MAX_TITLE - 1].rstrip()}…"
