"""Imports a conversation from a JSON file. It stays hidden until all of its rows are written."""

from __future__ import annotations

import binascii
import datetime
import logging
import time
import uuid
from base64 import b64decode
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.agent.workspace import Workspace
from chat.export.file_format import (
    ATTACHMENT,
    CONVERSATION,
    FOLLOW_UP,
    MESSAGE,
    PARTS,
    REVISION,
    SIDE_CALL,
    STEP,
    SUMMARY,
    TABLES,
    TOOL_CALL,
    TURN,
    Table,
)
from chat.export.validation import FileRefused, Path, Row, check, check_turns, parents_in, parse, refused
from chat.files.conversation_workspace import folder_of, quota_of
from chat.files.pictures import PictureStore
from chat.models import Conversation, Preferences, Profile, Turn
from chat.models.profile import FIELDS
from chat.models.tag import Tag, TagRefused
from chat.models.titles import title_of_copy
from chat.search.index import index_title
from chat.turns.deleted import remove

if TYPE_CHECKING:
    from django.contrib.auth.models import User


log = logging.getLogger(__name__)

# Rows per transaction. SQLite blocks all other writers until it ends.
INSERT_BATCH = 100
UPDATE_BATCH = 25  # updates take longer
# During the import the conversation is marked as deleted at a time in the future, which each batch extends.
# After a crash, the rest is removed like any deleted conversation once that time has passed.
LEASE = datetime.timedelta(minutes=2)


def import_steps(data: bytes, owner: User) -> Generator[int, None, Conversation]:
    """Import the file as a new conversation of the owner, in steps.

    Yields the percentage done after each batch, and returns the conversation. Raises FileRefused, also if
    another import of the owner is running. Removes all rows if it fails or is closed.
    """
    key = _claim(owner)
    try:
        file = parse(data)
        for checked in check_turns(file):
            if not checked % INSERT_BATCH:
                yield 40 * checked // len(file["turns"])
        return (yield from _write(file, owner, key))
    except BaseException:
        _discard(key)
        raise


def _claim(owner: User) -> uuid.UUID:
    """The key of a new hidden conversation. Raises FileRefused if the owner has another import."""
    with transaction.atomic():
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=owner.pk)
        now = timezone.now()
        if Conversation.with_deleted.filter(owner=owner, deleted_at__gt=now).exists():
            raise FileRefused(_("You already have an import running. Wait until it has finished."))
        return Conversation.with_deleted.create(owner=owner, title="-", deleted_at=now + LEASE).pk


def _discard(key: uuid.UUID) -> None:
    try:
        remove(key)
    except DatabaseError as error:
        log.warning("the rest of a failed import will be removed later: %r", error)


def _write(file: Row, owner: User, key: uuid.UUID) -> Generator[int, None, Conversation]:
    """Write the file's rows to the hidden conversation, then show it.

    The workspace is new and empty. Imported calls are not billed: only calls made here are. The worker
    indexes the conversation for search, like any that is not indexed yet.
    """
    check(file)
    imported = ImportedRows(file, owner, key)
    row_lists = [rows for model, rows in imported.rows.items() if model is not Conversation]
    total = sum(map(len, row_lists)) + len(imported.turns) or 1
    _store_pictures(file["pictures"], PictureStore(key))
    done = 0
    for rows in row_lists:
        for batch in _batches(rows, INSERT_BATCH):
            with _short_transaction(key):
                _insert(batch)
            yield 40 + 60 * (done := done + len(batch)) // total
    for turns in _batches(imported.linked_turns(), UPDATE_BATCH):
        with _short_transaction(key):
            Turn.objects.bulk_update(turns, ["follows", "parent", "profile_snapshot"])
        yield 40 + 60 * (done := done + len(turns)) // total
    conversation = imported.conversation
    with transaction.atomic():
        _extend_lease(key)
        _add_tags(conversation, file["conversation"].get("tags", []))
        Workspace.create(folder_of(conversation), quota_of(conversation))
        conversation.title = _title_beside_others(conversation)
        values = {name: getattr(conversation, name) for name in CONVERSATION.fields}
        values["path_version"] = int(any(not turn.chosen for turn in imported.turns))
        values["profile"] = imported.profile_here(owner)
        Conversation.with_deleted.filter(pk=key).update(**values, imported_at=timezone.now(), deleted_at=None)
        index_title(conversation)
    return Conversation.objects.get(pk=key)


def _title_beside_others(conversation: Conversation) -> str:
    """Its title, or where the owner has a conversation that began at the same moment, that of a copy."""
    others = Conversation.objects.filter(owner=conversation.owner_id)
    is_copy = others.filter(created_at=conversation.created_at).exists()
    return title_of_copy(conversation.title, others) if is_copy else conversation.title


