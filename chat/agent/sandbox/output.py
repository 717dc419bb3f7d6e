"""What a command prints, in bounded memory."""

from __future__ import annotations

import codecs
from collections.abc import Callable


class Output:
    """Keeps the beginning and the end of a stream of bytes, and passes text on while it comes."""

    def __init__(
        self, head: int, tail: int, live: int = 0, on_text: Callable[[str], None] | None = None
    ) -> None:
        self.total = 0
        """Bytes seen."""
        self._most_head, self._most_tail, self._live = head, tail, live
        self._head, self._tail = bytearray(), bytearray()
        self._on_text = on_text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        start = self.total
        self.total += len(data)
        room = max(self._most_head - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most_tail:
            del self._tail[: -self._most_tail]
        if self._on_text and start < self._live:
            text = self._decoder.decode(data[: self._live - start])
            if text:
                self._on_text(_clean(text))

    def text(self) -> str:
        """All of it, or its beginning and its end with a line between them that counts what is left out."""
        tail = bytes(self._tail[-self._most_tail :]) if self._most_tail else b""
        left_out = self.total - len(self._head) - len(tail)
        if left_out <= 0:
            return _clean((self._head + tail).decode(errors="replace"))
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        end = _whole(tail).decode(errors="replace")
        return f"{_clean(head)}\n[... {left_out} bytes left out ...]\n{_clean(end)}"


def _whole(tail: bytes) -> bytes:
    """The bytes without what is left of a character that the cut went through."""
    for place in range(min(3, len(tail))):
        if tail[place] & 0xC0 != 0x80:
            return tail[place:]
    return tail


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd")  # databases refuse NUL in text
