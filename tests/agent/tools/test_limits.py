"""A command that exceeds its limits is stopped without affecting the server."""

from __future__ import annotations

import shlex
from pathlib import Path

from chat.agent.sandbox import Ended, Output, Sandbox
from chat.agent.sandbox.limits import MIB
from chat.agent.workspace import Workspace
from tests.agent.tools.people import Server


def test_time(server: Server) -> None:
    outcome = server.bash("echo before; sleep 60", timeout=0.5)
    assert (outcome.ended, outcome.note) == (Ended.TIMEOUT, "[timed out after 0.5 s]")
    assert outcome.output == "before\n"
    assert outcome.seconds < 2


def test_time_asked_for_beyond_the_most_is_cut(server: Server) -> None:
    assert server.bash("sleep 60", timeout=500, max_seconds=1).note == "[timed out after 1 s]"


def test_a_process_that_ignores_signals_is_killed_too(server: Server) -> None:
    outcome = server.bash("trap '' TERM INT HUP; (trap '' TERM; sleep 60) & while :; do :; done", timeout=0.5)
    assert outcome.ended is Ended.TIMEOUT
    assert outcome.seconds < 2


def test_a_fork_bomb(server: Server) -> None:
    outcome = server.bash(":(){ :|:& };:; wait; sleep 60", timeout=1, processes=64)
    assert outcome.seconds < 4


def test_processes_are_counted_for_each_sandbox(server: Server) -> None:
    threads = (
        "import threading, time\n"
        "for n in range(500): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
    )
    outcome = server.bash(f"python3 -c {shlex.quote(threads)} 2>&1 | tail -1", processes=64)
    assert "can't start new thread" in outcome.output


def test_memory_of_one_process(server: Server) -> None:
    outcome = server.bash("python3 -c \"b'x' * (400 << 20)\"", memory=200 * MIB)
    assert "MemoryError" in outcome.output


def test_memory_of_all_together_and_shared(server: Server) -> None:
    hold = "import mmap, time; m = mmap.mmap(-1, 150 << 20); m.write(b'x' * (150 << 20)); time.sleep(30)"
    command = f"for n in 1 2 3; do python3 -c {shlex.quote(hold)} & done; wait"
    outcome = server.bash(command, memory=300 * MIB)
    assert (outcome.ended, outcome.note) == (Ended.MEMORY, "[killed: it used more than 300 MiB of memory]")
    assert outcome.seconds < 8


def test_memory_that_processes_share_counts_once(server: Server) -> None:
    fork = (
        "import os, time; x = b'x' * (120 << 20); [os.fork() or time.sleep(1) or os._exit(0) for n in 'abcd']"
    )
    outcome = server.bash(f"python3 -c {shlex.quote(fork)}; sleep 1", memory=300 * MIB)
    assert outcome.ok


def test_address_space(server: Server) -> None:
    reserve = "import mmap; mmap.mmap(-1, 9 << 30)"
    assert "Cannot allocate memory" in server.bash(f"python3 -c {shlex.quote(reserve)}").output


def test_cpu_time(server: Server) -> None:
    assert server.bash("ulimit -t", timeout=3).output.strip().isdigit()


def test_file_size(server: Server) -> None:
    outcome = server.bash("head -c 3M /dev/zero > big", file_size=MIB)
    assert not outcome.ok
    assert (server.folder / "big").stat().st_size == MIB


def test_open_files(server: Server) -> None:
    open_many = "[open('/dev/null') for n in range(1000)]"
    assert "Too many open files" in server.bash(f'python3 -c "{open_many}"').output


def test_no_core_dumps(server: Server) -> None:
    assert not server.bash("ulimit -c unlimited; kill -SEGV $$").ok
    assert list(server.folder.iterdir()) == []


def test_temporary_folders_are_small(server: Server) -> None:
    outcome = server.bash("head -c 100M /dev/zero > /tmp/x; head -c 100M /dev/zero > /dev/shm/x")
    assert outcome.output.count("No space left on device") == 2


def test_disk_space_is_not_reserved(server: Server) -> None:
    outcome = server.bash("fallocate -l 100M big")
    assert "not supported" in outcome.output
    assert (server.folder / "big").stat().st_blocks == 0


def test_a_full_disk(server: Server) -> None:
    fill = "while :; do head -c 1M /dev/zero >> big; sleep 0.02; done"
    outcome = server.bash(fill, workspace_bytes=5 * MIB)
    assert outcome.ended is Ended.DISK
    assert "more than 5 MiB" in outcome.note


def test_too_many_files(server: Server) -> None:
    flood = "n=0; while :; do mkdir $n; : > $n/file; n=$((n+1)); done"
    assert server.bash(flood, workspace_files=50).ended is Ended.DISK


def test_files_nested_too_deep_to_count(server: Server) -> None:
    nest = "import os, time\nfor n in range(3000): os.mkdir('deep'); os.chdir('deep')\ntime.sleep(9)"
    assert server.bash(f"python3 -c {shlex.quote(nest)}").ended is Ended.DISK


def test_a_command_that_frees_a_full_disk_may_go_on(server: Server) -> None:
    assert server.bash("for n in $(seq 30); do head -c 1M /dev/zero > $n; done").ok
    free = "for n in $(seq 30); do rm $n; sleep 0.04; done; echo freed"
    assert server.bash(free, workspace_bytes=5 * MIB).output == "freed\n"


async def test_ten_gigabytes_of_output(workspace: Workspace) -> None:
    sandbox = Sandbox()
    await sandbox.run("seq 100000", workspace)
    heard: set[int] = set()
    before = _memory_from_now_on()
    flood = "seq 3; yes | head -c 10G; echo never"
    outcome = await sandbox.run(flood, workspace, on_output=lambda output: heard.add(len(output.text(9, 9))))
    assert _memory("VmHWM") - before < 5 * MIB
    assert (outcome.ended, outcome.note) == (Ended.OUTPUT, "[killed: it printed more than 64 MiB]")
    assert max(heard) < 100
    assert outcome.output.startswith("1\n2\n3\ny\ny\n")
    assert len(outcome.output) < 50_000
    assert outcome.seconds < 5


async def test_binary_output(workspace: Workspace) -> None:
    outcome = await Sandbox().run("head -c 1000000 /dev/urandom; printf '\\0'", workspace)
    assert outcome.ok
    assert "\0" not in outcome.output
    outcome.output.encode()


async def test_output_is_told_while_it_comes(workspace: Workspace) -> None:
    heard: list[str] = []
    command = "echo näher; until [ -e go ]; do sleep 0.02; done; yes | head -c 5000"

    def listen(output: Output) -> None:
        heard.append(output.text())
        (workspace.path / "go").touch()

    outcome = await Sandbox().run(command, workspace, timeout=10, on_output=listen)
    assert outcome.ok
    assert heard[0] == "näher\n"
    assert heard[-1] == outcome.output


def _memory_from_now_on() -> int:
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    return _memory("VmHWM")


def _memory(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what + ":"))
