"""Pinned, archived and deleted conversations: in which lists they are, and what still happens in them."""

from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import BulkAct, Conversation, Turn


@pytest.fixture
def conversation(owner: User) -> Conversation:
    return Conversation.begin(owner, "Look around", uuid.uuid4(), None)


def delete(conversation: Conversation) -> BulkAct:
    return BulkAct.carry_out(conversation.owner, "delete", [conversation.pk])


def test_pinned_ones_come_first_archived_ones_apart(owner: User) -> None:
    old, new, away, gone = [Conversation.objects.create(owner=owner, title=str(n)) for n in range(4)]
    BulkAct.carry_out(owner, "pin", [old.pk, away.pk])
    BulkAct.carry_out(owner, "archive", [away.pk])
    delete(gone)
    visible = Conversation.objects.visible_to(owner)
    assert list(visible.current().pinned_first()) == [old, new]
    assert list(visible.archived()) == [away]
    assert set(visible) == {old, new, away}


def test_who_asks_for_all_does_not_get_deleted_ones(owner: User, conversation: Conversation) -> None:
    delete(conversation)
    assert not Conversation.objects.exists()
    assert not owner.conversations.exists()
    assert not Conversation.with_deleted.visible_to(owner).exists()
    assert Conversation.with_deleted.get() == conversation


@pytest.mark.parametrize("status", ["queued", "running"])
def test_an_archived_conversation_goes_on(conversation: Conversation, status: str) -> None:
    BulkAct.carry_out(conversation.owner, "archive", [conversation.pk])
    turn = Turn.claim("worker")
    assert turn is not None
    conversation.follow_ups.create(client_id=uuid.uuid4(), text="And this")
    following = turn.end(Turn.Status.COMPLETED)
    assert following is not None
    conversation.refresh_from_db()
    assert conversation.archived, "what was sent before it was archived does not bring it back"


def test_a_message_that_is_held_brings_it_back(conversation: Conversation) -> None:
    Conversation.objects.update(archived_at=timezone.now())
    conversation.send("And this", uuid.uuid4())  # by an object that does not know of the archive
    assert not Conversation.objects.get().archived


def test_nobody_begins_a_turn_of_a_deleted_conversation(conversation: Conversation) -> None:
    act = delete(conversation)
    assert Turn.claim("worker") is None
    with pytest.raises(Conversation.DoesNotExist):
        conversation.send("Hello?", uuid.uuid4())
    act.undo(conversation.owner)
    assert Turn.claim("worker") is not None


def test_what_is_held_in_a_deleted_conversation_stays_held(conversation: Conversation) -> None:
    turn = Turn.claim("worker")
    assert turn is not None
    conversation.follow_ups.create(client_id=uuid.uuid4(), text="And this")
    delete(conversation)
    turn.request_stop()
    assert turn.end(Turn.Status.STOPPED) is None
    assert conversation.turns.count() == 1
    assert conversation.follow_ups.get().status == "held"
