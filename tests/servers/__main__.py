"""Runs the agent, and a turn of the site, against servers that were not written here: a line for each.

`python -m tests.servers [aimock] [litellm] [llama]`. Nothing is installed: a server that is not there says
what it needs. The programs are named by AIMOCK, LITELLM and LLAMA_SERVER.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from tests.servers import aimock, litellm, llama
from tests.servers.trial import findings

SERVERS: dict[str, tuple[ModuleType, str, str]] = {
    "aimock": (aimock, "AIMOCK", "llmock"),
    "litellm": (litellm, "LITELLM", "litellm"),
    "llama": (llama, "LLAMA_SERVER", "llama-server"),
}


def _program(variable: str, usual: str) -> str | None:
    """The program's whole path; None if it is not there."""
    found = shutil.which(os.environ.get(variable, usual))
    return os.path.abspath(found) if found else None


async def _line(name: str) -> str:
    server, variable, usual = SERVERS[name]
    program = _program(variable, usual)
    if program is None:
        return f"{name}: not there. {server.NEEDS}"
    with tempfile.TemporaryDirectory(prefix="agentsite-server-") as folder:
        async with server.serve(program, Path(folder)) as address:
            found = await findings(address)
    return f"{name}: " + ", ".join(f"{what}: {came}" for what, came in found.items())


async def _all(names: list[str]) -> None:
    for name in names:
        try:
            line = await _line(name)
        except RuntimeError as error:
            line = f"{name}: {error}"
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_all(sys.argv[1:] or list(SERVERS)))
