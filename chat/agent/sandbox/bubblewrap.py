"""The command line for bubblewrap, and the descriptors that go with it."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from chat.agent.sandbox import seccomp
from chat.agent.sandbox.launch import bind
from chat.agent.sandbox.limits import SandboxLimits
from chat.agent.sandbox.reach import entrance
from chat.agent.workspace import MOUNT

NAMESPACES = ["user", "pid", "net", "ipc", "uts", "cgroup-try"]
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "TMPDIR": "/tmp",  # noqa: S108
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "PAGER": "cat",
}
_ETC = [
    "alternatives",
    "ca-certificates",
    "debian_version",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
]
FILES = {
    "/etc/passwd": "root:x:0:0::/:/bin/false\nuser:x:1000:1000::/tmp:/bin/bash\n",
    "/etc/group": "root:x:0:\nuser:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
}


READY = b"\0"
"""What the process prints when all is prepared, right before the command begins."""
# What bash does ahead of the command, in the same process: it sets the limits, says that it is ready, and
# goes on only while the server still holds the other end of its input. bubblewrap ties the sandbox's life to
# the server's at the very end of its preparations; one that ended earlier would leave a command behind.
# `read -t 0` waits for nothing: it fails while nothing can be read, and succeeds at the end of the input.
# On one line, so that the lines of the command count from 1.
_GATE = """{limits} && printf '\\0' && ! read -r -t 0 || exit; exec < /dev/null; eval "shift;$1" """


@dataclass(frozen=True)
class Invocation:
    """A process to start: its words, where to start it, what it inherits, and where it reports."""

    words: list[str]
    folder: str
    descriptors: list[int]
    status: int


def memory_file(opened: ExitStack, content: bytes = b"") -> int:
    """The descriptor of a file in memory, to be read from its beginning; closed together with `opened`."""
    made = os.memfd_create("sandbox")
    opened.callback(os.close, made)
    os.write(made, content)
    os.lseek(made, 0, os.SEEK_SET)
    return made


@contextmanager
def invocation(command: str, workspace: int, seconds: float, limits: SandboxLimits) -> Iterator[Invocation]:
    """How to run `command` with bash in the sandbox, in the workspace behind the descriptor `workspace`.

    bubblewrap's arguments go through a descriptor, because a process's words can be read inside
    (/proc/1/cmdline). The descriptors are closed at the end.
    """
    with ExitStack() as opened:
        memory = functools.partial(memory_file, opened)
        files = {path: memory(text.encode()) for path, text in FILES.items()}
        bound = bind(workspace)
        status, filter_ = memory(), memory(seccomp.program())
        arguments = memory("\0".join(_arguments(files, bound, limits)).encode())
        words = [
            "bwrap",
            "--args",
            f"{arguments}",
            "--seccomp",
            f"{filter_}",
            "--json-status-fd",
            f"{status}",
        ]
        gate = _GATE.format(limits=limits.ulimit(seconds))
        words += ["--", "/bin/bash", "-c", gate, "bash", command]
        descriptors = [*files.values(), status, filter_, arguments]
        if "--bind-fd" in bound:  # bubblewrap closes it; left open inside, it would be a way out
            descriptors.append(workspace)
        yield Invocation([*entrance(workspace), *words], f"/proc/self/fd/{workspace}", descriptors, status)


def _arguments(files: dict[str, int], bound: list[str], limits: SandboxLimits) -> list[str]:
    """bubblewrap's arguments. Their order counts: it works through them as through a script."""
    words = [f"--unshare-{name}" for name in NAMESPACES]
    words += ["--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += system()
    for path, content in files.items():
        words += ["--file", str(content), path]
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    words += [*tmpfs("/dev/shm", limits.shared_memory), "--remount-ro", "/dev"]  # noqa: S108
    words += tmpfs("/tmp", limits.temporary)  # noqa: S108
    return [*words, *bound, MOUNT, "--remount-ro", "/", "--chdir", MOUNT]


def tmpfs(path: str, size: int) -> list[str]:
    """A folder in memory; without a size it could take half of the machine's."""
    return ["--perms", "1777", "--size", str(size), "--tmpfs", path]


@functools.cache
def system() -> list[str]:
    """The parts of this machine that a command may read: an allow-list, so that nothing else is there."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(name):
            words += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            words += ["--ro-bind", name, name]
    for name in _ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return words
