"""Servers that are programs: every failure becomes a result."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chat.agent.mcp import Program, Server, ServerError, server_tool
from chat.agent.mcp.connection import Connection
from chat.agent.progress import Watched
from chat.agent.sandbox import CommandSlots
from chat.agent.tool import ToolError
from tests import serving
from tests.agent.mcp.conftest import Connect
from tests.agent.mcp.waiting import until

Make = Callable[..., Program]
ROOT = Path(__file__).resolve().parents[3]


async def echo(connection: Connection, text: str) -> str:
    assert connection.tools
    return await connection.call(connection.tools["echo"], {"text": text})


async def test_lists_its_tools_and_answers(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    assert connection.fault is None
    assert connection.tools is not None
    assert list(connection.tools) == ["echo", "look"]
    assert await echo(connection, "hello") == "hello"
    tool = server_tool(connection, connection.tools["echo"])
    assert tool.name == "mine__echo"
    assert (await tool.call({"text": "again"})).text == "again"


async def test_many_calls_at_once_keep_apart(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    texts = [f"text {number}" for number in range(50)]
    assert await asyncio.gather(*(echo(connection, text) for text in texts)) == texts


async def test_an_error_of_the_tool_is_an_error_with_its_text(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    assert connection.tools
    with pytest.raises(ToolError, match="ZeroDivisionError"):
        await server_tool(connection, connection.tools["look"]).call({"code": "1 / 0"})


async def test_a_call_waits_for_a_free_place(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program(), seconds=5))
    assert connection.tools
    slots = CommandSlots(1)
    tool = server_tool(connection, connection.tools["echo"], slots.of("two", "Waiting."))
    async with slots.of("one", "Waiting.")():
        waiting = Watched(tool.call({"text": "hello"}))
        assert await waiting.next_report() == "Waiting."
        assert connection.calls == 0
    assert await waiting.ends_within(5)
    assert waiting.result().text == "hello"


async def test_a_large_result_is_cut_in_its_middle(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    text = await echo(connection, "large")
    assert len(text) < 50_000
    assert text.startswith("<xxx")
    assert text.endswith("xxx>")
    assert "bytes left out" in text


async def test_a_picture_is_told_and_not_shown(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    assert await echo(connection, "picture") == "[image, image/png, 0.8 KiB, not shown]"


async def test_one_that_dies_in_a_call_is_started_again(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    with pytest.raises(ServerError, match=r"broke off. It ended with exit code 3.*not known"):
        await echo(connection, "die")
    await until(lambda: connection.fault is None and connection.connected)
    assert await echo(connection, "alive") == "alive"


async def test_one_that_dies_at_once_says_why(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program("dies")))
    assert connection.fault
    assert connection.fault.sentence == "It ended with exit code 1."
    assert "it will not" in connection.fault.detail
    assert connection.tools is None


async def test_a_program_that_is_not_there(program: Make, connect: Connect, tmp_path: Path) -> None:
    connection = await connect(Server("mine", Program(("no-such-program",), tmp_path / "servers")))
    assert connection.fault
    assert connection.fault.sentence == "It ended with exit code 127."
    assert "no-such-program" in connection.fault.detail


async def test_one_that_hangs_costs_its_time_and_is_started_again(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program(), seconds=1))
    with pytest.raises(ServerError, match=r"no answer within 1 seconds.*not known"):
        await echo(connection, "hang")
    await until(lambda: connection.fault is None and connection.connected)


async def test_one_that_reads_nothing_any_more_is_started_again(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program(), seconds=2))
    hanging = asyncio.create_task(echo(connection, "hang"))
    await until(lambda: connection.calls == 1)
    large = asyncio.create_task(echo(connection, "x" * 3_000_000))  # more than the pipe holds
    await until(lambda: connection.calls == 2)
    large.cancel()
    with pytest.raises(asyncio.CancelledError):
        await large
    assert not hanging.done()
    with pytest.raises(ServerError, match="no answer within 2 seconds"):
        await hanging
    await until(lambda: connection.connected and connection.fault is None and connection.calls == 0)
    assert await echo(connection, "back") == "back"


@pytest.mark.parametrize("how", ["flood", "line"])
async def test_one_that_floods_is_stopped(program: Make, connect: Connect, how: str) -> None:
    connection = await connect(Server("mine", program()))
    with pytest.raises(ServerError, match="wrote without end"):
        await echo(connection, how)
    await until(lambda: connection.fault is None and connection.connected)
    assert await echo(connection, "alive") == "alive"


@pytest.mark.parametrize("habit", ["garbage", "wrong-id", "deaf"])
async def test_one_that_never_answers_properly(program: Make, connect: Connect, habit: str) -> None:
    connection = await connect(Server("mine", program(habit)), connect_seconds=2)
    assert connection.fault
    assert connection.fault.sentence == "It did not answer in time."


async def test_an_answer_of_the_wrong_shape(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program("wrong-shape")))
    assert connection.fault
    assert connection.fault.sentence == "It answered in a form that the protocol does not know."


async def test_endless_tools_are_refused(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program("endless")))
    assert connection.fault
    assert "more than 200 tools" in connection.fault.sentence


async def test_a_changed_tool_is_not_called(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program("changes")))
    assert connection.tools
    accepted = connection.tools["echo"]
    assert await connection.call(accepted, {"text": "x"}) == "x"
    with pytest.raises(ServerError):
        await echo(connection, "die")
    await until(lambda: connection.connected and connection.fault is None)
    with pytest.raises(ServerError, match="has changed"):
        await connection.call(accepted, {"text": "x"})
    assert await connection.call(connection.tools["look"], {"code": "2 + 2"}) == "4"


async def test_a_change_that_is_announced_is_looked_at(program: Make, connect: Connect) -> None:
    told: list[str] = []
    connection = await connect(Server("mine", program()), on_change=lambda: told.append("news"))
    assert connection.tools
    accepted = connection.tools["echo"]
    assert await echo(connection, "announce") == "announce"
    await until(lambda: (connection.tools or {})["echo"].description == "Say it louder.")
    assert len(told) > 1
    with pytest.raises(ServerError, match="has changed"):
        await connection.call(accepted, {"text": "x"})


async def test_stop_lets_go_at_once_and_harms_nobody_else(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    assert connection.tools
    sleeping = "__import__('time').sleep(2)"
    call = asyncio.create_task(connection.call(connection.tools["look"], {"code": sleeping}))
    await until(lambda: connection.calls == 1)
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 1.5
    assert await echo(connection, "afterwards") == "afterwards"


async def test_closing_ends_the_program(program: Make, connect: Connect) -> None:
    connection = await connect(Server("mine", program()))
    assert connection.tools
    mark = f"sleep 86{os.getpid()}"
    start = f"subprocess.Popen({mark.split()!r}, start_new_session=True) and 1"
    assert await connection.call(connection.tools["look"], {"code": start}) == "1"
    await until(lambda: running(mark))
    await connection.close()
    assert not running(mark)


def test_nothing_outlives_a_site_that_is_killed(program: Make, tmp_path: Path) -> None:
    mark = f"sleep 87{os.getpid()}"
    site = tmp_path / "site.py"
    site.write_text(_SITE.format(program=program(), mark=mark.split()))
    words, surroundings = [sys.executable, str(site)], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=surroundings, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            # A program that has just been started has no command line for an instant.
            serving.until(lambda: running(mark))
        finally:
            process.send_signal(signal.SIGKILL)
    serving.until(lambda: not running(mark))


_SITE = """
import asyncio
from pathlib import PosixPath
from chat.agent.mcp import Program, Server
from chat.agent.mcp.connection import Connection

async def main():
    connection = Connection(Server("mine", {program!r}))
    await connection.tried()
    code = "subprocess.Popen({mark!r}, start_new_session=True) and 1"
    assert await connection.call(connection.tools["look"], {{"code": code}}) == "1"
    print("ready", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def running(mark: str) -> bool:
    """Whether a process with this command line is running."""
    words = mark.replace(" ", "\0").encode()
    return any(_words(each).startswith(words) for each in Path("/proc").glob("[0-9]*/cmdline"))


def _words(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
