"""A server's program in the sandbox: as `bash`, but lasting, with its input open and a folder of its own."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from chat.agent.mcp.server import Program, ServerError
from chat.agent.ownership import group_of, is_root
from chat.agent.sandbox import SandboxError, seccomp
from chat.agent.sandbox.bubblewrap import FILES, NAMESPACES, Invocation, memory_file, system, tmpfs
from chat.agent.sandbox.launch import can_unshare, launcher
from chat.agent.sandbox.limits import SandboxLimits
from chat.agent.workspace import Workspace

HOME = "/data"
"""Where the server sees its scratch folder, in which it starts."""
SCRATCH = "scratch"
_FOREVER = 100 * 365 * 24 * 3600  # seconds of processor time
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
    "USER": "user",
    "LOGNAME": "user",
    "LANG": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
}
# As for `bash`, but what follows reads from the input that the line came from.
_GATE = """printf '\\0' && read -r go && exec "$@" """
# In a mount namespace of its own, what the server may see is put together beneath its folder, and that is
# bound over /tmp, which every user can reach, whatever the modes of the parents say.
_ASSEMBLE = """count=$1; shift; place=0
while [ $place -lt $count ]; do
    mount --bind -- "$1" "readable/$place" || exit 1
    shift; place=$((place + 1))
done
mount -c --rbind . /tmp && cd / && unset OLDPWD PWD && exec "$@"
"""


@contextmanager
def invocation(program: Program, limits: SandboxLimits) -> Iterator[Invocation]:
    """How to start the program in the sandbox. The descriptors are closed at the end.

    Raises ServerError when it cannot be started here.
    """
    _check(program)
    scratch = _prepare(program)
    with ExitStack() as opened:
        memory = functools.partial(memory_file, opened)
        files = {path: memory(text.encode()) for path, text in FILES.items()}
        status, filter_ = memory(), memory(seccomp.program())
        arguments = memory("\0".join(_arguments(program, files, limits)).encode())
        words = [
            "bwrap",
            "--args",
            str(arguments),
            "--seccomp",
            str(filter_),
            "--json-status-fd",
            str(status),
        ]
        words += ["--", "prlimit", *limits.prlimit(_FOREVER), "--", "/bin/sh", "-c", _GATE, "sh"]
        words = [*_start(program, scratch), *words, *program.words]
        yield Invocation(words, str(program.folder), [*files.values(), status, filter_, arguments], status)


def _check(program: Program) -> None:
    texts = [*program.words, *program.readable, *program.environment, *program.environment.values()]
    if not program.words or any("\0" in text for text in texts):
        raise ServerError("Its command is empty, or something of it contains a NUL character.")
    for folder in program.readable:
        if not os.path.isdir(folder):
            raise ServerError(f"It is to read {folder}, which is no folder here.")


def _prepare(program: Program) -> os.stat_result:
    """Make the server's folder, with a scratch folder that the sandbox's user owns."""
    try:
        (program.folder / "readable").mkdir(parents=True, exist_ok=True)
        for place, _folder in enumerate(program.readable):
            (program.folder / "readable" / str(place)).mkdir(exist_ok=True)
        program.folder.chmod(0o711)
        return os.stat(Workspace.create(program.folder / SCRATCH).path)
    except OSError as error:
        raise ServerError(f"Its folder cannot be made: {error.strerror}.") from error


def _start(program: Program, scratch: os.stat_result) -> list[str]:
    """The words before `bwrap`, by which root becomes the scratch folder's owner."""
    try:
        words = launcher(scratch)
    except SandboxError:
        raise ServerError("Its scratch folder belongs to root, and no server ever runs as root.") from None
    if not _assembles():
        return words
    drop = ["setpriv", f"--reuid={scratch.st_uid}", f"--regid={group_of(scratch)}", "--clear-groups", "--"]
    unshare = ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _ASSEMBLE, "sh"]
    return [*unshare, str(len(program.readable)), *program.readable, *drop]


def _assembles() -> bool:
    return is_root() and can_unshare()


def _arguments(program: Program, files: dict[str, int], limits: SandboxLimits) -> list[str]:
    """bubblewrap's arguments. Their order counts: it works through them as through a script."""
    words = [f"--unshare-{name}" for name in NAMESPACES if not (program.network and name == "net")]
    words += ["--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in {**_ENVIRONMENT, **program.environment}.items():
        words += ["--setenv", name, value]
    words += system()
    if program.network:
        words += ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
    for path, content in files.items():
        words += ["--file", str(content), path]
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    words += [*tmpfs("/dev/shm", limits.shared_memory), "--remount-ro", "/dev"]  # noqa: S108
    words += tmpfs("/tmp", limits.temporary)  # noqa: S108
    return [*words, *_bound(program), "--remount-ro", "/", "--chdir", HOME]


def _bound(program: Program) -> list[str]:
    """The server's own parts of the file system: its scratch folder, and what it may read."""
    staged = Path("/tmp") if _assembles() else None  # noqa: S108 - see _ASSEMBLE
    words: list[str] = []
    for place, folder in enumerate(program.readable):
        words += ["--ro-bind", str(staged / "readable" / str(place)) if staged else folder, folder]
    return [*words, "--bind", str((staged or program.folder) / SCRATCH), HOME]
