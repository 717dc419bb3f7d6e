"""The sandbox's self-test: a command that checks its own confinement."""

from __future__ import annotations

import tempfile
from pathlib import Path

from chat.agent.sandbox import bubblewrap, seccomp
from chat.agent.sandbox.bubblewrap import SandboxError
from chat.agent.sandbox.runner import Sandbox
from chat.agent.workspace import Workspace

# Each line prints a problem; a working sandbox prints only the last word.
_SELF_TEST = """
[ "$(id -u)" = 1000 ] || echo "runs as user $(id -u)"
[ ! -e /etc/shadow ] || echo "/etc/shadow is there"
[ "$(cat /proc/1/comm)" = bwrap ] || echo "sees other processes"
set -- /proc/[0-9]*; [ $# -lt 8 ] || echo "sees $# processes"
[ "$(wc -l < /proc/net/route)" -le 1 ] || echo "has a network"
(echo x > /probe) 2>/dev/null && echo "can write to /"
(echo x > /usr/probe) 2>/dev/null && echo "can write to /usr"
(echo x > /workspace/probe) 2>/dev/null || echo "cannot write to its workspace"
echo held
"""


async def probe(folder: Path | None = None) -> str | None:
    """None if commands can run safely with workspaces in `folder`, else a sentence with cause and cure."""
    if missing := bubblewrap.missing_programs():
        packages = "bubblewrap" if missing == ["bwrap"] else "bubblewrap, util-linux and mount"
        return (
            f"Commands cannot run because {', '.join(missing)} is not installed: apt-get install {packages}."
        )
    if not seccomp.supported():
        return "Commands cannot run on this kind of processor: the sandbox knows x86_64 and aarch64."
    with tempfile.TemporaryDirectory(prefix="probe-", dir=folder, ignore_cleanup_errors=True) as path:
        try:
            outcome = await Sandbox().run(_SELF_TEST, Workspace.create(path), timeout=10)
        except SandboxError as error:
            return str(error)
    output = outcome.output.strip()
    return (
        None
        if output == "held" and outcome.ok
        else f"Commands cannot run: the sandbox failed its self-test ({output})."
    )
