"""What is committed is indexed, or is found again: by a turn's end, or by whoever catches up."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from chat.models import Conversation, Message, SearchEntry, SearchShelf, Turn
from chat.models.search.catch_up import catch_up, unindexed
from chat.models.search.index import forget, index_files, index_turn, reindex
from chat.models.search.store import store
from chat.models.search.term import Term
from chat.search.query import query_of
from tests.search.conftest import Talk

Begin = Callable[[str], Talk]


def found(owner: User, *words: str) -> int:
    """How many conversations have the phrase."""
    return len(store().shelves(owner.pk, Term(words)))


def entries() -> list[tuple[str, int, str, int]]:
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
    SearchShelf.objects.all().delete()
    assert found(owner, "answer") == 0
    assert unindexed().get() == rich.conversation
    assert not catch_up(60)
    assert entries() == before
    assert found(owner, "answer") == 1
    assert not unindexed().exists()


def test_a_conversation_that_goes_on_before_that_is_still_caught_up_with(owner: User, rich: Talk) -> None:
    SearchShelf.objects.all().delete()
    rich.answer("Later").end()
    assert (found(owner, "later"), found(owner, "first")) == (1, 0)
    assert not catch_up(60)
    assert (found(owner, "later"), found(owner, "first")) == (1, 1)


def test_an_earlier_edition_is_indexed_anew(rich: Talk) -> None:
    SearchShelf.objects.update(edition=0)
    assert not catch_up(60)
    assert not unindexed().exists()


def test_what_is_rolled_back_is_not_indexed(owner: User, rich: Talk) -> None:
    with transaction.atomic():
        rich.conversation.rename("Platypus")
        transaction.set_rollback(True)
    assert found(owner, "platypus") == 0


def test_a_text_still_being_written_is_indexed_once_it_is_cut_off(owner: User, talk: Begin) -> None:
    one = talk("Go").answer("Half a platypus", complete=False)
    index_turn(one.turn)
    assert found(owner, "platypus") == 0
    one.turn.close_rows(running="unknown", for_good=False)
    assert found(owner, "platypus") == 1
    message = Message.objects.get(complete=True, role="assistant")
    forget(SearchEntry.Kind.MESSAGE, message.pk)
    assert found(owner, "platypus") == 0


def test_a_call_that_runs_is_indexed_when_it_has_ended(owner: User, talk: Begin) -> None:
    one = talk("Go")
    call = one.call("bash", '{"command": "platypus --now"}', status="running")
    index_turn(one.turn)
    assert found(owner, "platypus") == 0
    call.status = "succeeded"
    call.save()
    index_turn(one.turn)
    index_turn(one.turn)
    assert SearchEntry.objects.filter(kind="call").count() == 1


def test_a_long_text_is_found_to_its_end_and_across_its_parts(owner: User, talk: Begin) -> None:
    words = [f"w{number}" for number in range(9000)]
    text = " ".join(words)
    one = talk("Go").answer(text[:60_000]).end()
    for place in (0, 600, 664, 665, 700, 1330, 5000, 8000):
        assert found(owner, *words[place : place + 3]) == 1, place
    assert SearchEntry.objects.filter(shelf__conversation=one.conversation, kind="message").count() > 10


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
