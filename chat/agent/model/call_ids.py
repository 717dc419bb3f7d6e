"""The ids of tool calls, as the endpoint that is asked wants them."""

from __future__ import annotations

import hashlib
import re
import string
from collections import Counter

from chat.agent.model.traits import IdStyle

_ALPHABET = string.digits + string.ascii_letters
# What most endpoints take from others; OpenAI's own limit is 40 characters.
_USUAL = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ALNUM9 = re.compile(r"[A-Za-z0-9]{9}")


class CallIds:
    """Gives each call of a history its id, call by call from the first; the same history gives the same ids.

    Ids that an endpoint made go back to it as they were, repeated or not: some stop answering otherwise.
    """

    def __init__(self, style: IdStyle) -> None:
        self._style = style
        self._seen: Counter[str] = Counter()
        self._calls = 0

    def of(self, given: str, name: str, *, native: bool, taken: set[str]) -> str:
        """The id for a call of the tool `name`.

        `native`: the endpoint itself made the id `given`. `taken` are the ids of the same message.
        """
        self._calls += 1
        self._seen[given] += 1
        if self._fits(given, native=native) and given not in taken:
            return given
        if self._style == "functions":
            return f"functions.{name}:{self._calls - 1}"
        seed = f"{given}#{self._seen[given]}"
        made = _made(seed, self._style)
        while made in taken:
            seed += "#"
            made = _made(seed, self._style)
        return made

    def _fits(self, given: str, *, native: bool) -> bool:
        if self._style == "alnum9":
            return bool(_ALNUM9.fullmatch(given))
        if native:
            return bool(given)
        return self._style == "native" and bool(_USUAL.fullmatch(given))


def _made(seed: str, style: IdStyle) -> str:
    digest = hashlib.sha256(seed.encode(errors="replace")).digest()
    if style == "alnum9":
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:9])
    return f"call_{digest.hex()[:24]}"
