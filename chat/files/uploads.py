"""Uploads of files to a workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from typing import Protocol

from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from chat.agent.safe_open import open_folder
from chat.agent.workspace import Workspace, readable_errors
from chat.files.names import numbered, safe_name

FOLDER = "uploads"
MAX_FILES = 20
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Upload(Protocol):
    name: str | None
    size: int | None

    def chunks(self) -> Iterable[bytes]: ...


class UploadRefused(ValueError):  # noqa: N818 (a refusal shown to the user)
    pass


def check_uploads(uploads: list[Upload]) -> None:
    if len(uploads) > MAX_FILES:
        sentence = _("You can send up to %(most_files)s files at once.")
        raise UploadRefused(sentence % {"most_files": MAX_FILES})
    if sum(upload.size or 0 for upload in uploads) > settings.MAX_UPLOAD_BYTES:
        sentence = _("These files are too large. You can send up to %(size)s at once.")
        raise UploadRefused(sentence % {"size": filesizeformat(settings.MAX_UPLOAD_BYTES)})


def save_uploads(workspace: Workspace, uploads: list[Upload]) -> list[str]:
    """Save all files or none, without overwriting any, and return their paths.

    Raises UploadRefused, and WorkspaceError if the quota is exceeded or the folder cannot be written.
    """
    check_uploads(uploads)
    with readable_errors(FOLDER), workspace.as_owner() as root:
        workspace.check_room(root, sum(upload.size or 0 for upload in uploads), new=len(uploads) + 1)
        folder = open_folder(root, FOLDER, make=True)
        names: list[str] = []
        try:
            for upload in uploads:
                names.append(_save(folder, upload))
        except BaseException:
            for name in names:
                os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(folder)
    return [f"{FOLDER}/{name}" for name in names]


def _save(folder: int, upload: Upload) -> str:
    name, descriptor = _create(folder, safe_name(upload.name or ""))
    try:
        with open(descriptor, "wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    return name


def _create(folder: int, name: str) -> tuple[str, int]:
    for number in count(1):
        candidate = numbered(name, number)
        with suppress(FileExistsError):
            return candidate, os.open(candidate, _CREATE, 0o666, dir_fd=folder)
    raise AssertionError("numbers do not end")


def with_file_names(text: str, names: list[str]) -> str:
    lines = [_("Uploaded: %s") % name for name in names]
    return "\n\n".join(part for part in (text.strip(), "\n".join(lines)) if part)
