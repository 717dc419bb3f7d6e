"""Bulk actions and their undo."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import BulkAct, Conversation, Tag, TagRefused, TodoRevision, Turn
from chat.models.bulk import UNDO_TIME, Undone
from chat.models.tag import MAX_TAGS_OF_CONVERSATION

CHANGED = {
    "archive": 2,
    "bring_back": 1,
    "pin": 2,
    "unpin": 1,
    "tag": 2,
    "untag": 1,
    "dismiss": 2,
    "delete": 3,
}


@pytest.fixture
def rows(owner: User) -> list[Conversation]:
    """Three, no two alike."""
    tag = Tag.of(owner.pk, "报告")
    first, second, third = [Conversation.objects.create(owner=owner, title=str(n)) for n in range(3)]
    Conversation.objects.filter(pk=second.pk).update(pinned=True, archived_at=timezone.now())
    list_todos(second, 2)
    list_todos(third, 1)
    second.tags.add(tag)
    return [first, second, third]


def list_todos(conversation: Conversation, count: int) -> None:
    """Write a list of so many open items."""
    turn = Turn.objects.create(conversation=conversation, client_id=uuid.uuid4(), status="completed")
    items = [{"id": str(number), "content": "a", "status": "pending"} for number in range(count)]
    TodoRevision.write(turn, None, "focused", items)


def keys(rows: list[Conversation]) -> list[uuid.UUID]:
    return [row.pk for row in rows]


def state(owner: User) -> Any:
    """All that an act could change."""
    columns = Conversation.with_deleted.filter(owner=owner).order_by("pk")
    dismissed = list(TodoRevision.objects.order_by("pk").values_list("dismissed", flat=True))
    tagged = sorted(Tag.objects.filter(owner=owner).values_list("word", "conversations"))
    return list(columns.values("pk", "pinned", "archived_at", "deleted_at", "todos_left")), tagged, dismissed


@pytest.mark.parametrize("kind", BulkAct.Kind.values)
def test_undo_restores_exactly_what_was_before(owner: User, rows: list[Conversation], kind: str) -> None:
    before = state(owner)
    act = BulkAct.carry_out(owner, kind, keys(rows), "报告")
    assert state(owner) != before
    assert act.undo(owner) == Undone(act.count, 0)
    assert state(owner) == before


@pytest.mark.parametrize(
    ("kind", "changed"),
    CHANGED.items(),
)
def test_those_that_are_so_already_are_not_counted(
    owner: User, rows: list[Conversation], kind: str, changed: int
) -> None:
    assert BulkAct.carry_out(owner, kind, keys(rows), "报告").count == changed


@pytest.mark.parametrize("kind", BulkAct.Kind.values)
def test_nothing_of_anybody_elses_is_touched(
    owner: User, stranger: User, rows: list[Conversation], kind: str
) -> None:
    before = state(owner)
    act = BulkAct.carry_out(stranger, kind, keys(rows), "报告")
    assert act.count == 0
    assert state(owner) == before


def test_it_is_undone_once_in_time_and_by_its_owner(
    owner: User, stranger: User, rows: list[Conversation]
) -> None:
    act = BulkAct.carry_out(owner, "archive", keys(rows))
    assert act.undo(stranger) is None
    assert act.undo(owner) == Undone(2, 0)
    BulkAct.carry_out(owner, "archive", keys(rows))
    assert act.undo(owner) is None, "what was done again is another act"
    late = BulkAct.carry_out(owner, "pin", keys(rows))
    BulkAct.objects.filter(pk=late.pk).update(at=timezone.now() - UNDO_TIME)
    assert late.undo(owner) is None


@pytest.mark.parametrize(
    ("kind", "later_kind"),
    [
        ("archive", "bring_back"),
        ("pin", "unpin"),
        ("unpin", "pin"),
        ("bring_back", "archive"),
        ("tag", "untag"),
        ("untag", "tag"),
        ("archive", "delete"),
    ],
)
def test_what_was_changed_meanwhile_stays(
    owner: User, rows: list[Conversation], kind: str, later_kind: str
) -> None:
    act = BulkAct.carry_out(owner, kind, keys(rows), "报告")
    other = BulkAct.carry_out(owner, later_kind, keys(rows), "报告")
    between = state(owner)
    assert other.count
    assert act.undo(owner) == Undone(0, act.count)
    assert state(owner) == between


def test_a_message_brings_back_for_good(owner: User, rows: list[Conversation]) -> None:
    act = BulkAct.carry_out(owner, "archive", keys(rows))
    rows[0].send("Go on", uuid.uuid4())
    rows[0].refresh_from_db()
    assert not rows[0].archived
    BulkAct.carry_out(owner, "archive", [rows[0].pk])
    assert act.undo(owner) == Undone(1, 1)


def test_a_list_that_was_written_since_is_not_undismissed(owner: User, rows: list[Conversation]) -> None:
    act = BulkAct.carry_out(owner, "dismiss", keys(rows))
    turn = Turn.objects.create(conversation=rows[1], client_id=uuid.uuid4(), status="completed")
    rows[1].revisions.create(turn=turn, items=[{"id": "1", "content": "a", "status": "completed"}])
    assert act.undo(owner) == Undone(1, 1)
    assert list(Conversation.objects.filter(pk=rows[1].pk).values_list("todos_left", flat=True)) == [0]


def test_a_tag_that_nobody_has_any_more_comes_back_with_an_undo(
    owner: User, rows: list[Conversation]
) -> None:
    act = BulkAct.carry_out(owner, "untag", keys(rows), "报告")
    assert not Tag.objects.exists()
    assert act.undo(owner) == Undone(1, 0)
    assert rows[1].has_tag("报告")


def test_a_conversation_takes_so_many_tags(owner: User, rows: list[Conversation]) -> None:
    for number in range(MAX_TAGS_OF_CONVERSATION):
        BulkAct.carry_out(owner, "tag", [rows[0].pk], f"tag {number}")
    assert BulkAct.carry_out(owner, "tag", keys(rows), "one more").count == 2
    assert rows[0].tags.count() == MAX_TAGS_OF_CONVERSATION
    assert BulkAct.carry_out(owner, "tag", [rows[0].pk], "another").count == 0
    assert not Tag.objects.filter(word="another").exists()


def test_no_tag_is_made_of_nothing(owner: User, rows: list[Conversation]) -> None:
    with pytest.raises(TagRefused):
        BulkAct.carry_out(owner, "tag", keys(rows), " ")
    assert not BulkAct.objects.exists()


def test_thousands_at_once(owner: User) -> None:
    Conversation.objects.bulk_create([Conversation(owner=owner, title=str(n)) for n in range(2500)])
    every = list(Conversation.objects.values_list("pk", flat=True))
    for kind in ("archive", "tag", "delete"):
        act = BulkAct.carry_out(owner, kind, every, "many")
        assert act.count == 2500
        assert act.undo(owner) == Undone(2500, 0)


def test_the_latest_that_changed_anything_is_offered(
    owner: User, stranger: User, rows: list[Conversation]
) -> None:
    BulkAct.carry_out(owner, "archive", keys(rows))
    pinned = BulkAct.carry_out(owner, "pin", keys(rows))
    BulkAct.carry_out(owner, "pin", keys(rows))
    assert BulkAct.offered_to(owner) == [pinned]
    assert BulkAct.offered_to(stranger) == []
    pinned.undo(owner)
    assert BulkAct.offered_to(owner) == [], "what was archived before is an old story"
    deleted = BulkAct.carry_out(owner, "delete", keys(rows[:1]))
    assert BulkAct.offered_to(owner) == [deleted]
    tagged = BulkAct.carry_out(owner, "tag", keys(rows[1:]), "weekly")
    assert BulkAct.offered_to(owner) == [tagged, deleted]
    tagged.undo(owner)
    assert BulkAct.offered_to(owner) == [deleted]
    BulkAct.objects.update(at=timezone.now() - UNDO_TIME)
    assert BulkAct.offered_to(owner) == []
    BulkAct.forget_old()
    assert not BulkAct.objects.exists()
