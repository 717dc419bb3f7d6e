"""Stores the pictures of a conversation as they were when first shown to the model.

They are kept beside the workspaces under a digest of their bytes, so later requests and the record show the
same picture even if the file changes.
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

MAX_TOTAL_BYTES = 200 * 2**20  # of one conversation
_DIGEST = re.compile(r"[0-9a-f]{32}")


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class PictureStore:
    def __init__(self, conversation_id: uuid.UUID) -> None:
        self.folder = Path(settings.WORKSPACES).with_name("pictures") / str(conversation_id)
        self._size: int | None = None  # in bytes, computed once: an import may store thousands

    def keep(self, name: str, data: bytes) -> Picture:
        """Store a picture under its digest. A picture that cannot be stored has a `fault` that says why."""
        info = {"name": name, "media_type": image_type(data[:HEAD]), "size": len(data)}
        if fault := fault_of(data):
            return self.picture({**info, "fault": fault})
        digest = digest_of(data)
        try:
            stored = self._path(digest).exists() or self._write(digest, data)
        except OSError as error:
            log.warning("a picture is not stored: %s", error)
            stored = False
        return self.picture({**info, "digest": digest} if stored else {**info, "fault": "full"})

    def picture(self, info: Mapping[str, Any]) -> Picture:
        digest = str(info.get("digest", ""))
        return Picture(
            name=str(info.get("name", "")),
            media_type=str(info.get("media_type", "")),
            size=int(info.get("size", 0)),
            digest=digest,
            fault=str(info.get("fault", "")),
            read=partial(self.read, digest),
        )

    def read(self, digest: str) -> bytes | None:
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            return self._path(digest).read_bytes()
        except OSError:
            return None

    def forget(self, digest: str) -> None:
        if _DIGEST.fullmatch(digest):
            self._path(digest).unlink(missing_ok=True)

    def remove(self) -> None:
        remove_folder(self.folder)

    def _path(self, digest: str) -> Path:
        return self.folder / digest

    def _write(self, digest: str, data: bytes) -> bool:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._size is None:
            self._size = sum(each.stat().st_size for each in self.folder.iterdir())
        if self._size + len(data) > MAX_TOTAL_BYTES:
            return False
        temporary = self._path(secrets.token_hex(8))
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
            temporary.replace(self._path(digest))
            self._size += len(data)
        finally:
            temporary.unlink(missing_ok=True)
        return True
