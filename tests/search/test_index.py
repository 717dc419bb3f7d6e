"""Final rows mark their turn, and workers index marked turns; the rest is caught up with."""

from __future__ import annotations

import tracemalloc
import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import Conversation, Message, SearchEntry, SearchIndexState, Turn
from chat.models.turn_recovery import recover_turn
from chat.search.index import (
    catch_up,
    index_files,
    index_title,
    index_turn,
    marked_turns,
    reindex,
    unindex,
    unindexed,
)
from chat.search.query import query_of
from chat.search.store import Term, store
from tests.search.conftest import Talk, index_marked

Begin = Callable[[str], Talk]


def found(owner: User, *words: str) -> int:
    """How many conversations have the phrase, once a worker has indexed what is marked."""
    index_marked()
    return len(store().matching_states(owner.pk, Term(words)))


def mark(turn: Turn) -> None:
    """As a writer does for whom a row of the turn has become final."""
    Turn.objects.filter(pk=turn.pk).update(unindexed_at=timezone.now())


def entries() -> list[tuple[str, int, str, int]]:
    index_marked()
    return sorted(SearchEntry.objects.values_list("kind", "row", "place", "part"))


@pytest.fixture
def rich(talk: Begin) -> Talk:
    """A conversation with something of every kind."""
    one = talk("Look around").answer("An answer").plan("First", "Second").plan("First", "Third")
    one.call("write_file", '{"path": "notes.md", "content": "words"}', "Wrote it.")
    return one.end().go_on("And more")


def test_indexing_anew_makes_the_same_entries(rich: Talk) -> None:
    before = entries()
    assert {kind for kind, *_rest in before} == set(SearchEntry.Kind.values)
    reindex(rich.conversation)
    assert entries() == before


def test_conversations_from_before_are_caught_up_with(owner: User, rich: Talk) -> None:
    before = entries()
    SearchIndexState.objects.all().delete()
    assert found(owner, "answer") == 0
    assert unindexed().get() == rich.conversation
    assert not catch_up(60)
    assert entries() == before
    assert found(owner, "answer") == 1
    assert not unindexed().exists()


def test_a_conversation_that_goes_on_before_that_is_still_caught_up_with(owner: User, rich: Talk) -> None:
    SearchIndexState.objects.all().delete()
    rich.answer("Later").end()
    assert not unindexed().exists(), "its turn is marked, and with that the whole of it"
    assert (found(owner, "later"), found(owner, "first")) == (1, 1)


def test_an_earlier_edition_is_indexed_anew(rich: Talk) -> None:
    SearchIndexState.objects.update(version=0)
    assert not catch_up(60)
    assert not unindexed().exists()


def test_what_is_rolled_back_is_not_indexed(owner: User, rich: Talk) -> None:
    with transaction.atomic():
        rich.conversation.rename("Platypus")
        index_title(rich.conversation)
        transaction.set_rollback(True)
    assert found(owner, "platypus") == 0


def test_a_text_still_being_written_is_indexed_once_it_is_cut_off(owner: User, talk: Begin) -> None:
    one = talk("Go").answer("Half a platypus", complete=False)
    mark(one.turn)
    assert found(owner, "platypus") == 0
    claimed = Turn.claim("worker", one.turn.pk)
    assert claimed
    claimed.release()
    assert found(owner, "platypus") == 1
    message = Message.objects.get(complete=True, role="assistant")
    unindex(SearchEntry.Kind.MESSAGE, message.pk)
    assert found(owner, "platypus") == 0


def test_a_call_that_runs_is_indexed_when_it_has_ended(owner: User, talk: Begin) -> None:
    one = talk("Go")
    call = one.call("bash", '{"command": "platypus --now"}', status="running")
    mark(one.turn)
    assert found(owner, "platypus") == 0
    call.status = "succeeded"
    call.save()
    for _time in range(2):
        mark(one.turn)
        assert found(owner, "platypus") == 1
    assert SearchEntry.objects.filter(kind="call").count() == 1


def test_a_long_text_is_found_to_its_end_and_across_its_parts(owner: User, talk: Begin) -> None:
    words = [f"w{number}" for number in range(9000)]
    text = " ".join(words)
    one = talk("Go").answer(text[:60_000]).end()
    for place in (0, 600, 664, 665, 700, 1330, 5000, 8000):
        assert found(owner, *words[place : place + 3]) == 1, place
    assert SearchEntry.objects.filter(index_state__conversation=one.conversation, kind="message").count() > 10


def test_of_a_long_output_beginning_and_end_are_found(owner: User, talk: Begin) -> None:
    one = talk("Go")
    one.call("bash", '{"command": "x"}', "platypus " + "filler " * 8000 + "wombat")
    one.end()
    assert (found(owner, "platypus"), found(owner, "wombat")) == (1, 1)


