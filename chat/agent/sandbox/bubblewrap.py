"""The command line for bubblewrap, and the descriptors that it needs."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from chat.agent.ownership import SANDBOX_UID, group_of, is_root
from chat.agent.sandbox import seccomp
from chat.agent.sandbox.limits import SandboxLimits
from chat.agent.workspace import MOUNT

_NAMESPACES = ["user", "pid", "net", "ipc", "uts", "cgroup-try"]
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "TMPDIR": "/tmp",  # noqa: S108
    "USER": "user",
    "LOGNAME": "user",
    "LANG": "C.UTF-8",
    "PYTHONPYCACHEPREFIX": "/tmp/pycache",  # noqa: S108 - instead of beside the user's files
}
_SHELL_ENVIRONMENT = {"SHELL": "/bin/bash", "TERM": "dumb", "PAGER": "cat"}
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
_FILES = {
    "/etc/passwd": "root:x:0:0::/:/bin/false\nuser:x:1000:1000::/tmp:/bin/bash\n",
    "/etc/group": "root:x:0:\nuser:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
}


READY = b"\0"
"""Printed when the sandbox is ready, right before the command starts."""
# Runs in the command's bash first: sets the limits, reports that it is ready, and continues only while the
# server still holds the other end of its input. bubblewrap ties the sandbox's life to the server's only at
# the very end of its setup, so a server that dies earlier would leave a command behind.
# `read -t 0` does not wait: it fails while nothing can be read, and succeeds at the end of the input.
# On one line, so that the line numbers of the command count from 1.
_GATE = """{limits} && printf '\\0' && ! read -r -t 0 || exit; exec < /dev/null; eval "shift;$1" """


@dataclass(frozen=True)
class Invocation:
    """A process to start: argv, working directory, inherited descriptors, and its status descriptor."""

    argv: list[str]
    folder: str
    descriptors: list[int]
    status: int


@contextmanager
def invocation(command: str, workspace: int, seconds: float, limits: SandboxLimits) -> Iterator[Invocation]:
    """How to run `command` with bash in the sandbox, in the workspace (a descriptor).

    The descriptors are closed on exit.
    """
    words = ["/bin/bash", "-c", _GATE.format(limits=limits.ulimit(seconds)), "bash", command]
    bind = bind_arguments(workspace)
    with confined(words, [*bind, MOUNT], MOUNT, _SHELL_ENVIRONMENT, limits) as (argv, descriptors, status):
        if "--bind-fd" in bind:  # bubblewrap closes it; left open inside, it would be a way out
            descriptors.append(workspace)
        argv = [*as_owner_prefix(workspace), *argv]
        yield Invocation(argv, f"/proc/self/fd/{workspace}", descriptors, status)


@contextmanager
def confined(
    command: Sequence[str],
    mounts: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    limits: SandboxLimits,
    *,
    network: bool = False,
) -> Iterator[tuple[list[str], list[int], int]]:
    """The argv that runs a command confined, the descriptors that it inherits, and its status descriptor.

    The command starts in `folder`, a path inside, and gets `environment` besides a few fixed variables.
    bubblewrap's arguments are passed through a descriptor, because argv can be read inside (/proc/1/cmdline).
    The descriptors are closed on exit.
    """
    with ExitStack() as opened:
        files = {path: _memory_file(opened, text.encode()) for path, text in _FILES.items()}
        status, filter_ = _memory_file(opened), _memory_file(opened, seccomp.program())
        words = [
            *_arguments(files, {**_ENVIRONMENT, **environment}, limits, network=network),
            *mounts,
            *("--remount-ro", "/", "--chdir", folder),
        ]
        arguments = _memory_file(opened, "\0".join(words).encode())
        argv = ["bwrap", "--args", f"{arguments}", "--seccomp", f"{filter_}", "--json-status-fd", f"{status}"]
        yield [*argv, "--", *command], [*files.values(), status, filter_, arguments], status


def _memory_file(opened: ExitStack, content: bytes = b"") -> int:
    descriptor = os.memfd_create("sandbox")
    opened.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _arguments(
    files: Mapping[str, int], environment: Mapping[str, str], limits: SandboxLimits, *, network: bool
) -> list[str]:
    argv = [f"--unshare-{name}" for name in _NAMESPACES if not (network and name == "net")]
    argv += ["--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in environment.items():
        argv += ["--setenv", name, value]
    argv += _system_mounts()
    if network:
        argv += ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
    for path, content in files.items():
        argv += ["--file", str(content), path]
    argv += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    argv += [*_tmpfs("/dev/shm", limits.shared_memory), "--remount-ro", "/dev"]  # noqa: S108
    return [*argv, *_tmpfs("/tmp", limits.temporary)]  # noqa: S108


def _tmpfs(path: str, size: int) -> list[str]:
    """A folder in memory; without a size it could take half of the machine's memory."""
    return ["--perms", "1777", "--size", str(size), "--tmpfs", path]


