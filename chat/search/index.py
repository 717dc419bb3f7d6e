"""Writes the search index. Workers index marked turns; other changes are indexed where they are made."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from chat.models.conversation import Conversation
from chat.models.conversation_queries import ConversationQuerySet
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
MAX_TURNS = 100  # indexed in one round
BATCH_SIZE = 50  # entries whose words are in memory at a time

# An entry without its index_state and key, its words, and its inner words.
Prepared = tuple[dict[str, Any], list[str], set[str]]


def marked_turns() -> list[Any]:
    """Turns with final rows that are not indexed, newest first."""
    here = OuterRef("pk")
    marked = Turn.objects.filter(unindexed_at__isnull=False).defer("profile_snapshot", "status_message")
    marked = marked.annotate(
        has_files=Exists(Attachment.objects.filter(message__turn=here)),
        has_calls=Exists(ToolCall.objects.filter(turn=here)),
        has_lists=Exists(TodoRevision.objects.filter(turn=here)),
    )
    return list(marked.select_related("conversation__search_index_state").order_by("-pk")[:MAX_TURNS])


def index_turn(turn: Any) -> None:
    """Index final rows of a turn from `marked_turns`, and clear its mark.

    Reads before the transaction, which writes nothing if the mark has changed: another worker was faster, or
    there is more to index.
    """
    index_state = getattr(turn.conversation, "search_index_state", None)
    if index_state is not None and index_state.version != INDEX_VERSION:
        index_state = None
    new = list(_prepared(_new_texts(turn, index_state))) if index_state else []
    with transaction.atomic():
        if not Turn.objects.filter(pk=turn.pk, unindexed_at=turn.unindexed_at).update(unindexed_at=None):
            return
        if index_state:
            _write(turn.conversation, index_state, new)
        else:
            reindex(turn.conversation)


def index_title(conversation: Conversation) -> None:
    with transaction.atomic():
        index_state = _locked(conversation)
        index_state.entries.filter(kind=Kind.TITLE).delete()
        _put(conversation, index_state, [documents.of_title(conversation.title)])


def index_revision(revision: TodoRevision) -> None:
    texts = documents.of_items(revision, _items_before(revision))
    _put(revision.conversation, SearchIndexState.of(revision.conversation), texts)


def index_files(conversation: Conversation, paths: Iterable[str]) -> None:
    """Index files that were added to the workspace."""
    index_state = SearchIndexState.of(conversation)
    _put(conversation, index_state, _new_files(index_state, documents.of_files(paths)))


def unindex_file(conversation: Conversation, path: str) -> None:
    """Remove the entry of a file that was deleted or renamed."""
    index_state = SearchIndexState.of(conversation)
    index_state.entries.filter(kind=Kind.FILE, place=posixpath.normpath(path)).delete()


def unindex(kind: Kind, row: int) -> None:
    """Remove a row's entries: it was deleted or will be rewritten."""
    SearchEntry.objects.filter(kind=kind, row=row).delete()


def unindex_turn(turn_id: int, conversation: Conversation) -> None:
    """Remove the entries of a turn's rows, before it is deleted."""
    sources = {Kind.MESSAGE: Message, Kind.CALL: ToolCall, Kind.TODO: TodoRevision}
    for kind, model in sources.items():
        rows = model._default_manager.filter(turn=turn_id, turn__conversation=conversation)
        SearchEntry.objects.filter(kind=kind, row__in=list(rows.values_list("pk", flat=True))).delete()


def reindex(conversation: Conversation) -> None:
    """Rebuild a conversation's index. Files without a message are known only by their entries."""
    with transaction.atomic():
        index_state = _locked(conversation)
        known = list(
            index_state.entries.filter(kind=Kind.FILE).order_by("pk").values_list("place", flat=True)
        )
        index_state.entries.all().delete()
        texts = [*_all_texts(index_state.conversation), *documents.of_files(known)]
        _put(conversation, index_state, dict.fromkeys(texts))
        index_state.version = INDEX_VERSION
        index_state.save(update_fields=["version"])


def _locked(conversation: Conversation) -> SearchIndexState:
    SearchIndexState.of(conversation)
    states = SearchIndexState.objects.select_for_update(no_key=True, of=("self",)).select_related(
        "conversation"
    )
    return states.get(conversation=conversation)


def _new_texts(turn: Any, index_state: SearchIndexState) -> list[SearchText]:
    """Texts of the turn's final rows that are not indexed, and the files that they name."""
    written = turn.messages.filter(complete=True).exclude(text="")
    messages = list(_unindexed(written, Kind.MESSAGE))
    final = turn.tool_calls.exclude(status__in=OPEN_CALLS)
    calls = list(_unindexed(final, Kind.CALL)) if turn.has_calls else []
    items = _new_items(turn) if turn.has_lists else []
    brought = Attachment.objects.filter(message__in=messages) if turn.has_files else []
    paths = documents.of_files(file.path for file in brought)
    files = _new_files(index_state, [*paths, *documents.of_files_written(calls)])
    return [*map(documents.of_message, messages), *map(documents.of_call, calls), *items, *files]


