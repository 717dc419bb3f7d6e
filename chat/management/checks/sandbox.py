"""Whether the agent's shell commands can be confined."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from chat.agent.sandbox import probe
from chat.management.checks.finding import Finding


async def sandbox() -> Finding:
    """The finding about bubblewrap, tried where the workspaces are."""
    part = _("sandbox")
    if settings.SANDBOX == "off":
        return Finding(part, True, _("turned off (SANDBOX=off), so the agent has no shell commands."))
    problem = await probe(_folder())
    return Finding(part, problem is None, problem or _("commands run, confined to their workspace."))


def _folder() -> Path | None:
    """Where workspaces are; None where that cannot be written, which is the data folder's finding."""
    folder = Path(settings.WORKSPACES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder
