"""What a command prints, in bounded memory."""

from __future__ import annotations

import codecs


class Output:
    """Keeps the beginning and the end of a stream of bytes: `head` and `tail` bytes of it at most."""

    def __init__(self, head: int, tail: int) -> None:
        self.total = 0
        """Bytes seen."""
        self._most_head, self._most_tail = head, tail
        self._head, self._tail = bytearray(), bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = max(self._most_head - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most_tail:
            del self._tail[: -self._most_tail]

    def text(self, most_head: int | None = None, most_tail: int | None = None) -> str:
        """All of it, or its beginning and its end with a line between them that counts what is left out.

        `most_head` and `most_tail` show fewer bytes of either than are kept.
        """
        most_tail = self._most_tail if most_tail is None else most_tail
        head = self._head[:most_head]
        rest = self._head[len(head) :] + self._tail
        tail = bytes(rest[max(len(rest) - most_tail, 0) :])
        left_out = self.total - len(head) - len(tail)
        if left_out <= 0:
            return _clean((head + tail).decode(errors="replace"))
        start = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(head))
        end = _whole(tail).decode(errors="replace")
        return f"{_clean(start)}\n[... {left_out} bytes left out ...]\n{_clean(end)}"


def _whole(tail: bytes) -> bytes:
    """The bytes without what is left of a character that the cut went through."""
    for place in range(min(3, len(tail))):
        if tail[place] & 0xC0 != 0x80:
            return tail[place:]
    return tail


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd")  # databases refuse NUL in text
