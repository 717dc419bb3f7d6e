"""A site that is told to stop ends every task it has before it exits."""

from __future__ import annotations

import uuid
from pathlib import Path

from tests.faults.person import Person
from tests.serving import Served, until

TABS = 5


def test_nothing_is_left_pending(tmp_path: Path, person: Person) -> None:
    """CPython 3.11 may crash as it tears down a coroutine that still waits."""
    served = Served(tmp_path / "data", DJANGO_SETTINGS_MODULE="tests.faults.leaving_settings")
    served.start()
    person.sign_in(served.link)
    conversation = person.begin(served.address, "Show me a tour", uuid.uuid4())
    assert conversation
    tabs = [person.open(served.address, conversation) for _ in range(TABS)]
    until(lambda: all(tab.received for tab in tabs), served.written)
    served.stop()
    assert "Left pending: []" in served.written()
