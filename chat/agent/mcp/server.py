"""A tool server as configured by an administrator: a program to start, or an address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""A server's name: no underscore, so that the first `__` of `server__tool` always separates the two."""
NAME_LIMIT = 32
CALL_SECONDS = 60.0


class ServerError(Exception):
    """A tool server failed; the message is a sentence for the administrator and the model."""


@dataclass(frozen=True)
class Program:
    """A server that is started here and communicates over standard input and output.

    `words` are the program and its arguments, without a shell. `environment` is all it gets apart from a few
    fixed variables. `folder` is the server's own on disk; it can write to `scratch` in it. `readable` are
    further folders that it may read. With `network` it shares this machine's network, including services on
    localhost.
    """

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    readable: tuple[str, ...] = ()
    network: bool = False


@dataclass(frozen=True)
class Address:
    """A server over streamable HTTP; only at public addresses, unless `inside` permits private ones."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    inside: bool = False


@dataclass(frozen=True)
class Server:
    name: str
    reached: Program | Address
    seconds: float = CALL_SECONDS


BURST = 32 * 1024**2
RATE = 1024**2
"""Bytes per second that a server may write after the first burst."""
PIECE = 4 * 1024
"""Minimum cost of a piece in bytes: many small pieces cost more to read than a few large ones."""
