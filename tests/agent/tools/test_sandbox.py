"""The sandbox: user, working directory, and errors when it cannot run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chat.agent.ownership import SANDBOX_UID
from chat.agent.sandbox import CommandOutcome, Sandbox, SandboxError, probe
from chat.agent.sandbox.bubblewrap import explain
from chat.agent.workspace import Workspace, WorkspaceError
from tests.agent.tools.people import Server


def test_files_of_commands_and_of_file_tools_are_everyones(server: Server) -> None:
    async def scenario() -> str:
        workspace = server.workspace
        workspace.write("src/from_tool", b"one\n")
        assert (
            await Sandbox().run(
                "echo two >> src/from_tool; echo one > from_bash; chmod 600 from_bash", workspace
            )
        ).ok
        workspace.write("from_bash", b"two\n", expected=workspace.read("from_bash"))
        found: CommandOutcome = await Sandbox().run(
            "cat src/from_tool from_bash; rm -r src; stat -c %a:%U from_bash", workspace
        )
        return found.output

    assert server.run(scenario) == "one\ntwo\ntwo\n600:user\n"


def test_a_workspace_made_by_mkdtemp(server: Server) -> None:
    async def scenario() -> str:
        with tempfile.TemporaryDirectory() as made:
            outcome = await Sandbox().run("touch x && stat -c %a . && ls", Workspace.create(made))
            return outcome.output

    assert server.run(scenario) == "700\nx\n"


@pytest.mark.parametrize("owner", [46000] if os.geteuid() == 0 else [os.geteuid()])
async def test_commands_run_as_the_owner_of_a_folder(tmp_path: Path, owner: int) -> None:
    os.chown(tmp_path, owner, -1)
    outcome = await Sandbox().run("id -u; touch made", Workspace(tmp_path))
    assert outcome.output == "1000\n"
    assert (tmp_path / "made").stat().st_uid == owner
    Workspace(tmp_path).write("folder/file", b"")
    assert (tmp_path / "folder").stat().st_uid == (tmp_path / "folder" / "file").stat().st_uid == owner


async def test_python_leaves_no_compiled_files(tmp_path: Path) -> None:
    command = "echo 'print(1)' > part.py; python3 -c 'import part'; ls -A"
    outcome = await Sandbox().run(command, Workspace.create(tmp_path / "made"))
    assert outcome.output == "1\npart.py\n"


async def test_commands_never_run_as_root(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        assert (await Sandbox().run("true", Workspace(tmp_path))).ok
        return
    with pytest.raises(SandboxError, match=r"belongs to root, and commands never run as root.*chown"):
        await Sandbox().run("true", Workspace(tmp_path))


def test_create_hands_over_what_root_put_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    Workspace.create(tmp_path)
    expected = SANDBOX_UID if os.geteuid() == 0 else os.geteuid()
    assert {path.lstat().st_uid for path in [tmp_path, *tmp_path.rglob("*")]} == {expected}
    assert Path("/etc/passwd").stat().st_uid == 0


async def test_a_workspace_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be opened: No such file"):
        await Sandbox().run("true", Workspace(tmp_path / "gone"))


@pytest.mark.parametrize(
    ("command", "said"),
    [("", "empty"), (" \n", "empty"), ("a\0b", "NUL"), ("\ud800", "UTF-8"), ("x" * 200_000, "100 KiB")],
)
async def test_what_is_no_command(workspace: Workspace, command: str, said: str) -> None:
    with pytest.raises(SandboxError, match=said):
        await Sandbox().run(command, workspace)


def test_the_workspace_is_the_folder_that_was_opened(workspace: Workspace) -> None:
    """The folder may be replaced by a link between the check and the mount."""
    outside = workspace.path.parent / "outside"
    outside.mkdir()
    moved = workspace.path.with_name("moved")
    with workspace.open_root() as folder:
        workspace.path.rename(moved)
        workspace.path.symlink_to(outside)
        outcome = asyncio.run(Sandbox().run("touch here", Workspace(f"/proc/self/fd/{folder}")))
    assert outcome.ok
    assert (moved / "here").exists()
    assert not list(outside.iterdir())


def test_the_self_test_passes(server: Server) -> None:
    assert server.run(probe) is None
    assert server.run(lambda: probe(server.data)) is None


def test_the_self_test_cleans_up(tmp_path: Path) -> None:
    assert asyncio.run(probe(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("printed", "cure"),
    [
        ("bwrap: No permissions to create new namespace, likely because ...", "user namespaces"),
        (
            "bwrap: Creating new namespace failed: ... max_*_namespaces exceeded (ENOSPC)",
            "user.max_user_namespaces",
        ),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "apparmor"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths=unconfined"),
        ("bwrap: Failed to make / slave: Permission denied", "seccomp profile"),
        ("bwrap: Can't find source path /root/x: Permission denied", "chmod 711"),
        ("bwrap: Unknown option --disable-userns", "older than 0.8.0"),
        ("setpriv: setresuid failed: Invalid argument", "ordinary user"),
        ("something new", "something new"),
        ("", "without a word"),
    ],
)
def test_a_failure_is_explained(printed: str, cure: str) -> None:
    assert cure in explain(printed)


# The server in a user namespace of its own, as in a container, with a limit that a sysctl may set. A process
# that stayed outside writes the maps, because only it may map more than one user.
_IN_NAMESPACE = """
import asyncio, ctypes, os, pathlib, sys
from chat.agent.sandbox import probe
users, groups, most = sys.argv[1:]
server = os.getpid()
waiting, ready = os.pipe()
outside = os.fork()
if outside == 0:
    os.read(waiting, 1)
    groups_too = "deny" if os.getuid() else "allow"
    for name, text in (("setgroups", groups_too), ("uid_map", users), ("gid_map", groups)):
        pathlib.Path(f"/proc/{server}/{name}").write_text(text)
    os._exit(0)
