"""What the sandbox costs: `python -m bench.sandbox [--commands N] [--json FILE]`.

Run as root it measures root with the user dropped; run as somebody else, that user. Prints a table and writes
the figures as JSON. Commands in the sandbox and bare ones take turns, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from chat.agent.sandbox import Sandbox
from chat.agent.workspace import Workspace

Figures = dict[str, float]
MIB = 2**20


def main() -> None:
    """Measure, print and write."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--commands", type=int, default=100, help="how many of each kind")
    reader.add_argument("--json", type=Path, help="the file that the figures are written to")
    given = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        figures = asyncio.run(
            _measure(Workspace.create(Path(folder) / "workspaces" / "mine"), given.commands)
        )
    sys.stdout.writelines(f"{name:42} {value:8.1f}\n" for name, value in figures.items())
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


async def _measure(workspace: Workspace, count: int) -> Figures:
    await Sandbox().run("true", workspace)  # what is found out once
    return {
        "load of the machine at the beginning": os.getloadavg()[0],
        **await _overhead(workspace, count),
        **await _stop(workspace, max(count // 5, 5)),
        "10 GB of output: growth, MiB": await _flood(workspace) / MIB,
    }


async def _overhead(workspace: Workspace, count: int) -> Figures:
    """Milliseconds that the sandbox adds to a command that does nothing."""
    bare: list[float] = []
    confined: list[float] = []
    for _ in range(count):
        bare.append(await _timed(_bare))
        confined.append(await _timed(lambda: Sandbox().run(":", workspace)))
    return {
        "bash alone, median ms": statistics.median(bare),
        "bash in the sandbox, median ms": statistics.median(confined),
        "bash in the sandbox, 95th percentile ms": statistics.quantiles(confined, n=20)[-1],
        "overhead, median ms": statistics.median(confined) - statistics.median(bare),
        "overhead, least ms": min(confined) - min(bare),
    }


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return 1000 * (time.perf_counter() - began)


async def _bare() -> None:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    words = ("/bin/bash", "-c", ":")
    process = await asyncio.create_subprocess_exec(*words, stdin=nothing, stdout=pipe, env={})
    await process.communicate()


async def _stop(workspace: Workspace, count: int) -> Figures:
    """Milliseconds from Stop until everything is dead and reaped."""
    took = [await _stopped(workspace) for _ in range(count)]
    return {"stop until all is dead, median ms": statistics.median(took), "the longest, ms": max(took)}


async def _stopped(workspace: Workspace) -> float:
    running = asyncio.Event()
    mark = f"{10**6 + time.monotonic_ns() % 10**6}"
    command = (
        f"setsid sleep {mark} & (setsid nohup sleep {mark} &) ; sleep {mark} & echo running; sleep {mark}"
    )
    work = asyncio.create_task(Sandbox().run(command, workspace, on_output=lambda _output: running.set()))
    await running.wait()
    began = time.perf_counter()
    work.cancel()
    await asyncio.wait([work])
    took = 1000 * (time.perf_counter() - began)
    if alive := _alive(mark):
        raise SystemExit(f"After a stop, {alive} processes went on.")
    return took


def _alive(mark: str) -> int:
    return sum(_says(words, mark) for words in Path("/proc").glob("[0-9]*/cmdline"))


def _says(words: Path, mark: str) -> bool:
    try:
        return mark.encode() in words.read_bytes()
    except OSError:
        return False


async def _flood(workspace: Workspace) -> float:
    """Bytes by which this process grows, at its peak, while a command prints without end."""
    await Sandbox().run("seq 100000", workspace)
    before = _peak_from_now_on()
    outcome = await Sandbox().run(
        "yes | head -c 10G", workspace, on_output=lambda output: output.text(2048, 6144)
    )
    if outcome.ok:
        raise SystemExit("A flood of output was not stopped.")
    return _peak() - before


def _peak_from_now_on() -> float:
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
