"""What an MCP server may read: what an administrator may enter."""

from __future__ import annotations

import os

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# Too much of a machine to show to anybody, or in the sandbox's own way.
_SYSTEM = ("boot", "data", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "var")
_NOT_READABLE = {"/", *(f"/{name}" for name in _SYSTEM)}


def check_folder(folder: str) -> None:
    """Raise ValidationError for a folder that no server may read: the site's data, or half the machine."""
    if not folder.startswith("/") or folder != os.path.normpath(folder):
        raise ValidationError(_("%(folder)s is not an absolute path."), params={"folder": folder})
    data = os.path.realpath(settings.DATA_DIR)
    meant = {folder, os.path.realpath(folder)}
    shared = {os.path.commonpath([data, each]) for each in meant}
    if meant & _NOT_READABLE or data in shared or shared & meant:
        raise ValidationError(
            _("%(folder)s contains files that no server may read."), params={"folder": folder}
        )
