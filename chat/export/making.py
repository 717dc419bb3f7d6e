"""A conversation made of a file, with the times that it had: hidden until all of its rows are there."""

from __future__ import annotations

import binascii
import datetime
import logging
import time
import uuid
from base64 import b64decode
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.agent.workspace import Workspace
from chat.export.arrival import FileRefused, checked_turns, parsed
from chat.export.building import Building
from chat.export.consistency import Row, check, refused
from chat.export.tables import CONVERSATION
from chat.files.pictures import Album
from chat.files.place import folder_of, quota_of
from chat.models import Conversation, Turn
from chat.models.search.index import index_title
from chat.models.tag import Tag, TagRefused
from chat.turns.deleted import remove

if TYPE_CHECKING:
    from django.contrib.auth.models import User

log = logging.getLogger(__name__)

# Rows written in one transaction. SQLite lets nobody else write until it ends.
AT_ONCE = 100
LINKED_AT_ONCE = 25  # of rows updated, which takes longer
# While it is written, a conversation counts as deleted, at a time that is moved on with every piece. What a
# crash leaves behind is removed like any deleted conversation once that time is past.
LEASE = datetime.timedelta(minutes=2)


def importing(data: bytes, owner: User) -> Generator[int, None, Conversation]:
    """Make the owner's new conversation, equal to the one in the file, piece by piece.

    Gives the percentage that is done after each piece, and returns the conversation. Raises FileRefused, also
    while another import of the owner's is under way. Nothing stays behind where it fails or is closed.
    """
    key = _claim(owner)
    try:
        file = parsed(data)
        for checked in checked_turns(file):
            if not checked % AT_ONCE:
                yield 40 * checked // len(file["turns"])
        return (yield from _written(file, owner, key))
    except BaseException:
        _give_up(key)
        raise


def make(file: Row, owner: User) -> Conversation:
    """The same at one go, of a file that is as its schema wants it."""
    key = _claim(owner)
    try:
        steps = _written(file, owner, key)
        while True:
            next(steps)
    except StopIteration as end:
        made: Conversation = end.value
        return made
    except BaseException:
        _give_up(key)
        raise


def _claim(owner: User) -> uuid.UUID:
    """The key of a hidden conversation; raises FileRefused where the owner has another one."""
    with transaction.atomic():
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=owner.pk)
        now = timezone.now()
        if Conversation.with_deleted.filter(owner=owner, deleted_at__gt=now).exists():
            raise FileRefused(_("You already have an import running. Wait until it has finished."))
        return Conversation.with_deleted.create(owner=owner, title="-", deleted_at=now + LEASE).pk


def _give_up(key: uuid.UUID) -> None:
    try:
        remove(key)
    except DatabaseError as error:
        log.warning("what is left of an import goes later: %r", error)


def _written(file: Row, owner: User, key: uuid.UUID) -> Generator[int, None, Conversation]:
    """Write the file's rows to the hidden conversation, and show it.

    The workspace is the conversation's own, and empty. What it took counts in nobody's bill: only calls of
    models made here do. The worker indexes it for search, as every conversation that is not indexed yet.
    """
    check(file)
    building = Building(file, owner, key)
    every = [rows for model, rows in building.rows.items() if model is not Conversation]
    total = sum(map(len, every)) + len(building.turns) or 1
    _keep_pictures(file["pictures"], Album(key))
    done = 0
    for rows in every:
        for piece in _pieces(rows, AT_ONCE):
            with _short_transaction(key):
                _insert(piece)
            yield 40 + 60 * (done := done + len(piece)) // total
    for turns in _pieces(building.linked(), LINKED_AT_ONCE):
        with _short_transaction(key):
            Turn.objects.bulk_update(turns, ["follows", "profile_then"])
        yield 40 + 60 * (done := done + len(turns)) // total
    conversation = building.conversation
    with transaction.atomic():
        _renew(key)
        _tag(conversation, file["conversation"].get("tags", []))
        Workspace.create(folder_of(conversation), quota_of(conversation))
        values = {name: getattr(conversation, name) for name in CONVERSATION.fields}
        Conversation.with_deleted.filter(pk=key).update(**values, deleted_at=None)
        index_title(conversation)
    return Conversation.objects.get(pk=key)


def _pieces(rows: list[Any], size: int) -> Iterator[list[Any]]:
    yield from (rows[start : start + size] for start in range(0, len(rows), size))


@contextmanager
def _short_transaction(key: uuid.UUID) -> Iterator[None]:
    began = time.monotonic()
    with transaction.atomic():
        _renew(key)
        yield
    # SQLite's clients do not queue: they try again now and then, and half of the time is to be theirs.
    time.sleep(min(time.monotonic() - began, 1.0))


def _renew(key: uuid.UUID) -> None:
    """Hold on to the hidden conversation; raises FileRefused where it was given up meanwhile."""
    held = Conversation.with_deleted.filter(pk=key, deleted_at__isnull=False)
    if not held.update(deleted_at=timezone.now() + LEASE):
        raise FileRefused(_("The import was interrupted. Import the file again."))


def _insert(rows: list[tuple[Model, dict[str, Model | None]]]) -> None:
    """Insert rows of one model with their own times, for which `bulk_create` would put the present."""
    model = type(rows[0][0])
    for row, related in rows:
        for name, other in related.items():
            setattr(row, name, other)  # which has its key by now
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    size = connection.ops.bulk_batch_size(fields, rows)
    for batch in _pieces([row for row, _related in rows], size):
        manager: Any = model._base_manager
        keys = manager._insert(batch, fields, returning_fields=[model._meta.pk], raw=True)
        for row, (key,) in zip(batch, keys, strict=True):
            row.pk = key


def _tag(conversation: Conversation, words: list[str]) -> None:
    Tag.keep_still(conversation.owner_id)
    for place, word in enumerate(words):
        try:
            conversation.tags.add(Tag.of(conversation.owner_id, word))
        except TagRefused as refusal:
            raise refused(
                ("conversation", "tags", place), _("is not a valid tag here: %s") % refusal
            ) from None


def _keep_pictures(rows: list[Row], album: Album) -> None:
    for place, row in enumerate(rows):
        if row["data"] is None:
            continue
        try:
            data = b64decode(row["data"], validate=True)
        except (binascii.Error, ValueError):
            raise refused(("pictures", place, "data"), _("is not base64")) from None
        if album.keep("", data).digest != row["digest"]:
            raise refused(("pictures", place), _("is not an image, or does not match its digest"))