assert ctypes.CDLL(None).unshare(0x10000000) == 0
os.write(ready, b"x")
assert os.waitpid(outside, 0)[1] == 0
pathlib.Path("/proc/sys/user/max_user_namespaces").write_text(most)
print(asyncio.run(probe()))
"""


def _probe_in_namespace(users: str, groups: str, most: int) -> str:
    words = [sys.executable, "-c", _IN_NAMESPACE, users, groups, str(most)]
    done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_without_user_namespaces_the_self_test_says_so() -> None:
    user, group = os.geteuid(), os.getegid()
    maps = ["0 0 65536"] * 2 if user == 0 else [f"{user} {user} 1", f"{group} {group} 1"]
    assert "user.max_user_namespaces" in _probe_in_namespace(*maps, 0)
    assert _probe_in_namespace(*maps, 1000) == "None\n"


def test_a_root_who_cannot_become_anyone_else_is_told() -> None:
    said = _probe_in_namespace(f"0 {os.geteuid()} 1", f"0 {os.getegid()} 1", 1000)
    assert "start the server as an ordinary user" in said


async def test_a_command_that_fails_like_bubblewrap_is_a_failed_command(workspace: Workspace) -> None:
    outcome = await Sandbox().run("echo 'bwrap: No permissions to create new namespace'; exit 1", workspace)
    assert outcome.exit_code == 1


async def test_overhead(workspace: Workspace) -> None:
    sandbox = Sandbox()
    times = [(await sandbox.run("true", workspace)).seconds for _ in range(20)]
    assert min(times) < 0.1  # about 0.01 on a quiet machine; `make bench` tells it exactly


async def test_the_end_of_a_thread_ends_no_command(workspace: Workspace) -> None:
    """bubblewrap dies with the thread that starts it, so that must be the loop's."""
    running = asyncio.Event()
    loop = asyncio.get_running_loop()
    first = ThreadPoolExecutor()
    loop.set_default_executor(first)
    command = "echo running; until [ -e go ]; do sleep 0.01; done; echo done"
    work = asyncio.create_task(Sandbox().run(command, workspace, on_output=lambda _output: running.set()))
    await running.wait()
    loop.set_default_executor(ThreadPoolExecutor())
    first.shutdown()
    workspace.write("go", b"")
    assert (await work).output == "running\ndone\n"


async def test_each_workspace_keeps_its_own_entrance(tmp_path: Path) -> None:
    """As root, namespaces are cached per workspace; they must not be mixed up."""
    one, two = (Workspace.create(tmp_path / "workspaces" / name) for name in ("one", "two"))
    for workspace, text in ((one, "1"), (two, "2"), (one, "3")):
        assert (await Sandbox().run(f"echo {text} >> file", workspace)).ok
    assert (one.path / "file").read_text() == "1\n3\n"
    assert (two.path / "file").read_text() == "2\n"
    for path in (one.path, two.path):
        (path / "file").unlink()
        path.rmdir()
    again = Workspace.create(one.path)
    assert (await Sandbox().run("ls; echo new > file", again)).output == ""
    assert (again.path / "file").read_text() == "new\n"


async def test_entrances_are_not_kept_without_end(tmp_path: Path) -> None:
    most = 0
    for number in range(36):
        await Sandbox().run("true", Workspace.create(tmp_path / f"{number}"))
        most = max(most, len(os.listdir("/proc/self/fd")))
    await Sandbox().run("true", Workspace.create(tmp_path / "last"))
    assert len(os.listdir("/proc/self/fd")) <= most
