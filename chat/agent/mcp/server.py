"""A tool server as an administrator set it up: a program to start, or an address to ask."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""A server's name: no underscore, so that the first `__` of `server__tool` always parts the two."""
NAME_LIMIT = 32
CALL_SECONDS = 60.0


class ServerError(Exception):
    """A tool server could not do what was asked; the message is a sentence for administrator and model."""


@dataclass(frozen=True)
class Program:
    """A server that is started here and spoken to over its standard input and output.

    `words` are the program and its arguments, never seen by a shell. `environment` is all it gets besides a
    few fixed names. `folder` is the server's own on disk, of which `scratch` can be written by it.
    `readable` are folders of this machine that it may read besides the system's. With `network` it shares
    this machine's network, services on localhost included.
    """

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    readable: tuple[str, ...] = ()
    network: bool = False


@dataclass(frozen=True)
class Address:
    """A server that is reached over streamable HTTP, with these headers in every request.

    Only public addresses are spoken to, unless `inside` says that it stands in this network.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    inside: bool = False


@dataclass(frozen=True)
class Server:
    """A named server, how it is reached, and the seconds that one call may take."""

    name: str
    reached: Program | Address
    seconds: float = CALL_SECONDS


BURST = 32 * 1024**2
RATE = 1024**2
"""Bytes a second that a server may go on writing, once the first burst is used up."""
PIECE = 4 * 1024
"""Bytes that even a shorter piece counts: reading many small ones costs more than a few large."""


class Allowance:
    """A bucket of bytes that fills again with time, for what arrives without end."""

    def __init__(self, burst: int = BURST, rate: int = RATE, piece: int = PIECE) -> None:
        self._burst, self._rate, self._piece = burst, rate, piece
        self._left: float = burst
        self._at = time.monotonic()

    def spend(self, size: int, pieces: int = 1) -> bool:
        """Take `size` bytes that came in so many pieces; False when there were not as many left."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left -= max(size, self._piece * pieces)
        return self._left >= 0
