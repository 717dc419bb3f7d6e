"""A streamed body lets go of its file, however far it was read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat.files.archive import CHUNK_SIZE
from chat.pages.streaming import Stream, content


@pytest.fixture
def opened(tmp_path: Path) -> int:
    (tmp_path / "large").write_bytes(os.urandom(3 * CHUNK_SIZE))
    return os.open(tmp_path / "large", os.O_RDONLY)


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


async def test_it_is_read_whole_and_closed(opened: int, tmp_path: Path) -> None:
    pieces = [piece async for piece in Stream(content(opened))]
    assert b"".join(pieces) == (tmp_path / "large").read_bytes()
    assert len(pieces) == 3
    assert not is_open(opened)


def test_a_body_that_nobody_asked_for_is_closed(opened: int) -> None:
    Stream(content(opened)).close()
    assert not is_open(opened)


async def test_a_body_that_somebody_left_is_closed(opened: int) -> None:
    body = Stream(content(opened))
    async for _piece in body:
        break
    assert is_open(opened)
    body.close()
    body.close()
    assert not is_open(opened)
