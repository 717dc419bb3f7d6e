"""The directories that conversations may be opened on: WORKSPACE_ROOTS, and what lies beneath them."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from chat.agent.safe_open import open_beneath

MOST_OFFERED = 200
_LOOK = os.O_PATH | os.O_DIRECTORY
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderRefused(ValueError):  # noqa: N818 (a refusal, told to the person who chose the folder)
    """A conversation cannot be opened on the folder; the text says why."""


def roots() -> list[Path]:
    """The configured directories."""
    return list(settings.WORKSPACE_ROOTS)


def offered() -> list[str]:
    """Each root, and the folders in it that are not hidden, up to a bound: a choice, not all there is."""
    found = []
    for root in roots():
        found.append(str(root))
        found += [f"{root}/{name}" for name in _folders(root)]
    return found[:MOST_OFFERED]


def chosen_folder(given: str) -> str:
    """The folder that a person asked for, as it is stored; empty for none. Raises FolderRefused.

    The kernel resolves it beneath its root. What is stored names no symbolic link, and is opened in a way
    that follows none, so whoever puts one in its place later leads nowhere.
    """
    given = given.strip()
    if not given:
        return ""
    if "\0" in given or len(given) > 4000 or not given.isprintable():
        raise FolderRefused(_("The folder name is invalid or too long."))
    for root in roots():
        if given.rstrip("/") == str(root) or given.startswith(f"{root}/"):
            return _beneath(root, given[len(str(root)) :].strip("/") or ".")
    allowed = ", ".join(map(str, roots()))
    if not allowed:
        raise FolderRefused(
            _("No folders are available to conversations here. Set WORKSPACE_ROOTS to allow some.")
        )
    raise FolderRefused(_("The folder must be one of these, or inside one: %s") % allowed)


def _beneath(root: Path, name: str) -> str:
    try:
        top = os.open(root, _LOOK)
    except OSError as error:
        raise FolderRefused(_refusal(str(root), error)) from None
    try:
        found = open_beneath(top, name, _LOOK)
    except OSError as error:
        raise FolderRefused(_refusal(name, error)) from None
    finally:
        os.close(top)
    try:
        path = os.readlink(f"/proc/self/fd/{found}")
        _check(found, path)
        return path
    finally:
        os.close(found)


def _check(found: int, path: str) -> None:
    """Refuse what cannot be worked in, or lies elsewhere after all."""
    if not any(path == str(root) or path.startswith(f"{root}/") for root in roots()):
        raise FolderRefused(_("This folder was moved in the meantime."))
    if not path.isprintable():
        raise FolderRefused(_("The folder name is invalid or too long."))
    if not os.access(f"/proc/self/fd/{found}", os.R_OK | os.W_OK | os.X_OK):
        raise FolderRefused(_("The server has no permission to read and write %s.") % path)


def _refusal(name: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return _("There is no folder called %s.") % name
    if isinstance(error, NotADirectoryError):
        return _("%s is not a folder.") % name
    if isinstance(error, PermissionError):
        return _("The server has no permission to read and write %s.") % name
    return _("%s is outside the folders available to conversations.") % name


def _folders(root: Path) -> list[str]:
    try:
        top = os.open(root, _LIST)
    except OSError:
        return []
    try:
        with os.scandir(top) as entries:
            names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
    finally:
        os.close(top)
    return sorted(name for name in names if name.isprintable() and not name.startswith("."))[:MOST_OFFERED]
