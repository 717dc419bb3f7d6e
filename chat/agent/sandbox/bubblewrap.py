"""The command line for bubblewrap, and the descriptors that go with it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from chat.agent.ownership import SANDBOX_UID, group_of, is_root
from chat.agent.sandbox import seccomp
from chat.agent.sandbox.limits import SandboxLimits
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


# How root's sandbox gets to a workspace that the user whom commands run as may not be able to reach.
#
# A mount namespace in which the workspace is bound over /tmp costs some milliseconds to make, so it is made
# once for a workspace and entered by every command.

_MOST = 32  # namespaces kept; each takes two descriptors
# `-c`: the mount takes "." as it is, the folder that was opened, and never looks up a path that someone may
# have changed. The namespace then waits to be opened from outside.
_BIND = "mount -c --bind . /tmp && echo && read -r done"


@dataclass(frozen=True)
class _Namespace:
    """A mount namespace with a workspace in it. The folder is held open so that its number stays its own."""

    folder: int
    number: int

    def close(self) -> None:
        os.close(self.folder)
        os.close(self.number)


_made: OrderedDict[tuple[int, int], _Namespace] = OrderedDict()


def entrance(workspace: int) -> list[str]:
    """The words before `bwrap` to run it as the owner of the workspace behind a descriptor.

    None when the server is not root. Blocks; raises SandboxError.
    """
    owner = os.fstat(workspace)
    if not is_root() or owner.st_uid == 0 or not can_unshare():
        return launcher(owner)
    opened = f"--mount=/proc/{os.getpid()}/fd/{_namespace_of(workspace, owner).number}"
    return ["nsenter", opened, f"--setgid={group_of(owner)}", f"--setuid={owner.st_uid}", "--"]


def _namespace_of(workspace: int, status: os.stat_result) -> _Namespace:
    place = (status.st_dev, status.st_ino)
    if place not in _made:
        _made[place] = _make(workspace)
    _made.move_to_end(place)
    while len(_made) > _MOST:
        _made.popitem(last=False)[1].close()
    return _made[place]


def _make(workspace: int) -> _Namespace:
    words = ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _BIND]
    here = f"/proc/self/fd/{workspace}"
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603
        words, cwd=here, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT
    ) as making:
        told = making.stdout.readline() if making.stdout else b""
        if told != b"\n":
            raise SandboxError(explain(told.decode(errors="replace")))
        number = os.open(f"/proc/{making.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    return _Namespace(os.dup(workspace), number)


PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH}
"""All that bubblewrap itself gets to see: its own environment can be read inside, through /proc/1/environ."""

# In a mount namespace of its own, the folder in which this starts (the workspace) is bound over /tmp, which
# every user can reach, whatever the modes of the workspace's parents say. `-c`: the mount takes "." as it
# is, the folder that was opened, and never looks up a path that someone may have changed.
_BIND_HERE = 'mount -c --bind . /tmp && cd / && unset OLDPWD PWD && exec "$@"'


def missing_programs() -> list[str]:
    """Which of the programs that this needs are not installed."""
    needed = ["bwrap", "prlimit"] + (["setpriv", "unshare", "mount", "nsenter"] if is_root() else [])
    return [name for name in needed if not shutil.which(name, path=PATH)]


def launcher(owner: os.stat_result) -> list[str]:
    """The words before `bwrap`, to run it as the workspace's owner; none when the server is not root."""
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


def bind(workspace: int) -> list[str]:
    """bubblewrap's first words to bind the workspace, given its descriptor (one that bubblewrap inherits)."""
    if is_root() and can_unshare():
        return ["--bind", "/tmp"]  # noqa: S108 - see _BIND_HERE
    if not is_root() and _has_bind_fd():
        return ["--bind-fd", str(workspace)]
    return ["--bind", os.readlink(f"/proc/self/fd/{workspace}")]


@functools.cache
def can_unshare() -> bool:
    """Whether root may make a mount namespace here; in most containers it may not."""
    return not _run("unshare", "--mount", "--propagation", "private", "--", "true").returncode


@functools.cache
def _has_bind_fd() -> bool:
    return b"--bind-fd" in _run("bwrap", "--help").stdout


def _run(*words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(words, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True)  # noqa: S603
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, 127, b"", b"")


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
    """The sandbox itself could not run; the message names the cause and, where it is known, the cure."""


def explain(printed: str) -> str:
    """One sentence about what bubblewrap, or a program before it, printed when it could not run."""
    last = (printed.strip().splitlines() or ["it ended without a word"])[-1][:300]
    for signs, cure in _CAUSES:
        if any(sign in printed for sign in signs):
            return f"Commands cannot run in a sandbox here ({last}). {cure}"
    return f"Commands cannot run in a sandbox here: {last}."