@functools.cache
def _system_mounts() -> list[str]:
    """Arguments for the parts of this machine that a command may read: an allow-list."""
    argv = ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(name):
            argv += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            argv += ["--ro-bind", name, name]
    for name in _ETC:
        argv += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return argv


# The user that commands run as may not be able to reach the workspace's path. As root, the workspace is
# bound over /tmp in a mount namespace. Creating one takes some milliseconds, so there is one per workspace,
# entered by every command.

_MAX_NAMESPACES = 32  # kept open; each takes two descriptors
# `-c`: the mount uses ".", the opened folder, as it is and never looks up a path that may have changed. The
# process then waits until the namespace was opened from outside.
_BIND = "mount -c --bind . /tmp && echo && read -r done"


@dataclass(frozen=True)
class _Namespace:
    """A mount namespace with a workspace in it. The folder is held open so that its inode is not reused."""

    folder: int
    descriptor: int

    def close(self) -> None:
        os.close(self.folder)
        os.close(self.descriptor)


_namespaces: OrderedDict[tuple[int, int], _Namespace] = OrderedDict()


def as_owner_prefix(workspace: int) -> list[str]:
    """The argv prefix to run `bwrap` as the owner; empty if not root. Blocks; raises SandboxError."""
    owner = os.fstat(workspace)
    if not is_root() or owner.st_uid == 0 or not can_unshare():
        return launch_prefix(owner)
    opened = f"--mount=/proc/{os.getpid()}/fd/{_namespace_of(workspace, owner).descriptor}"
    return ["nsenter", opened, f"--setgid={group_of(owner)}", f"--setuid={owner.st_uid}", "--"]


def _namespace_of(workspace: int, status: os.stat_result) -> _Namespace:
    key = (status.st_dev, status.st_ino)
    if key not in _namespaces:
        _namespaces[key] = _create_namespace(workspace)
    _namespaces.move_to_end(key)
    while len(_namespaces) > _MAX_NAMESPACES:
        _namespaces.popitem(last=False)[1].close()
    return _namespaces[key]


def _create_namespace(workspace: int) -> _Namespace:
    argv = ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _BIND]
    here = f"/proc/self/fd/{workspace}"
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603
        argv, cwd=here, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT
    ) as process:
        line = process.stdout.readline() if process.stdout else b""
        if line != b"\n":
            raise SandboxError(explain(line.decode(errors="replace")))
        descriptor = os.open(f"/proc/{process.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    return _Namespace(os.dup(workspace), descriptor)


PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH}
"""bubblewrap's whole environment: it can be read inside, through /proc/1/environ."""

# In a new mount namespace, the working directory (the workspace) is bound over /tmp, which every user can
# reach, whatever the modes of the workspace's parents. `-c`: the mount uses ".", the opened folder, as it is
# and never looks up a path that may have changed.
_BIND_HERE = 'mount -c --bind . /tmp && cd / && unset OLDPWD PWD && exec "$@"'


