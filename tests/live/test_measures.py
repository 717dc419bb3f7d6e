"""Metrics of a process while turns run."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connections
from prometheus_client import REGISTRY

from chat.demo.reply import Reply
from tests.live.site import Site, until
from tests.model_server import ScriptedModel


def read(name: str) -> float:
    return REGISTRY.get_sample_value(f"agentsite_{name}") or 0.0


async def test_a_turn_is_measured(site: Site, model_server: ScriptedModel) -> None:
    counts = ["queue_wait", "first_token", "step", "tool"]
    before = {name: read(f"{name}_seconds_count") for name in counts}
    frames, sockets = read("frames_total"), read("open_sockets")
    model_server.script(Reply(text="I look.", tool_calls=[("read_file", {"path": "."})]), Reply(text="Done."))
    tab = await site.open(await site.conversation())
    assert read("open_sockets") == sockets + 1
    await tab.send("Look")
    await tab.until_idle()
    grown = {name: read(f"{name}_seconds_count") - before[name] for name in counts}
    assert grown == {"queue_wait": 1, "first_token": 2, "step": 2, "tool": 1}
    assert read("frames_total") > frames
    await tab.socket.disconnect()
    await until(lambda: _is(sockets))


def test_what_the_database_fails_at_is_counted_once(transactional_db: Any) -> None:
    connection = connections["default"].copy("broken")
    connection.settings_dict = {**connection.settings_dict, "NAME": "/nowhere/at/all.sqlite3"}
    if connection.vendor != "sqlite":
        connection.settings_dict |= {"HOST": "127.0.0.1", "PORT": "1", "OPTIONS": {}}
    before = read("database_errors_total")
    with pytest.raises(OperationalError):
        connection.cursor()
    assert read("database_errors_total") == before + 1, "a connection that was not made"
    with connections["default"].cursor() as cursor, pytest.raises(DatabaseError):
        cursor.execute("SELECT * FROM nothing")
    assert read("database_errors_total") - before in (1, 2), (
        "SQLite calls it operational, PostgreSQL does not"
    )


async def _is(sockets: float) -> bool:
    return read("open_sockets") == sockets
