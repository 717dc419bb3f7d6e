"""The Chromium of the browser tests, the pictures and the benchmark."""

from __future__ import annotations

import os
import shutil
from typing import Any

ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
ARGUMENTS += ["--disable-sync", "--no-first-run", "--disable-quic"]
# The one without windows draws the same with less than half of the CPU.
NAMES = ["chromium-headless-shell", "chromium", "chromium-browser"]


def chromium(*, as_users_have_it: bool = False) -> dict[str, Any]:
    """How Playwright launches it: $CHROMIUM, or the system's."""
    names = [*NAMES[1:], NAMES[0]] if as_users_have_it else NAMES
    named = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    return {"executable_path": named, "args": ARGUMENTS}
