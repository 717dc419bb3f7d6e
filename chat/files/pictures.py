"""Pictures of a conversation as they were when they were first shown to the model.

They are kept beside the workspaces, under a digest of their bytes. So what the model was sent stays the same
in every later request, and what the record shows stays true, whatever becomes of the files.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from chat.agent.pictures import HEAD, Picture, fault_of, image_type
from chat.agent.removal import remove_folder

log = logging.getLogger(__name__)

MOST_KEPT = 200 * 2**20  # bytes, of one conversation
_DIGEST = re.compile(r"[0-9a-f]{32}")


class PictureStore:
    """The pictures that a conversation keeps."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        self.folder = Path(settings.WORKSPACES).with_name("pictures") / str(conversation_id)
        self._size: int | None = None  # of what is kept, looked up once: an import brings thousands

    def keep(self, name: str, data: bytes) -> Picture:
        """Keep a picture that is found at `name` now. One that cannot be kept has a fault that says why."""
        about = {"name": name, "media_type": image_type(data[:HEAD]), "size": len(data)}
        if fault := fault_of(data):
            return self.picture({**about, "fault": fault})
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        try:
            kept = self._path(digest).exists() or self._write(digest, data)
        except OSError as error:
            log.warning("a picture is not kept: %s", error)
            kept = False
        return self.picture({**about, "digest": digest} if kept else {**about, "fault": "full"})

    def picture(self, about: Mapping[str, Any]) -> Picture:
        """The picture of which a record says that much."""
        digest = str(about.get("digest", ""))
        return Picture(
            name=str(about.get("name", "")),
            media_type=str(about.get("media_type", "")),
            size=int(about.get("size", 0)),
            digest=digest,
            fault=str(about.get("fault", "")),
            read=partial(self.read, digest),
        )

    def read(self, digest: str) -> bytes | None:
        """The bytes of the picture with that digest; None if none is kept."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            return self._path(digest).read_bytes()
        except OSError:
            return None

    def remove(self) -> None:
        """Throw all of them away."""
        remove_folder(self.folder)

    def _path(self, digest: str) -> Path:
        return self.folder / digest

    def _write(self, digest: str, data: bytes) -> bool:
        """Write the picture down, whole or not at all; False where too many are kept already."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._size is None:
            self._size = sum(each.stat().st_size for each in self.folder.iterdir())
        if self._size + len(data) > MOST_KEPT:
            return False
        temporary = self._path(secrets.token_hex(8))
        try:
            opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(opened, "wb") as file:
                file.write(data)
            temporary.replace(self._path(digest))
            self._size += len(data)
        finally:
            temporary.unlink(missing_ok=True)
        return True
