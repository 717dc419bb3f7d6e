"""Pictures for tests: as small as they can be, and whole."""

from __future__ import annotations

import struct
import zlib


def png(red: int = 200, green: int = 80, blue: int = 40, side: int = 8, padding: int = 0) -> bytes:
    """A picture of one colour; `padding` bytes of a comment make it larger."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    line = b"\0" + bytes([red, green, blue]) * side
    chunks = [_chunk(b"IHDR", header), _chunk(b"tEXt", b"a\0" + b"x" * padding)]
    chunks += [_chunk(b"IDAT", zlib.compress(line * side)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
