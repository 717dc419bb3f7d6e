"""A title for a conversation: a small question to the model, beside its turns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncGenerator

from chat.agent.meter import Meter
from chat.agent.model import Assembly, Model, ModelError
from chat.agent.prompts import Language, text

EXCERPT = 2000  # characters of the question, and of the answer, that the model is shown
LONGEST = 80  # characters of a title
MOST_READ = 64 * 1024  # characters of the reply
TOKENS = 2000  # of the reply: a title is a dozen, but some models think ahead of it

_LABEL = re.compile(r"(title|标题|题目)\s*[:：]\s*", re.IGNORECASE)
_MARKUP = re.compile(r"^[#>\-\s]+|[*`]+|(?<!\w)_+|_+(?!\w)")
_QUOTES = "\"'“”‘’«»「」『』《》"
_ENDS = ".。 "


async def ask_title(model: Model, question: str, answer: str, language: Language, meter: Meter) -> str:
    """A title for the exchange, empty if the model gave none; raises ModelError. `meter` learns the cost."""
    prompt = text("title", language).substitute(
        question=question[:EXCERPT].strip(), answer=answer[:EXCERPT].strip()
    )
    messages = [{"role": "user", "content": prompt}]
    assembly = Assembly()
    meter.ask(messages, [], assembly)
    stream = aiter(model.stream(messages, [], {"max_tokens": TOKENS}))
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


def as_title(said: str) -> str:
    """What a model said, as one plain line: no markup, quotes or label, and not too long; perhaps empty."""
    lines = (line[:EXCERPT] for line in said[:MOST_READ].splitlines())
    line = next((line for line in lines if _MARKUP.sub("", line).strip()), "")
    visible = "".join(each for each in line if unicodedata.category(each) not in ("Cc", "Cf", "Cs"))
    plain = _LABEL.sub("", _MARKUP.sub("", visible).strip(), count=1)
    bare = " ".join(plain.split()).strip(_QUOTES).rstrip(_ENDS).strip(_QUOTES)
    return bare if len(bare) <= LONGEST else f"{bare[: LONGEST - 1].rstrip()}…"