def missing_programs() -> list[str]:
    needed = ["bwrap", "prlimit"] + (["setpriv", "unshare", "mount", "nsenter"] if is_root() else [])
    return [name for name in needed if not shutil.which(name, path=PATH)]


def launch_prefix(owner: os.stat_result) -> list[str]:
    """The argv prefix that runs `bwrap` as the workspace's owner; empty if the server is not root."""
    if not is_root():
        return []
    if owner.st_uid == 0:
        raise SandboxError(
            "The workspace belongs to root, and commands never run as root: start the server as an ordinary "
            f"user, or give the folder to one (chown -R {SANDBOX_UID}:{SANDBOX_UID} and its path)."
        )
    drop = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={group_of(owner)}", "--clear-groups", "--"]
    if not can_unshare():
        return drop
    return ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _BIND_HERE, "sh", *drop]


def bind_arguments(workspace: int) -> list[str]:
    if is_root() and can_unshare():
        return ["--bind", "/tmp"]  # noqa: S108 - see _BIND_HERE
    if not is_root() and _has_bind_fd():
        return ["--bind-fd", str(workspace)]
    return ["--bind", os.readlink(f"/proc/self/fd/{workspace}")]


@functools.cache
def can_unshare() -> bool:
    """Whether root may create a mount namespace here; in most containers it may not."""
    return not _run("unshare", "--mount", "--propagation", "private", "--", "true").returncode


@functools.cache
def _has_bind_fd() -> bool:
    return b"--bind-fd" in _run("bwrap", "--help").stdout


def _run(*argv: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True)  # noqa: S603
    except FileNotFoundError:
        return subprocess.CompletedProcess(argv, 127, b"", b"")


_CAUSES = [
    (
        (
            "No permissions to create new namespace",
            "unshare: unshare failed",
            "Creating new namespace failed: Operation",
        ),
        "This system does not let ordinary users make namespaces (a container's seccomp profile, or a "
        "sysctl): run the container with a profile that allows user namespaces (as podman does), or set "
        "kernel.unprivileged_userns_clone=1.",
    ),
    (
        ("max_*_namespaces exceeded", "No space left on device"),
        "The number of user namespaces is used up or set to zero: raise the sysctl user.max_user_namespaces.",
    ),
    (
        ("RTM_NEWADDR", "setting up uid map"),
        "AppArmor keeps bubblewrap from using user namespaces: install the distribution's profile for it "
        "(Ubuntu: apparmor-profiles, bwrap-userns-restrict), or set "
        "kernel.apparmor_restrict_unprivileged_userns=0.",
    ),
    (
        ("Can't mount proc",),
        "The container hides parts of /proc, so that no new one can be mounted: start it with "
        "--security-opt systempaths=unconfined.",
    ),
    (
        ("Failed to make / slave", "mount: ", "Failed to mount"),
        "The container or AppArmor forbids mounts: start it with --security-opt apparmor=unconfined "
        "and a seccomp profile that allows user namespaces.",
    ),
    (
        ("Can't find source path", "Permission denied"),
        "The workspace lies beneath a folder that the sandbox's user cannot enter: give its parents "
        "mode 0711 (chmod 711), or move DATA_DIR.",
    ),
    (
        ("Unknown option",),
        "bubblewrap is older than 0.8.0: update it.",
    ),
    (
        ("setresuid failed", "setgroups failed", "setresgid failed"),
        "Root may not become an ordinary user here (a container with a single user): start the server as an "
        "ordinary user.",
    ),
]


class SandboxError(Exception):
    """The sandbox could not run; the message names the cause and, if known, the cure."""


def explain(output: str) -> str:
    last = (output.strip().splitlines() or ["it ended without a word"])[-1][:300]
    for signs, cure in _CAUSES:
        if any(sign in output for sign in signs):
            return f"Commands cannot run in a sandbox here ({last}). {cure}"
    return f"Commands cannot run in a sandbox here: {last}."
