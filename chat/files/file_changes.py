"""What users do to single files of a workspace: rename and delete."""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from chat.agent.safe_open import open_folder
from chat.agent.workspace import Workspace, WorkspaceError, readable_errors, relative


def rename_file(workspace: Workspace, path: str, name: str) -> str:
    """Give a regular file another name in its folder and return its path; overwrites nothing.

    Raises WorkspaceError.
    """
    if not name.isprintable() or "/" in name or name.strip() in ("", ".", ".."):
        raise WorkspaceError(_("A name cannot be empty or contain a slash or control characters."))
    parent, old = posixpath.split(relative(path))
    if name == old:
        return posixpath.join(parent, old)
    with _folder_of(workspace, path) as folder:
        try:
            # rename() would replace a file that appears under the name in the meantime; link() does not.
            os.link(old, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise WorkspaceError(
                _("%(name)s already exists. Choose another name.") % {"name": name}
            ) from None
        os.unlink(old, dir_fd=folder)
    return posixpath.join(parent, name)


def delete_file(workspace: Workspace, path: str) -> None:
    """Delete a regular file. Raises WorkspaceError."""
    with _folder_of(workspace, path) as folder:
        os.unlink(posixpath.basename(relative(path)), dir_fd=folder)


@contextmanager
def _folder_of(workspace: Workspace, path: str) -> Iterator[int]:
    """A descriptor of the folder of a regular file, used with the owner's rights."""
    parent, name = posixpath.split(relative(path))
    with readable_errors(path), workspace.as_owner() as root:
        folder = open_folder(root, parent)
        try:
            if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
            yield folder
        finally:
            os.close(folder)
