"""Writing the index. Workers index turns that are marked; titles, files and lists that a user changes are
indexed where they are changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from chat.models.conversation import Conversation, ConversationQuerySet
from chat.models.follow_up import Attachment
from chat.models.message import Message
from chat.models.search_index import INDEX_VERSION, SearchEntry, SearchIndexState
from chat.models.todo_revision import TodoRevision
from chat.models.tool_call import ToolCall
from chat.models.turn import Turn
from chat.search import documents
from chat.search.documents import Kind, SearchText
from chat.search.store import Document, store
from chat.search.words import words_of

if TYPE_CHECKING:
    from chat.models.conversation import Conversation


OPEN_CALLS = ("pending", "waiting", "running")
AT_ONCE = 100  # turns
BATCH = 50  # entries whose words are held in memory at a time

# An entry without its index_state and key, and its words: all of them, and those that are inner ones.
Prepared = tuple[dict[str, Any], list[str], set[str]]


def marked_turns() -> list[Any]:
    """Turns with rows that became final and are not indexed, the newest first."""
    here = OuterRef("pk")
    marked = Turn.objects.filter(unindexed_at__isnull=False).defer("profile_snapshot", "status_message")
    marked = marked.annotate(
        has_files=Exists(Attachment.objects.filter(message__turn=here)),
        has_calls=Exists(ToolCall.objects.filter(turn=here)),
        has_lists=Exists(TodoRevision.objects.filter(turn=here)),
    )
    return list(marked.select_related("conversation__search_index_state").order_by("-pk")[:AT_ONCE])


def index_turn(turn: Any) -> None:
    """Index what became final in a turn of `marked_turns`, and take its mark off.

    Its rows are read ahead of the transaction, which writes nothing if the mark is not the one that was
    read: another worker was faster, or there is more to index, which is read the next time.
    """
    index_state = getattr(turn.conversation, "search_index_state", None)
    if index_state is not None and index_state.version != INDEX_VERSION:
        index_state = None
    new = list(_prepared(_new_pieces(turn, index_state))) if index_state else []
    with transaction.atomic():
        if not Turn.objects.filter(pk=turn.pk, unindexed_at=turn.unindexed_at).update(unindexed_at=None):
            return
        if index_state:
            _write(turn.conversation, index_state, new)
        else:
            reindex(turn.conversation)


def index_title(conversation: Conversation) -> None:
    """Let it be found by its title as it is now, and no more by the one before."""
    with transaction.atomic():
        index_state = _locked(conversation)
        index_state.entries.filter(kind=Kind.TITLE).delete()
        _put(conversation, index_state, [documents.of_title(conversation.title)])


def index_revision(revision: TodoRevision) -> None:
    """Index what a list says that the list before it did not."""
    found = documents.of_items(revision, _items_before(revision))
    _put(revision.conversation, SearchIndexState.of(revision.conversation), found)


def index_files(conversation: Conversation, paths: Iterable[str]) -> None:
    """Let files that came into the workspace be found by their names."""
    index_state = SearchIndexState.of(conversation)
    _put(conversation, index_state, _new_files(index_state, documents.of_files(paths)))


def forget(kind: Kind, row: int) -> None:
    """Take a row out of the index: it is gone, or is written anew."""
    SearchEntry.objects.filter(kind=kind, row=row).delete()


def reindex(conversation: Conversation) -> None:
    """Index all of a conversation anew. Files that came with no message are known by their entries alone."""
    with transaction.atomic():
        index_state = _locked(conversation)
        known = list(
            index_state.entries.filter(kind=Kind.FILE).order_by("pk").values_list("place", flat=True)
        )
        index_state.entries.all().delete()
        every = [*_everything(index_state.conversation), *documents.of_files(known)]
        _put(conversation, index_state, dict.fromkeys(every))
        index_state.version = INDEX_VERSION
        index_state.save(update_fields=["version"])


def _locked(conversation: Conversation) -> SearchIndexState:
    """The index state, locked until the transaction ends, with the conversation as it is now."""
    SearchIndexState.of(conversation)
    states = SearchIndexState.objects.select_for_update(no_key=True, of=("self",)).select_related(
        "conversation"
    )
    return states.get(conversation=conversation)


def _new_pieces(turn: Any, index_state: SearchIndexState) -> list[SearchText]:
    """The turn's messages, calls and lists that are final and not indexed, and the files that they name."""
    written = turn.messages.filter(complete=True).exclude(text="")
    messages = list(_unindexed(written, Kind.MESSAGE))
    final = turn.tool_calls.exclude(status__in=OPEN_CALLS)
    calls = list(_unindexed(final, Kind.CALL)) if turn.has_calls else []
    items = _new_items(turn) if turn.has_lists else []
    brought = Attachment.objects.filter(message__in=messages) if turn.has_files else []
    paths = documents.of_files(file.path for file in brought)
    files = _new_files(index_state, [*paths, *documents.of_files_written(calls)])
    return [*map(documents.of_message, messages), *map(documents.of_call, calls), *items, *files]


