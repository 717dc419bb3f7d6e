"""Whether the data folder can be written, and keeps its secret."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from chat.management.checks.finding import Finding


def data_folder() -> Finding:
    """The finding about DATA_DIR and the secret key in it."""
    part = _("data folder")
    folder = Path(settings.DATA_DIR)
    try:
        for each in (folder, Path(settings.WORKSPACES)):
            each.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=each):
                pass
    except OSError as error:
        cure = _(
            "%(folder)s is not writable (%(reason)s). Make it writable for the user who starts the "
            "server, or set DATA_DIR."
        )
        return Finding(part, False, cure % {"folder": folder, "reason": error.strerror})
    key = folder / "secret_key"
    if key.exists() and (mode := stat.S_IMODE(key.stat().st_mode)) & 0o077:
        cure = _("%(key)s can be read by others (mode %(mode)o). Run: chmod 600 %(key)s")
        return Finding(part, False, cure % {"key": key, "mode": mode})
    return Finding(part, True, _("%s is writable, and its secret key is private.") % folder)