def test_each_file_is_one_place(talk: Begin) -> None:
    one = talk("Go")
    index_files(one.conversation, ["uploads/a.txt", "./uploads/a.txt"])
    index_files(one.conversation, ["uploads/a.txt", "x" * 2000])
    assert [place for kind, _row, place, _part in entries() if kind == "file"] == ["uploads/a.txt"]


def test_owners_share_no_words(owner: User, stranger: User, talk: Begin) -> None:
    talk("platypus")
    Conversation.begin(stranger, "wombat", uuid.uuid4(), None)
    assert (found(owner, "platypus"), found(owner, "wombat")) == (1, 0)
    assert (found(stranger, "platypus"), found(stranger, "wombat")) == (0, 1)


def test_what_is_gone_leaves_no_words(owner: User, rich: Talk) -> None:
    rich.turn.request_stop()
    Turn.objects.filter(conversation=rich.conversation).delete()
    rich.conversation.delete()
    assert [found(owner, *term.words) for term in query_of("look answer first notes").terms] == [0, 0, 0, 0]


def test_whatever_changes_a_turn_for_good_marks_it(owner: User, talk: Begin) -> None:
    def is_marked(turn: Turn) -> bool:
        marked = turn in marked_turns()
        index_marked()
        assert not marked_turns()
        return marked

    one = talk("Go")
    assert is_marked(one.turn), "sent"
    claimed = Turn.claim("worker", one.turn.pk)
    assert claimed
    assert not is_marked(claimed)
    claimed.update_leased()
    assert not is_marked(claimed)
    claimed.wait()
    assert is_marked(claimed), "waits for a decision"
    claimed.resume()
    claimed = Turn.claim("worker", one.turn.pk)
    assert claimed
    claimed.release()
    assert is_marked(claimed), "handed over"
    claimed = Turn.claim("worker", one.turn.pk)
    assert claimed
    assert recover_turn(claimed)
    assert is_marked(claimed), "left by its worker"
    claimed.request_stop()
    assert is_marked(claimed), "stopped while nobody worked on it"


def test_a_mark_outlasts_a_worker_that_dies_while_it_indexes(owner: User, talk: Begin) -> None:
    one = talk("Look around").answer("A wombat").end()
    with transaction.atomic():
        index_marked()
        transaction.set_rollback(True)
    assert len(store().matching_states(owner.pk, Term(("wombat",)))) == 0
    assert marked_turns() == [one.turn]
    assert found(owner, "wombat") == 1


def test_what_is_marked_while_a_worker_indexes_stays_marked(owner: User, talk: Begin) -> None:
    """Nothing is lost, and nothing is there twice, though another worker may have been faster."""
    one = talk("Look around").end()
    index_marked()
    mark(one.answer("A wombat").turn)
    [as_read] = marked_turns()
    mark(one.answer("A platypus").turn)
    index_turn(as_read)
    assert marked_turns() == [one.turn]
    assert (found(owner, "wombat"), found(owner, "platypus")) == (1, 1)
    mark(one.answer("A quokka").turn)
    index_turn(as_read)
    assert found(owner, "quokka") == 1
    assert SearchEntry.objects.filter(kind="message").count() == 4


def test_a_long_conversation_costs_no_more_to_index(owner: User, talk: Begin) -> None:
    one = talk("Look around").plan("First").plan("First")
    for number in range(30):
        one.answer(f"Answer {number}").end().go_on("More")
    assert found(owner, "answer") == 1
    one.answer("A wombat").end()
    with CaptureQueriesContext(connection) as queries:
        index_marked()
    assert found(owner, "wombat") == 1
    assert len(queries) <= 11


def test_indexing_a_large_conversation_takes_little_memory(talk: Begin) -> None:
    one = talk("Look around")
    for _number in range(20):
        one.answer("word " * 13_000)
    one.end()
    tracemalloc.start()
    try:
        reindex(one.conversation)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 12 * 1024**2, "1.3 MB of text, and the words of a part of it"


def test_uploads_outlast_an_indexing_of_all(talk: Begin) -> None:
    one = talk("Go")
    index_files(one.conversation, ["uploads/a.txt"])
    reindex(one.conversation)
    assert [place for kind, _row, place, _part in entries() if kind == "file"] == ["uploads/a.txt"]


def test_what_is_deleted_and_brought_back_is_found(owner: User, talk: Begin) -> None:
    one = talk("Look around").answer("A wombat").end()
    deleted = Conversation.with_deleted.filter(pk=one.conversation.pk)
    deleted.update(deleted_at=timezone.now())
    index_marked()
    deleted.update(deleted_at=None)
    assert found(owner, "wombat") == 1
