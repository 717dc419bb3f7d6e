"""The index is written in the transaction that writes what it holds; what is final is indexed, once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from chat.models.search import pieces
from chat.models.search.entry import SearchEntry
from chat.models.search.pieces import Kind, Piece
from chat.models.search.shelf import EDITION, SearchShelf
from chat.models.search.store import Document, store
from chat.models.search.words import words_of

if TYPE_CHECKING:
    from chat.models.conversation import Conversation
    from chat.models.todo_revision import TodoRevision
    from chat.models.turn import Turn

OPEN_CALLS = ("pending", "waiting", "running")


def index_beginning(conversation: Conversation) -> None:
    """Index a conversation that has nothing yet but its title."""
    shelf = SearchShelf.objects.create(conversation=conversation, edition=EDITION)
    _put(conversation, shelf, [pieces.of_title(conversation.title)])


def index_title(conversation: Conversation) -> None:
    """Let it be found by its title as it is now, and no more by the one before."""
    shelf = SearchShelf.of(conversation)
    shelf.entries.filter(kind=Kind.TITLE).delete()
    _put(conversation, shelf, [pieces.of_title(conversation.title)])


def index_turn(turn: Turn) -> None:
    """Index those of the turn's messages and calls that have become final since, and the files they name."""
    written = turn.messages.filter(complete=True).exclude(text="").prefetch_related("attachments")
    messages = list(_unindexed(written, Kind.MESSAGE))
    calls = list(_unindexed(turn.tool_calls.exclude(status__in=OPEN_CALLS), Kind.CALL))
    found = [*map(pieces.of_message, messages), *map(pieces.of_call, calls)]
    if found:
        conversation, shelf = turn.conversation, SearchShelf.of(turn.conversation)
        brought = pieces.of_files(file.path for message in messages for file in message.attachments.all())
        files = _new_files(shelf, [*brought, *pieces.of_files_written(calls)])
        _put(conversation, shelf, [*found, *files])


def index_revision(revision: TodoRevision) -> None:
    """Index what a list says that the list before it did not."""
    earlier = revision.conversation.revisions.filter(pk__lt=revision.pk).order_by("pk").last()
    found = pieces.of_items(revision, earlier.items if earlier else [])
    if found:
        _put(revision.conversation, SearchShelf.of(revision.conversation), found)


def index_files(conversation: Conversation, paths: Iterable[str]) -> None:
    """Let files that came into the workspace be found by their names."""
    shelf = SearchShelf.of(conversation)
    _put(conversation, shelf, _new_files(shelf, pieces.of_files(paths)))


def forget(kind: Kind, row: int) -> None:
    """Take a row out of the index: it is gone, or is written anew."""
    SearchEntry.objects.filter(kind=kind, row=row).delete()


def reindex(conversation: Conversation) -> None:
    """Index all of a conversation anew, for rows that came into being in no other way of this module's."""
    with transaction.atomic():
        SearchShelf.of(conversation)
        shelf = SearchShelf.objects.select_for_update(no_key=True).get(conversation=conversation)
        shelf.entries.all().delete()
        _put(conversation, shelf, _everything(conversation))
        shelf.edition = EDITION
        shelf.save(update_fields=["edition"])


def _everything(conversation: Conversation) -> list[Piece]:
    """All pieces of a conversation, in four queries."""
    from chat.models.attachment import Attachment
    from chat.models.message import Message
    from chat.models.tool_call import ToolCall

    messages = Message.objects.filter(turn__conversation=conversation, complete=True)
    every = ToolCall.objects.filter(turn__conversation=conversation)
    calls = list(every.exclude(status__in=OPEN_CALLS).order_by("pk"))
    revisions = list(conversation.revisions.order_by("pk"))
    before = [[], *(each.items for each in revisions)]
    items = [pieces.of_items(now, earlier) for now, earlier in zip(revisions, before, strict=False)]
    brought = Attachment.objects.filter(message__turn__conversation=conversation)
    files = [*pieces.of_files(brought.values_list("path", flat=True)), *pieces.of_files_written(calls)]
    return [
        pieces.of_title(conversation.title),
        *map(pieces.of_message, messages.order_by("pk")),
        *map(pieces.of_call, calls),
        *(piece for each in items for piece in each),
        *dict.fromkeys(files),
    ]


def _unindexed(rows: QuerySet[Any], kind: Kind) -> QuerySet[Any]:
    entries = SearchEntry.objects.filter(kind=kind, row=OuterRef("pk"))
    return rows.filter(~Exists(entries)).order_by("pk")


def _new_files(shelf: SearchShelf, files: Iterable[Piece]) -> list[Piece]:
    """Those that are not on the shelf, each once."""
    files = dict.fromkeys(files)
    known = shelf.entries.filter(kind=Kind.FILE, place__in=[piece.place for piece in files])
    there = set(known.values_list("place", flat=True)) if files else set()
    return [piece for piece in files if piece.place not in there]


def _put(conversation: Conversation, shelf: SearchShelf, found: Iterable[Piece]) -> None:
    parts = [(piece, number, text) for piece in found for number, text in piece.parts()]
    rows = [
        SearchEntry(shelf=shelf, kind=piece.kind, row=piece.row, place=piece.place, part=number)
        for piece, number, _text in parts
    ]
    with transaction.atomic(savepoint=False):
        entries = SearchEntry.objects.bulk_create(rows)
        documents = [_document(entry, text) for entry, (_p, _n, text) in zip(entries, parts, strict=True)]
        store().add(conversation.owner_id, documents)


def _document(entry: SearchEntry, text: str) -> Document:
    words = list(words_of(text))
    plain = [word.text for word in words if not word.inner]
    return Document(entry.shelf_id, entry.pk, plain, {word.text for word in words if word.inner})