def _batches(rows: list[Any], size: int) -> Iterator[list[Any]]:
    yield from (rows[start : start + size] for start in range(0, len(rows), size))


@contextmanager
def _short_transaction(key: uuid.UUID) -> Iterator[None]:
    started_at = time.monotonic()
    with transaction.atomic():
        _extend_lease(key)
        yield
    # SQLite's clients poll for the lock instead of queueing, so leave half of the time to them.
    time.sleep(min(time.monotonic() - started_at, 1.0))


def _extend_lease(key: uuid.UUID) -> None:
    """Raises FileRefused if the hidden conversation was removed after its lease had expired."""
    hidden = Conversation.with_deleted.filter(pk=key, deleted_at__isnull=False)
    if not hidden.update(deleted_at=timezone.now() + LEASE):
        raise FileRefused(_("The import was interrupted. Import the file again."))


def _insert(rows: list[tuple[Model, dict[str, Model | None]]]) -> None:
    """Insert rows of one model with their own timestamps, which `bulk_create` would overwrite."""
    model = type(rows[0][0])
    for row, related in rows:
        for name, target in related.items():
            setattr(row, name, target)  # already saved, so its key is set
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    size = connection.ops.bulk_batch_size(fields, rows)
    for batch in _batches([row for row, _related in rows], size):
        manager: Any = model._base_manager
        keys = manager._insert(batch, fields, returning_fields=[model._meta.pk], raw=True)
        for row, (key,) in zip(batch, keys, strict=True):
            row.pk = key


def _add_tags(conversation: Conversation, words: list[str]) -> None:
    Tag.lock_owner(conversation.owner_id)
    for index, word in enumerate(words):
        try:
            conversation.tags.add(Tag.of(conversation.owner_id, word))
        except TagRefused as refusal:
            raise refused(
                ("conversation", "tags", index), _("is not a valid tag here: %s") % refusal
            ) from None


def _store_pictures(rows: list[Row], pictures: PictureStore) -> None:
    for index, row in enumerate(rows):
        if row["data"] is None:
            continue
        try:
            data = b64decode(row["data"], validate=True)
        except (binascii.Error, ValueError):
            raise refused(("pictures", index, "data"), _("is not base64")) from None
        if pictures.keep("", data).digest != row["digest"]:
            raise refused(("pictures", index), _("is not an image, or does not match its digest"))


CLOSED_STATUS = {"pending": "stopped", "waiting": "stopped", "running": "unknown"}
Related = dict[str, Model | None]
M = TypeVar("M", bound=Model)


