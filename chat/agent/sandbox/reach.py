"""How root's sandbox gets to a workspace that the user whom commands run as may not be able to reach.

A mount namespace in which the workspace is bound over /tmp costs some milliseconds to make, so it is made
once for a workspace and entered by every command.
"""

from __future__ import annotations

import os
import subprocess
from collections import OrderedDict
from dataclasses import dataclass

from chat.agent.ownership import group_of, is_root
from chat.agent.sandbox.diagnosis import SandboxError, explain
from chat.agent.sandbox.launch import ENVIRONMENT, can_unshare, launcher

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
