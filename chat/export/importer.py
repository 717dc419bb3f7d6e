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
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.agent.workspace import Workspace
from chat.export import file_format
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
from chat.export.validation import FileRefused, Path, Row, check, checked_turns, parsed, refused
from chat.files.conversation_workspace import folder_of, quota_of
from chat.files.pictures import PictureStore
from chat.models import Conversation, Profile, Turn
from chat.models.profile import FIELDS
from chat.models.tag import Tag, TagRefused
from chat.search.index import index_title
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
    _keep_pictures(file["pictures"], PictureStore(key))
    done = 0
    for rows in every:
        for piece in _pieces(rows, AT_ONCE):
            with _short_transaction(key):
                _insert(piece)
            yield 40 + 60 * (done := done + len(piece)) // total
    for turns in _pieces(building.linked(), LINKED_AT_ONCE):
        with _short_transaction(key):
            Turn.objects.bulk_update(turns, ["follows", "profile_snapshot"])
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


def _keep_pictures(rows: list[Row], album: PictureStore) -> None:
    for place, row in enumerate(rows):
        if row["data"] is None:
            continue
        try:
            data = b64decode(row["data"], validate=True)
        except (binascii.Error, ValueError):
            raise refused(("pictures", place, "data"), _("is not base64")) from None
        if album.keep("", data).digest != row["digest"]:
            raise refused(("pictures", place), _("is not an image, or does not match its digest"))


CALL_ENDS_AS = {"pending": "stopped", "waiting": "stopped", "running": "unknown"}
Related = dict[str, Model | None]
M = TypeVar("M", bound=Model)