def _all_texts(conversation: Conversation) -> list[SearchText]:
    messages = Message.objects.filter(turn__conversation=conversation, complete=True)
    all_calls = ToolCall.objects.filter(turn__conversation=conversation)
    calls = list(all_calls.exclude(status__in=OPEN_CALLS).order_by("pk"))
    revisions = list(conversation.revisions.order_by("pk"))
    before = [[], *(each.items for each in revisions)]
    items = [
        documents.of_items(revision, earlier) for revision, earlier in zip(revisions, before, strict=False)
    ]
    brought = Attachment.objects.filter(message__turn__conversation=conversation)
    files = [*documents.of_files(brought.values_list("path", flat=True)), *documents.of_files_written(calls)]
    return [
        documents.of_title(conversation.title),
        *map(documents.of_message, messages.order_by("pk")),
        *map(documents.of_call, calls),
        *(text for each in items for text in each),
        *files,
    ]


def _new_items(turn: Turn) -> list[SearchText]:
    revisions = list(turn.revisions.annotate(known=_entries(Kind.TODO)).order_by("pk"))
    if all(revision.known for revision in revisions):
        return []
    before = [_items_before(revisions[0]), *(each.items for each in revisions)]
    pairs = zip(revisions, before, strict=False)
    return [
        text
        for revision, earlier in pairs
        if not revision.known
        for text in documents.of_items(revision, earlier)
    ]


def _items_before(revision: TodoRevision) -> list[dict[str, Any]]:
    earlier = revision.conversation.revisions.filter(pk__lt=revision.pk).order_by("pk").last()
    return earlier.items if earlier else []


def _unindexed(rows: QuerySet[Any], kind: Kind) -> QuerySet[Any]:
    return rows.filter(~_entries(kind)).order_by("pk")


def _entries(kind: Kind) -> Exists:
    return Exists(SearchEntry.objects.filter(kind=kind, row=OuterRef("pk")))


def _new_files(index_state: SearchIndexState, files: Iterable[SearchText]) -> list[SearchText]:
    files = dict.fromkeys(files)
    known = index_state.entries.filter(kind=Kind.FILE, place__in=[text.place for text in files])
    there = set(known.values_list("place", flat=True)) if files else set()
    return [text for text in files if text.place not in there]


def _put(conversation: Conversation, index_state: SearchIndexState, texts: Iterable[SearchText]) -> None:
    _write(conversation, index_state, _prepared(texts))


def _prepared(texts: Iterable[SearchText]) -> Iterator[Prepared]:
    """Entries of these texts with their words; slow for long texts."""
    for text in texts:
        for number, chunk in text.chunks():
            yield (
                {"kind": text.kind, "row": text.row, "place": text.place, "part": number},
                *_words(chunk),
            )


def _words(text: str) -> tuple[list[str], set[str]]:
    words = list(words_of(text))
    return [word.text for word in words if not word.inner], {word.text for word in words if word.inner}


def _write(conversation: Conversation, index_state: SearchIndexState, prepared: Iterable[Prepared]) -> None:
    remaining = iter(prepared)
    while batch := list(islice(remaining, BATCH_SIZE)):
        rows = [SearchEntry(index_state=index_state, **entry) for entry, _words, _inner in batch]
        with transaction.atomic(savepoint=False):
            entries = SearchEntry.objects.bulk_create(rows)
            written = zip(entries, batch, strict=True)
            documents = [
                Document(index_state.pk, entry.pk, words, inner) for entry, (_row, words, inner) in written
            ]
            store().add(conversation.owner_id, documents)


def unindexed() -> ConversationQuerySet:
    """Conversations whose index is incomplete or outdated, except those with a marked turn."""
    current = SearchIndexState.objects.filter(conversation=OuterRef("pk"), version=INDEX_VERSION)
    marked = Turn.objects.filter(conversation=OuterRef("pk"), unindexed_at__isnull=False)
    conversations: ConversationQuerySet = Conversation.objects.filter(~Exists(current), ~Exists(marked))
    return conversations


def is_complete() -> bool:
    """Whether nothing is left to index: two counts, while `unindexed` scans every conversation."""
    indexed = SearchIndexState.objects.filter(version=INDEX_VERSION).count()
    return indexed == Conversation._base_manager.count()


def catch_up(seconds: float) -> bool:
    """Index what is missing, newest first, for about `seconds`; returns whether more is left.

    One transaction per conversation, so that turns can write in between.
    """
    end = time.monotonic() + seconds
    for conversation in unindexed()[:100]:
        reindex(conversation)
        if time.monotonic() > end:
            break
    return unindexed().exists()