class ImportedRows:
    """Unsaved rows of the conversation: `rows` has them by model, each with the rows it refers to.

    If the models are saved in the order of TABLES, the referenced rows are saved first. Only turns refer to
    turns; `linked_turns` sets those references.
    """

    def __init__(self, file: Row, owner: User, key: uuid.UUID) -> None:
        """`file` matches the schema and is consistent. `key` is the conversation's."""
        self.file = file
        self.rows: dict[type[Model], list[tuple[Model, Related]]]
        self.rows = {table.model: [] for table in TABLES}
        self._follows: list[int | None] = [row.get("follows") for row in file["turns"]]
        self._parents: list[int | None] = parents_in(file["turns"])
        self.steps: dict[tuple[int, int], Model] = {}
        self.calls: dict[tuple[int, int, int], Model] = {}
        path: Path = ("conversation",)
        self.conversation: Conversation = self._row(
            CONVERSATION, file["conversation"], path, {}, pk=key, owner=owner
        )
        self.turns: list[Turn] = []
        for index, row in enumerate(file["turns"]):
            self.turns.append(self._turn(row, index))
        for index, row in enumerate(file["turns"]):
            self._parts(row, index)
        self._revisions()
        self._follow_ups()

    def linked_turns(self) -> list[Turn]:
        """The turns that refer to turns, with `follows`, `parent` and the profile's `since` set."""
        for turn, follows, parent in zip(self.turns, self._follows, self._parents, strict=True):
            turn.follows = self.turns[follows - 1] if follows else None
            turn.parent = self.turns[parent - 1] if parent else None
            if turn.profile_snapshot:
                turn.profile_snapshot["since"] = self.turns[turn.profile_snapshot["since"] - 1].pk
        return [turn for turn in self.turns if turn.follows or turn.parent or turn.profile_snapshot]

    def profile_here(self, owner: User) -> Profile | None:
        """The owner's profile with the name of the one that was used last; None for their default."""
        used = [each.profile_snapshot for each in self.turns if each.on_path and each.profile_snapshot]
        title = next((each["title"] for each in reversed(used) if not each.get("override")), None)
        default = Preferences.profile_of(owner)
        if default and default.title == title:
            return None
        return Profile.offered_to(owner).filter(title=title).first()

    def _turn(self, row: Row, index: int) -> Turn:
        path: Path = ("turns", index)
        changes = self._interrupted(row) if row.get("status", "queued") in Turn.ACTIVE else {}
        profile = {"profile_then": _profile(row.get("profile_then", {}))}
        values = {name: row[name] for name in row if name not in PARTS} | changes | profile
        related: Related = {"conversation": self.conversation}
        return self._row(TURN, values, path, related, client_id=uuid.uuid4())

    def _interrupted(self, row: Row) -> Row:
        sentence = _("It was still running when it was exported.")
        return {"status": "interrupted", "sentence": sentence, "ended_at": self.file["exported_at"]}

    def _parts(self, turn: Row, index: int) -> None:
        path: Path = ("turns", index)
        turn_ref: Related = {"turn": self.turns[index]}
        steps: dict[int | None, Model] = {}
        for position, row in enumerate(turn["steps"]):
            step = self._row(STEP, row, (*path, "steps", position), turn_ref)
            steps[row["number"]] = self.steps[index + 1, row["number"]] = step
        side_calls = [
            self._row(SIDE_CALL, row, (*path, "side_calls", position), turn_ref)
            for position, row in enumerate(turn["side_calls"])
        ]
        for position, row in enumerate(turn["messages"]):
            related = {**turn_ref, "step": steps.get(row.get("step"))}
            self._message(row, (*path, "messages", position), related)
        for position, row in enumerate(turn["tool_calls"]):
            related = {**turn_ref, "step": steps[row["step"]], **self._turns_of(TOOL_CALL, row)}
            call = self._row(TOOL_CALL, _closed_call(row), (*path, "tool_calls", position), related)
            self.calls[index + 1, row["step"], row["index"]] = call
        for position, row in enumerate(turn["summaries"]):
            call_number = row.get("side_call")
            related = {**turn_ref, **self._turns_of(SUMMARY, row)}
            related["side_call"] = side_calls[call_number - 1] if call_number else None
            self._row(SUMMARY, row, (*path, "summaries", position), related)

    def _message(self, row: Row, path: Path, related: Related) -> None:
        is_open = not row.get("complete", True)
        values = row | ({"complete": True, "cut_off": True} if is_open else {})
        message = self._row(MESSAGE, values, path, related)
        self._attachments(row, path, {"message": message})

    def _revisions(self) -> None:
        for index, row in enumerate(self.file["revisions"]):
            related: Related = {"conversation": self.conversation, **self._turns_of(REVISION, row)}
            for name in ("tool_call", "after"):
                call = row.get(name)
                related[name] = self.calls[row["turn"], call["step"], call["index"]] if call else None
            step = row.get("told_in")
            related["delivered_in_step"] = self.steps[step["turn"], step["step"]] if step else None
            self._row(REVISION, row, ("revisions", index), related)

    def _follow_ups(self) -> None:
        for index, row in enumerate(self.file["follow_ups"]):
            path: Path = ("follow_ups", index)
            related: Related = {"conversation": self.conversation, **self._turns_of(FOLLOW_UP, row)}
            follow_up = self._row(FOLLOW_UP, row, path, related, client_id=uuid.uuid4())
            self._attachments(row, path, {"follow_up": follow_up})

    def _attachments(self, row: Row, path: Path, related: Related) -> None:
        for index, attachment in enumerate(row.get("attachments", [])):
            self._row(ATTACHMENT, attachment, (*path, "attachments", index), related)

    def _turns_of(self, table: Table[Any], row: Row) -> Related:
        names = [name for name, kind in table.refs.items() if kind == "turn" and row.get(name)]
        return {name: self.turns[row[name] - 1] for name in names}

    def _row(self, table: Table[M], data: Row, path: Path, related: Related, **more: Any) -> M:
        values = {table.attribute(name): data[name] for name in table.fields if name in data}
        row = table.model(**values, **more)
        self.rows[table.model].append((row, related))
        return row


def _closed_call(call: Row) -> Row:
    status = call.get("status", "pending")
    return call | {"status": CLOSED_STATUS.get(status, status)}


def _profile(snapshot: Row) -> Row:
    """A profile snapshot for import; the id is synthetic and only distinguishes profiles."""
    if not snapshot:
        return {}
    defaults = {name: getattr(Profile(), name) for name in FIELDS if name not in snapshot}
    return {
        **defaults,
        **snapshot,
        "id": -snapshot["id"],
        "connection": {"id": None, **snapshot["connection"]},
    }