class Building:
    """`rows` are the rows beneath the conversation, by model, each with the others that it leads to.

    These have keys by the time that it is saved if the models are saved in the order of TABLES; turns alone
    lead to others of their kind, which `linked` tells.
    """

    def __init__(self, file: Row, owner: User, key: uuid.UUID) -> None:
        """`file` is as its schema wants it, and its parts fit each other. `key` is the conversation's."""
        self.file = file
        self.rows: dict[type[Model], list[tuple[Model, Related]]]
        self.rows = {table.model: [] for table in TABLES}
        self._follows: list[int | None] = [row.get("follows") for row in file["turns"]]
        self.steps: dict[tuple[int, int], Model] = {}
        self.calls: dict[tuple[int, int, int], Model] = {}
        at: Path = ("conversation",)
        self.conversation: Conversation = self._row(
            CONVERSATION, file["conversation"], at, {}, pk=key, owner=owner
        )
        self.turns: list[Turn] = []
        for place, row in enumerate(file["turns"]):
            self.turns.append(self._turn(row, place))
        for place, row in enumerate(file["turns"]):
            self._parts(row, place)
        self._revisions()
        self._follow_ups()

    def linked(self) -> list[Turn]:
        """The turns that lead to turns, linked: to the one that they follow, and where a profile began."""
        for turn, follows in zip(self.turns, self._follows, strict=True):
            turn.follows = self.turns[follows - 1] if follows else None
            if turn.profile_snapshot:
                turn.profile_snapshot["since"] = self.turns[turn.profile_snapshot["since"] - 1].pk
        return [turn for turn in self.turns if turn.follows or turn.profile_snapshot]

    def _turn(self, row: Row, place: int) -> Turn:
        path: Path = ("turns", place)
        changes = self._ended(row) if row.get("status", "queued") in Turn.ACTIVE else {}
        then = {"profile_then": _profile(row.get("profile_then", {}))}
        given = {name: row[name] for name in row if name not in PARTS} | changes | then
        related: Related = {"conversation": self.conversation}
        return self._row(TURN, given, path, related, client_id=uuid.uuid4())

    def _ended(self, row: Row) -> Row:
        """What becomes of a turn that was still going on."""
        sentence = _("It was still running when it was exported.")
        return {"status": "interrupted", "sentence": sentence, "ended_at": self.file["exported_at"]}

    def _parts(self, turn: Row, place: int) -> None:
        path: Path = ("turns", place)
        of_turn: Related = {"turn": self.turns[place]}
        steps: dict[int | None, Model] = {}
        for number, row in enumerate(turn["steps"]):
            step = self._row(STEP, row, (*path, "steps", number), of_turn)
            steps[row["number"]] = self.steps[place + 1, row["number"]] = step
        side_calls = [
            self._row(SIDE_CALL, row, (*path, "side_calls", number), of_turn)
            for number, row in enumerate(turn["side_calls"])
        ]
        for number, row in enumerate(turn["messages"]):
            related = {**of_turn, "step": steps.get(row.get("step"))}
            self._message(row, (*path, "messages", number), related)
        for number, row in enumerate(turn["tool_calls"]):
            related = {**of_turn, "step": steps[row["step"]], **self._turns_of(TOOL_CALL, row)}
            call = self._row(TOOL_CALL, _closed(row), (*path, "tool_calls", number), related)
            self.calls[place + 1, row["step"], row["index"]] = call
        for number, row in enumerate(turn["summaries"]):
            named = row.get("side_call")
            related = {**of_turn, **self._turns_of(SUMMARY, row)}
            related["side_call"] = side_calls[named - 1] if named else None
            self._row(SUMMARY, row, (*path, "summaries", number), related)

    def _message(self, row: Row, path: Path, related: Related) -> None:
        is_open = not row.get("complete", True)
        given = row | ({"complete": True, "cut_off": True} if is_open else {})
        made = self._row(MESSAGE, given, path, related)
        self._attachments(row, path, {"message": made})

    def _revisions(self) -> None:
        for place, row in enumerate(self.file["revisions"]):
            related: Related = {"conversation": self.conversation, **self._turns_of(REVISION, row)}
            for name in ("tool_call", "after"):
                named = row.get(name)
                related[name] = self.calls[row["turn"], named["step"], named["index"]] if named else None
            told = row.get("told_in")
            related["delivered_in_step"] = self.steps[told["turn"], told["step"]] if told else None
            self._row(REVISION, row, ("revisions", place), related)

    def _follow_ups(self) -> None:
        for place, row in enumerate(self.file["follow_ups"]):
            path: Path = ("follow_ups", place)
            related: Related = {"conversation": self.conversation, **self._turns_of(FOLLOW_UP, row)}
            made = self._row(FOLLOW_UP, row, path, related, client_id=uuid.uuid4())
            self._attachments(row, path, {"follow_up": made})

    def _attachments(self, row: Row, path: Path, related: Related) -> None:
        for place, each in enumerate(row.get("attachments", [])):
            self._row(ATTACHMENT, each, (*path, "attachments", place), related)

    def _turns_of(self, table: Table[Any], row: Row) -> Related:
        """The turns that a row names."""
        names = [name for name, kind in table.refs.items() if kind == "turn" and row.get(name)]
        return {name: self.turns[row[name] - 1] for name in names}

    def _row(self, table: Table[M], given: Row, path: Path, related: Related, **more: Any) -> M:
        values: dict[str, Any] = {}
        for name, value in ((name, given[name]) for name in table.fields if name in given):
            try:
                values[table.attribute(name)] = file_format.taken(table.column(name), value)
            except ValueError:
                raise refused((*path, name), _("is not a valid time")) from None
        row = table.model(**values, **more)
        self.rows[table.model].append((row, related))
        return row


def _closed(call: Row) -> Row:
    """A call as it is once nobody is at it any more."""
    status = call.get("status", "pending")
    return call | {"status": CALL_ENDS_AS.get(status, status)}


def _profile(then: Row) -> Row:
    """A turn's profile as rows have it. Its key is that of no profile, but still tells one from another."""
    if not then:
        return {}
    usual = {name: getattr(Profile(), name) for name in FIELDS if name not in then}
    return {**usual, **then, "id": -then["id"], "connection": {"id": None, **then["connection"]}}
