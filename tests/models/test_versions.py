"""Versions of turns: which path the conversation shows, and what deleting a turn leaves."""

from __future__ import annotations

import datetime
import uuid
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from chat.models import (
    Attachment,
    BulkAct,
    Conversation,
    Message,
    MessageRefused,
    Profile,
    ShareLink,
    TodoRevision,
    Turn,
)
from chat.models.bulk import Undone


def ask(conversation: Conversation, text: str) -> Turn:
    return ended(conversation.start_turn(text, uuid.uuid4()))


def again(conversation: Conversation, turn: Turn, text: str | None = None) -> Turn:
    return ended(conversation.run_again(turn.pk, uuid.uuid4(), text))


def as_before(conversation: Conversation, turn: Turn) -> Turn:
    return ended(conversation.run_again(turn.pk, uuid.uuid4(), as_before=True))


def ended(turn: Turn) -> Turn:
    """The turn after it has run, with a list of two items."""
    claimed = Turn.claim("here", turn.pk)
    assert claimed is not None
    items = [{"id": str(number), "content": turn.user_text, "status": "pending"} for number in (1, 2)]
    TodoRevision.write(claimed, None, "focused", items)
    claimed.end(Turn.Status.COMPLETED)
    return claimed


def texts(conversation: Conversation) -> list[str]:
    return [turn.user_text for turn in conversation.path]


@pytest.fixture
def talk(owner: User) -> Conversation:
    """Three turns, in the order a, b, c."""
    conversation = Conversation.begin(owner, "a", uuid.uuid4(), None)
    ended(conversation.turns.get())
    for text in "bc":
        ask(conversation, text)
    return conversation


def turn_of(conversation: Conversation, text: str) -> Turn:
    return conversation.turns.get(messages__text=text)


def test_a_version_takes_the_place_of_a_turn_and_of_what_followed(talk: Conversation) -> None:
    b = turn_of(talk, "b")
    other = again(talk, b, "B")
    ask(talk, "D")
    assert texts(talk) == ["a", "B", "D"]
    assert (other.parent_id, other.follows_id) == (b.parent_id, b.follows_id)
    latest = talk.revision()
    assert latest is not None
    assert [item["content"] for item in latest.items] == ["D", "D"]
    third = again(talk, other, "Bb")
    assert texts(talk) == ["a", "Bb"]
    talk.show_version(b.pk)
    assert texts(talk) == ["a", "b", "c"]
    talk.show_version(other.pk)
    assert texts(talk) == ["a", "B", "D"], "what was last shown after it"
    shown = [*Turn.with_rows().filter(conversation=talk, on_path=True)]
    Turn.find_versions(shown)
    assert [turn.versions and (turn.versions.number, len(turn.versions.keys)) for turn in shown] == [
        None,
        (2, 3),
        None,
    ]
    versions = shown[1].versions
    assert versions is not None
    assert (versions.previous, versions.next) == (b.pk, third.pk)
    again(talk, turn_of(talk, "a"), "A")
    assert texts(talk) == ["A"], "the first turn has versions too"
    talk.show_version(turn_of(talk, "a").pk)
    assert texts(talk) == ["a", "B", "D"]
    talk.show_version(turn_of(talk, "c").pk)
    assert texts(talk) == ["a", "b", "c"], "a turn is found wherever it is"
    assert sum(turn.status == "completed" for turn in talk.turns.all()) == 7, "nothing is lost"


def test_follow_ups_and_files_of_the_turn_are_in_its_version(talk: Conversation) -> None:
    c = turn_of(talk, "c")
    step = c.steps.create(number=1)
    Attachment.objects.create(message=c.messages.get(), path="uploads/1.txt")
    c.messages.create(role=Message.Role.USER, step=step, text="and d")
    assert again(talk, c).user_text == "c\n\nand d"
    assert [each.path for each in Attachment.objects.filter(message__turn=talk.path.last())] == [
        "uploads/1.txt"
    ]


def test_another_profile_answers_one_turn(talk: Conversation) -> None:
    careful = Profile.objects.create(title="Careful", model="other-1")
    version = talk.run_again(turn_of(talk, "c").pk, uuid.uuid4(), profile=careful)
    version = ended(version)
    assert version.profile_snapshot["title"] == "Careful"
    assert version.profile.model == "other-1"
    assert version.profile_snapshot["since"] == version.pk
    assert ask(talk, "d").profile_snapshot["title"] != "Careful"
    assert ended(talk.run_again(version.pk, uuid.uuid4())).profile.title != "Careful"
    talk.show_version(version.pk)
    repeated = as_before(talk, version)
    assert (repeated.profile.title, repeated.profile.model) == ("Careful", "other-1"), "run again as it was"
    Turn.objects.filter(pk=repeated.pk).update(
        profile_snapshot=repeated.profile_snapshot | {"id": -careful.pk}
    )
    assert as_before(talk, repeated).profile.title != "Careful", "but not what a file says"