def _everything(conversation: Conversation) -> list[SearchText]:
    """All pieces of a conversation, in four queries."""
    messages = Message.objects.filter(turn__conversation=conversation, complete=True)
    every = ToolCall.objects.filter(turn__conversation=conversation)
    calls = list(every.exclude(status__in=OPEN_CALLS).order_by("pk"))
    revisions = list(conversation.revisions.order_by("pk"))
    before = [[], *(each.items for each in revisions)]
    items = [documents.of_items(now, earlier) for now, earlier in zip(revisions, before, strict=False)]
    brought = Attachment.objects.filter(message__turn__conversation=conversation)
    files = [*documents.of_files(brought.values_list("path", flat=True)), *documents.of_files_written(calls)]
    return [
        documents.of_title(conversation.title),
        *map(documents.of_message, messages.order_by("pk")),
        *map(documents.of_call, calls),
        *(piece for each in items for piece in each),
        *files,
    ]


def _new_items(turn: Turn) -> list[SearchText]:
    """What the turn's lists say that the list before each did not. One that says nothing new has no entry."""
    revisions = list(turn.revisions.annotate(known=_entries(Kind.TODO)).order_by("pk"))
    if all(revision.known for revision in revisions):
        return []
    before = [_items_before(revisions[0]), *(each.items for each in revisions)]
    pairs = zip(revisions, before, strict=False)
    return [piece for now, earlier in pairs if not now.known for piece in documents.of_items(now, earlier)]


def _items_before(revision: TodoRevision) -> list[dict[str, Any]]:
    earlier = revision.conversation.revisions.filter(pk__lt=revision.pk).order_by("pk").last()
    return earlier.items if earlier else []


def _unindexed(rows: QuerySet[Any], kind: Kind) -> QuerySet[Any]:
    return rows.filter(~_entries(kind)).order_by("pk")


def _entries(kind: Kind) -> Exists:
    return Exists(SearchEntry.objects.filter(kind=kind, row=OuterRef("pk")))


def _new_files(index_state: SearchIndexState, files: Iterable[SearchText]) -> list[SearchText]:
    """Those that are not on the index_state, each once."""
    files = dict.fromkeys(files)
    known = index_state.entries.filter(kind=Kind.FILE, place__in=[piece.place for piece in files])
    there = set(known.values_list("place", flat=True)) if files else set()
    return [piece for piece in files if piece.place not in there]


def _put(conversation: Conversation, index_state: SearchIndexState, found: Iterable[SearchText]) -> None:
    _write(conversation, index_state, _prepared(found))


def _prepared(found: Iterable[SearchText]) -> Iterator[Prepared]:
    """The entries of these pieces with their words, which takes a while for a long text."""
    for piece in found:
        for number, text in piece.parts():
            yield (
                {"kind": piece.kind, "row": piece.row, "place": piece.place, "part": number},
                *_words(text),
            )


def _words(text: str) -> tuple[list[str], set[str]]:
    words = list(words_of(text))
    return [word.text for word in words if not word.inner], {word.text for word in words if word.inner}


def _write(conversation: Conversation, index_state: SearchIndexState, prepared: Iterable[Prepared]) -> None:
    remaining = iter(prepared)
    while batch := list(islice(remaining, BATCH)):
        rows = [SearchEntry(index_state=index_state, **entry) for entry, _words, _inner in batch]
        with transaction.atomic(savepoint=False):
            entries = SearchEntry.objects.bulk_create(rows)
            written = zip(entries, batch, strict=True)
            documents = [
                Document(index_state.pk, entry.pk, words, inner) for entry, (_row, words, inner) in written
            ]
            store().add(conversation.owner_id, documents)


def unindexed() -> ConversationQuerySet:
    """Conversations whose entries are not all there, or are those of an earlier version.

    Those with a marked turn are not among them: they are indexed within a moment.
    """
    current = SearchIndexState.objects.filter(conversation=OuterRef("pk"), version=INDEX_VERSION)
    marked = Turn.objects.filter(conversation=OuterRef("pk"), unindexed_at__isnull=False)
    found: ConversationQuerySet = Conversation.objects.filter(~Exists(current), ~Exists(marked))
    return found


def is_complete() -> bool:
    """Whether nothing is left to index: two counts, where `unindexed` looks at every conversation."""
    indexed = SearchIndexState.objects.filter(version=INDEX_VERSION).count()
    return indexed == Conversation._base_manager.count()


def catch_up(seconds: float) -> bool:
    """Index what is missing, the newest first, for so many seconds or little longer; True if more is left.

    Each conversation is a transaction of its own, between which turns have the database to themselves.
    """
    end = time.monotonic() + seconds
    for conversation in unindexed()[:100]:
        reindex(conversation)
        if time.monotonic() > end:
            break
    return unindexed().exists()
