"""WORKSPACE_ROOTS and the folders beneath them on which conversations may be opened."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from chat.agent.safe_open import open_beneath

MAX_OFFERED = 200
_PATH_FLAGS = os.O_PATH | os.O_DIRECTORY
_LIST_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderRefused(ValueError):  # noqa: N818 (a refusal shown to the user)
    pass


def roots() -> list[Path]:
    return list(settings.WORKSPACE_ROOTS)


def offered() -> list[str]:
    """Each root and its visible folders, up to a limit: suggestions, not a complete list."""
    folders = []
    for root in roots():
        folders.append(str(root))
        folders += [f"{root}/{name}" for name in _folders(root)]
    return folders[:MAX_OFFERED]


def chosen_folder(path: str) -> str:
    """The requested folder as it is stored; "" for none. Raises FolderRefused.

    The kernel resolves it beneath its root. The stored path has no symbolic links and is later opened without
    following any, so a link put in its place later leads nowhere.
    """
    path = path.strip()
    if not path:
        return ""
    if "\0" in path or len(path) > 4000 or not path.isprintable():
        raise FolderRefused(_("The folder name is invalid or too long."))
    for root in roots():
        if path.rstrip("/") == str(root) or path.startswith(f"{root}/"):
            return _resolve_beneath(root, path[len(str(root)) :].strip("/") or ".")
    allowed = pgettext("list", ", ").join(map(str, roots()))
    if not allowed:
        raise FolderRefused(
            _("No folders are available to conversations here. Set WORKSPACE_ROOTS to allow some.")
        )
    raise FolderRefused(_("The folder must be one of these, or inside one: %s") % allowed)


def _resolve_beneath(root: Path, name: str) -> str:
    try:
        root_descriptor = os.open(root, _PATH_FLAGS)
    except OSError as error:
        raise FolderRefused(_error_message(str(root), error)) from None
    try:
        descriptor = open_beneath(root_descriptor, name, _PATH_FLAGS)
    except OSError as error:
        raise FolderRefused(_error_message(name, error)) from None
    finally:
        os.close(root_descriptor)
    try:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        _check(descriptor, path)
        return path
    finally:
        os.close(descriptor)


def _check(descriptor: int, path: str) -> None:
    if not any(path == str(root) or path.startswith(f"{root}/") for root in roots()):
        raise FolderRefused(_("This folder was moved in the meantime."))
    if not path.isprintable():
        raise FolderRefused(_("The folder name is invalid or too long."))
    if not os.access(f"/proc/self/fd/{descriptor}", os.R_OK | os.W_OK | os.X_OK):
        raise FolderRefused(_("The server has no permission to read and write %s.") % path)


def _error_message(name: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return _("There is no folder called %s.") % name
    if isinstance(error, NotADirectoryError):
        return _("%s is not a folder.") % name
    if isinstance(error, PermissionError):
        return _("The server has no permission to read and write %s.") % name
    return _("%s is outside the folders available to conversations.") % name


def _folders(root: Path) -> list[str]:
    try:
        descriptor = os.open(root, _LIST_FLAGS)
    except OSError:
        return []
    try:
        with os.scandir(descriptor) as entries:
            names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
    finally:
        os.close(descriptor)
    return sorted(name for name in names if name.isprintable() and not name.startswith("."))[:MAX_OFFERED]
