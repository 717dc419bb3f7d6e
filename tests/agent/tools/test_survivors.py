"""However a command ends, no process of it survives."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from chat.agent.sandbox import Ended, Sandbox
from chat.agent.workspace import Workspace
from tests.agent.tools.people import Server

_DAEMONS = (
    "setsid sleep {mark} & (setsid nohup sleep {mark} > /dev/null 2>&1 < /dev/null &)\n"
    "python3 -c \"import os; os.fork() or os.setsid() or os.fork() or os.execlp('sleep', 'x', '{mark}')\"\n"
)


def _daemons(mark: str) -> str:
    return _DAEMONS.format(mark=mark)


def _mark() -> str:
    """A sleep duration that no other process on this machine uses."""
    return f"{100_000 + os.getpid()}.{time.monotonic_ns() % 10**9}"


def _alive(mark: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


def _children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


async def _childless() -> None:
    """Wait until every child has ended and is reaped."""
    for number in map(int, _children().split()):
        with suppress(ProcessLookupError):
            await _end_of(os.pidfd_open(number))
    while _children():  # noqa: ASYNC110 - the kernel sets no asyncio.Event
        await asyncio.sleep(0)


async def _end_of(process: int) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process, ended.set)
    await ended.wait()
    loop.remove_reader(process)
    os.close(process)


def _gone(mark: str) -> bool:
    until = time.monotonic() + 10
    while _alive(mark) and time.monotonic() < until:
        time.sleep(0.005)
    return not _alive(mark)


def test_after_a_normal_exit_although_they_hold_the_output(server: Server) -> None:
    mark = _mark()
    outcome = server.bash(_daemons(mark) + "echo done")
    assert outcome.output == "done\n"
    assert outcome.seconds < 5
    assert _gone(mark)


def test_after_a_timeout(server: Server) -> None:
    mark = _mark()
    assert server.bash(_daemons(mark) + "sleep 60", timeout=0.7).ended is Ended.TIMEOUT
    assert _gone(mark)


def test_after_too_much_output(server: Server) -> None:
    mark = _mark()
    assert server.bash(_daemons(mark) + "yes").ended is Ended.OUTPUT
    assert _gone(mark)


def test_after_stop_at_once_and_reaped(server: Server) -> None:
    mark = _mark()

    async def scenario() -> float:
        running = asyncio.Event()
        command = _daemons(mark) + "echo running; sleep 60"
        work = asyncio.create_task(
            Sandbox().run(command, server.workspace, on_output=lambda _output: running.set())
        )
        await running.wait()
        stopped = time.monotonic()
        work.cancel()
        await asyncio.wait([work])
        assert work.cancelled()
        took = time.monotonic() - stopped
        assert not _children()  # no zombie either
        return took

    assert server.run(scenario) < 1
    assert _gone(mark)


def test_stopped_again_while_it_is_being_stopped(server: Server) -> None:
    mark = _mark()

    async def scenario() -> None:
        work = asyncio.create_task(Sandbox().run(_daemons(mark) + "sleep 60", server.workspace))
        await asyncio.sleep(0)
        while not work.done():
            work.cancel()
            await asyncio.sleep(0)
        await _childless()

    server.run(scenario)
    assert _gone(mark)


def test_stopped_at_any_moment_of_its_start(server: Server) -> None:
    """For some milliseconds, process 1 inside has left the group but would not die with its parent."""
    mark = _mark()

    async def scenario() -> None:
        for moment in range(40):
            command = f"setsid sleep {mark} & sleep {mark}"
            work = asyncio.create_task(Sandbox().run(command, server.workspace))
            await asyncio.sleep(moment / 1600)
            work.cancel()
            async with asyncio.timeout(5):
                await asyncio.wait([work])

    server.run(scenario)
    assert _gone(mark)


def test_killed_at_any_moment_of_its_start(workspace: Workspace) -> None:
    mark = _mark()
    command = f"setsid sleep {mark} & sleep {mark}"
    for moment in range(20):
        child = os.fork()
        if child == 0:
            asyncio.run(Sandbox().run(command, workspace))
            os._exit(1)
        time.sleep(moment / 500)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    until = time.monotonic() + 10
    while _alive(mark) and time.monotonic() < until:
        _let_waiting_ones_go(mark)
    assert not _alive(mark)


def _let_waiting_ones_go(mark: str) -> None:
    """End what bubblewrap left waiting for its outer half, which died with the server too soon.

    Such a process does nothing ever, least of all the command.
    """
    for number in _alive(mark):
        with suppress(OSError):  # it ended by itself meanwhile
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            if words[0] == b"bwrap" and not Path(f"/proc/{number}/task/{number}/children").read_text():
                os.kill(int(number), signal.SIGKILL)


_SERVER = """
import asyncio, sys
from chat.agent.sandbox import Sandbox
from chat.agent.workspace import Workspace
def tell(output):
    print(output.text(), flush=True)
asyncio.run(Sandbox().run(sys.argv[2], Workspace(sys.argv[1]), on_output=tell))
"""


def test_after_the_server_was_killed(workspace: Workspace) -> None:
    mark = _mark()
    words = [sys.executable, "-c", _SERVER, str(workspace.path), _daemons(mark) + "echo running; sleep 60"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as server:
        assert server.stdout
        assert server.stdout.readline() == b"running\n"
        assert _alive(mark)
        server.send_signal(signal.SIGKILL)
    assert _gone(mark)


async def test_a_hundred_at_once(workspace: Workspace) -> None:
    sandbox = Sandbox()
    outcomes = await asyncio.gather(*(sandbox.run(f"echo {n}", workspace) for n in range(100)))
    assert [outcome.output for outcome in outcomes] == [f"{n}\n" for n in range(100)]


async def test_descriptors_are_given_back(workspace: Workspace) -> None:
    sandbox = Sandbox()
    await sandbox.run("true", workspace)
    before = sorted(os.listdir("/proc/self/fd"))
    await sandbox.run("exit 3", workspace)
    await sandbox.run("sleep 9", workspace, timeout=0.1)
    assert sorted(os.listdir("/proc/self/fd")) == before
