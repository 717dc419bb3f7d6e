"""What stands before bubblewrap on the command line: how root becomes an ordinary user first."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

from chat.agent.ownership import SANDBOX_UID, group_of, is_root
from chat.agent.sandbox.diagnosis import SandboxError

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
