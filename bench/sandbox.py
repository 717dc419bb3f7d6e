"""The cost of the sandbox: `python -m bench.sandbox [--commands N] [--json FILE]`.

Run as root it measures root with the user dropped, otherwise the current user. Prints a table and writes
JSON. Sandboxed and bare commands alternate, so that both see the same load.
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=100, help="how many of each kind")
    parser.add_argument("--json", type=Path, help="the file that the figures are written to")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        figures = asyncio.run(
            _measure(Workspace.create(Path(folder) / "workspaces" / "mine"), arguments.commands)
        )
    sys.stdout.writelines(f"{name:42} {value:8.1f}\n" for name, value in figures.items())
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


async def _measure(workspace: Workspace, count: int) -> Figures:
    await Sandbox().run("true", workspace)  # warm up what is probed once
    return {
        "load of the machine at the beginning": os.getloadavg()[0],
        **await _overhead(workspace, count),
        **await _stop(workspace, max(count // 5, 5)),
        "10 GB of output: growth, MiB": await _flood(workspace) / MIB,
    }


async def _overhead(workspace: Workspace, count: int) -> Figures:
    bare: list[float] = []
    sandboxed: list[float] = []
    for _ in range(count):
        bare.append(await _timed(_bare))
        sandboxed.append(await _timed(lambda: Sandbox().run(":", workspace)))
    return {
        "bash alone, median ms": statistics.median(bare),
        "bash in the sandbox, median ms": statistics.median(sandboxed),
        "bash in the sandbox, 95th percentile ms": statistics.quantiles(sandboxed, n=20)[-1],
        "overhead, median ms": statistics.median(sandboxed) - statistics.median(bare),
        "overhead, least ms": min(sandboxed) - min(bare),
    }


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return 1000 * (time.perf_counter() - started)


async def _bare() -> None:
    pipe, devnull = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    command = ("/bin/bash", "-c", ":")
    process = await asyncio.create_subprocess_exec(*command, stdin=devnull, stdout=pipe, env={})
    await process.communicate()


async def _stop(workspace: Workspace, count: int) -> Figures:
    durations = [await _stop_once(workspace) for _ in range(count)]
    return {
        "stop until all is dead, median ms": statistics.median(durations),
        "the longest, ms": max(durations),
    }


async def _stop_once(workspace: Workspace) -> float:
    running = asyncio.Event()
    marker = f"{10**6 + time.monotonic_ns() % 10**6}"
    command = (
        f"setsid sleep {marker} & (setsid nohup sleep {marker} &) ; "
        f"sleep {marker} & echo running; sleep {marker}"
    )
    work = asyncio.create_task(Sandbox().run(command, workspace, on_output=lambda _output: running.set()))
    await running.wait()
    started = time.perf_counter()
    work.cancel()
    await asyncio.wait([work])
    duration = 1000 * (time.perf_counter() - started)
    if alive := _alive(marker):
        raise SystemExit(f"After a stop, {alive} processes went on.")
    return duration


def _alive(marker: str) -> int:
    return sum(_contains(cmdline, marker) for cmdline in Path("/proc").glob("[0-9]*/cmdline"))


def _contains(cmdline: Path, marker: str) -> bool:
    try:
        return marker.encode() in cmdline.read_bytes()
    except OSError:
        return False


async def _flood(workspace: Workspace) -> float:
    """Bytes by which this process grows at its peak while a command prints without end."""
    await Sandbox().run("seq 100000", workspace)
    before = _reset_peak()
    outcome = await Sandbox().run(
        "yes | head -c 10G", workspace, on_output=lambda output: output.text(2048, 6144)
    )
    if outcome.ok:
        raise SystemExit("A flood of output was not stopped.")
    return _peak() - before


def _reset_peak() -> float:
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