def test_what_works_or_is_not_shown_is_left_alone(talk: Conversation) -> None:
    b, c = turn_of(talk, "b"), turn_of(talk, "c")
    again(talk, b)
    with pytest.raises(MessageRefused, match="another tab"):
        talk.run_again(c.pk, uuid.uuid4())
    talk.delete_turn(c.pk)
    assert Turn.objects.filter(pk=c.pk).exists(), "it was not to be seen"
    talk.start_turn("e", uuid.uuid4())
    for refused in (
        lambda: talk.run_again(b.pk, uuid.uuid4()),
        lambda: talk.show_version(b.pk),
        lambda: talk.delete_turn(turn_of(talk, "a").pk),
    ):
        with pytest.raises(MessageRefused, match="still working"):
            refused()
    other = Conversation.begin(talk.owner, "x", uuid.uuid4(), None)
    with pytest.raises(MessageRefused):
        other.show_version(b.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.filter(pk=turn_of(talk, "e").pk).update(chosen=False)


def test_deleting_a_turn_leaves_the_others_in_every_branch(talk: Conversation) -> None:
    a, b, c = (turn_of(talk, text) for text in "abc")
    link = ShareLink.make(talk, timezone.now() + datetime.timedelta(days=1))
    other = again(talk, b, "B")
    talk.show_version(c.pk)
    talk.delete_turn(c.pk)
    assert texts(talk) == ["a", "b"]
    link.refresh_from_db()
    assert link.last_turn == b.pk, "the link shows what is left"
    latest = talk.revision()
    assert latest is not None
    assert (latest.turn_id, talk.todos_left) == (b.pk, 2)
    talk.delete_turn(a.pk)
    assert texts(talk) == ["b"]
    for turn in (b, other):
        turn.refresh_from_db()
        assert (turn.parent_id, turn.follows_id) == (None, None)
        assert turn.profile_snapshot["since"] == turn.pk
    talk.delete_turn(b.pk)
    assert texts(talk) == ["B"], "the other version is shown"
    talk.delete_turn(other.pk)
    assert texts(talk) == []
    talk.refresh_from_db()
    assert talk.todos_left == 0
    assert ask(talk, "new").parent_id is None


def without_a_list(talk: Conversation, text: str) -> Turn:
    talk.start_turn(text, uuid.uuid4())
    turn = Turn.claim("here")
    assert turn
    turn.end(Turn.Status.COMPLETED)
    return turn


def test_edits_of_an_earlier_list_outlive_the_turn_after_which_they_were_made(talk: Conversation) -> None:
    c, d = turn_of(talk, "c"), without_a_list(talk, "d")
    mine = [{"id": "m", "content": "Mine", "status": "pending", "activeForm": "", "key": ""}]
    TodoRevision.edit(d, "focused", mine)
    assert [edit.turn_id for edit in talk.delete_turn(d.pk)] == [c.pk]
    kept = talk.revision()
    assert kept is not None
    assert (kept.items, kept.turn_id, kept.afterwards, talk.todos_left) == (mine, c.pk, True, 1)


def added_to(turn: Turn) -> list[dict[str, str]]:
    """Two items that the user adds to the turn's list, one of them done."""
    last = turn.revisions.latest("pk")
    keys = {"activeForm": "", "key": ""}
    mine = [
        {"id": f"m-{status}", "content": status, "status": status, **keys}
        for status in ("pending", "completed")
    ]
    TodoRevision.edit(turn, "focused", [mine[0], *last.items, mine[1]])
    return mine


def test_items_that_the_user_added_outlive_the_turn_with_the_list(talk: Conversation) -> None:
    b, c = turn_of(talk, "b"), turn_of(talk, "c")
    mine = added_to(c)
    [kept] = talk.delete_turn(c.pk)
    assert kept == talk.revision()
    assert (kept.items, kept.turn_id) == ([*b.revisions.earliest("pk").items, *mine], b.pk)
    assert talk.todos_left == 3


@pytest.mark.parametrize("end", ["dismissed", "done"])
def test_items_outlive_their_turn_without_a_list_that_was_over(talk: Conversation, end: str) -> None:
    b, c = turn_of(talk, "b"), turn_of(talk, "c")
    if end == "dismissed":
        b.revisions.update(dismissed=True)
    else:
        TodoRevision.edit(b, "focused", [item | {"status": "completed"} for item in b.revisions.get().items])
    mine = added_to(c)
    [kept] = talk.delete_turn(c.pk)
    assert (kept.items, talk.todos_left) == (mine, 1)


def test_items_of_a_list_that_was_dismissed_go_with_their_turn(talk: Conversation) -> None:
    added_to(turn_of(talk, "c"))
    BulkAct.carry_out(talk.owner, "dismiss", [talk.pk])
    assert talk.delete_turn(turn_of(talk, "c").pk) == []


def test_a_list_elsewhere_is_not_changed_by_a_turn_that_goes(talk: Conversation) -> None:
    c = turn_of(talk, "c")
    added_to(c)
    d = ask(talk, "d")
    assert talk.delete_turn(c.pk) == []
    assert talk.revision() == d.revisions.get()


def test_items_outlive_a_version(talk: Conversation) -> None:
    b = turn_of(talk, "b")
    other = again(talk, b, "B")
    mine = added_to(other)
    [kept] = talk.delete_turn(other.pk)
    assert kept.turn_id == turn_of(talk, "c").pk
    assert [item for item in kept.items if item in mine] == mine


def test_edits_of_an_earlier_list_are_in_both_versions_of_a_later_turn(talk: Conversation) -> None:
    d = without_a_list(talk, "d")
    mine = [{"id": "m", "content": "Mine", "status": "pending", "activeForm": "", "key": ""}]
    TodoRevision.edit(d, "focused", mine)
    talk.run_again(d.pk, uuid.uuid4())
    new = Turn.claim("here")
    assert new
    new.end(Turn.Status.COMPLETED)
    for version in (new, d):
        talk.show_version(version.pk)
        latest = talk.revision()
        assert latest is not None
        assert (latest.items, talk.todos_left) == (mine, 1)


def test_edits_outlive_the_first_turn(talk: Conversation) -> None:
    other = Conversation.begin(talk.owner, "first", uuid.uuid4(), None)
    first = Turn.claim("here")
    assert first
    first.end(Turn.Status.COMPLETED)
    mine = [{"id": "m", "content": "Mine", "status": "pending", "activeForm": "", "key": ""}]
    TodoRevision.edit(first, "focused", mine)
    second = without_a_list(other, "second")
    other.delete_turn(first.pk)
    kept = other.revision()
    assert kept is not None
    assert (kept.items, kept.turn_id) == (mine, second.pk)


def test_a_list_that_was_dismissed_stays_so(talk: Conversation) -> None:
    BulkAct.carry_out(talk.owner, "dismiss", [talk.pk])
    talk.start_turn("d", uuid.uuid4())
    without_list = Turn.claim("here")
    assert without_list
    without_list.end(Turn.Status.COMPLETED)
    talk.run_again(without_list.pk, uuid.uuid4())
    other = Turn.claim("here")
    assert other
    other.end(Turn.Status.COMPLETED)
    assert talk.todos_left == 0
    talk.show_version(without_list.pk)
    talk.delete_turn(without_list.pk)
    talk.delete_turn(other.pk)
    assert (texts(talk), talk.todos_left) == (["a", "b", "c"], 0)
    talk.delete_turn(turn_of(talk, "c").pk)
    assert (texts(talk), talk.todos_left) == (["a", "b"], 2), "of another list nothing was said"


def test_a_list_stays_dismissed_while_another_version_is_shown(talk: Conversation) -> None:
    c = turn_of(talk, "c")
    act = BulkAct.carry_out(talk.owner, "dismiss", [talk.pk])
    other = again(talk, c, "C")
    assert talk.todos_left == 2
    talk.show_version(c.pk)
    assert talk.todos_left == 0
    talk.show_version(other.pk)
    TodoRevision.edit(other, "focused", [])
    assert act.undo(talk.owner) == Undone(0, 1), "it is not the list on show"
    talk.show_version(c.pk)
    assert talk.todos_left == 0


def test_lists_that_an_earlier_release_dismissed_are_marked(talk: Conversation) -> None:
    Conversation.objects.filter(pk=talk.pk).update(todos_left=0)
    import_module("chat.migrations.0035_dismissed_revisions").mark(apps, None)
    assert list(TodoRevision.objects.order_by("pk").values_list("dismissed", flat=True)) == [
        False,
        False,
        True,
    ]


def test_a_version_is_deleted_with_what_followed_it(talk: Conversation) -> None:
    b, c = turn_of(talk, "b"), turn_of(talk, "c")
    other = again(talk, b, "B")
    after = ask(talk, "d")
    talk.show_version(b.pk)
    again(talk, c, "C")
    talk.delete_turn(b.pk)
    assert texts(talk) == ["a", "B", "d"]
    assert {turn.user_text for turn in talk.turns.all()} == {"a", "B", "d"}
    after.refresh_from_db()
    assert after.parent_id == other.pk


def test_turns_of_an_earlier_release_follow_each_other(talk: Conversation, owner: User) -> None:
    other = Conversation.begin(owner, "x", uuid.uuid4(), None)
    Turn.objects.update(parent=None)
    migration = import_module("chat.migrations.0030_parents")
    migration.set_parents(apps, SimpleNamespace(connection=connection))
    a, b, c = (turn_of(talk, text) for text in "abc")
    assert [turn.parent_id for turn in (a, b, c)] == [None, a.pk, b.pk]
    assert other.turns.get().parent_id is None
