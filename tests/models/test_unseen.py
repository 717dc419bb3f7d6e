"""Unseen ends of turns: noted until the owner looks or writes again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import Conversation, Turn, end_unanswered, recover_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation(owner: User) -> Conversation:
    return Conversation.begin(owner, "Look around", uuid.uuid4(), None)


def unseen(conversation: Conversation) -> int | None:
    """The turn whose end nobody has seen, as the row has it."""
    return Conversation.objects.values_list("unseen_turn", flat=True).get(pk=conversation.pk)


def test_lists_have_the_last_activity_first_and_tell_its_time(
    owner: User, conversation: Conversation
) -> None:
    later = Conversation.begin(owner, "Something else", uuid.uuid4(), None)
    before = timezone.now()
    ended(conversation)
    first, second = Conversation.objects.pinned_first().listed(0, 2)
    assert (first.pk, second.pk) == (conversation.pk, later.pk)
    assert first.updated_at >= before
    assert second.updated_at == later.updated_at


def test_an_end_is_no_earlier_than_the_message_if_the_clock_was_set_back(
    conversation: Conversation,
) -> None:
    tomorrow = timezone.now() + timedelta(days=1)
    Conversation.objects.update(updated_at=tomorrow)
    ended(conversation)
    assert Conversation.objects.get().updated_at == tomorrow


def claimed(conversation: Conversation) -> Turn:
    turn = Turn.claim("worker", conversation.turns.get(status="queued").pk)
    assert turn is not None
    return turn


def ended(conversation: Conversation, status: Turn.Status = Turn.Status.COMPLETED) -> Turn:
    turn = claimed(conversation)
    turn.end(status)
    return turn


@pytest.mark.parametrize(
    "status", [Turn.Status.COMPLETED, Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED]
)
def test_whatever_ends_is_unseen_until_its_owner_looks(
    conversation: Conversation, status: Turn.Status
) -> None:
    assert unseen(conversation) is None
    turn = ended(conversation, status)
    assert unseen(conversation) == turn.pk
    assert list(Conversation.objects.unseen()) == [conversation]
    assert conversation.mark_seen(turn.pk)
    assert unseen(conversation) is None
    assert not conversation.mark_seen(turn.pk), "it is seen once"


def stopped_while_queued(turn: Turn) -> None:
    assert turn.request_stop()


def unanswered(turn: Turn) -> None:
    taken = Turn.claim("worker", turn.pk)
    assert taken is not None
    step = taken.steps.create(number=1)
    taken.tool_calls.create(step=step, index=0, name="bash", status="waiting", asked_at=turn.created_at)
    taken.wait()
    assert [each.pk for each in end_unanswered(0)] == [turn.pk]


def left_too_often(turn: Turn) -> None:
    Turn.objects.update(crash_count=5)
    taken = Turn.claim("worker", turn.pk)
    assert taken is not None
    assert recover_turn(Turn.objects.get(pk=turn.pk))


@pytest.mark.parametrize("end", [stopped_while_queued, unanswered, left_too_often])
def test_ends_without_a_worker(conversation: Conversation, end: Callable[[Turn], None]) -> None:
    turn = conversation.turns.get()
    end(turn)
    assert unseen(conversation) == turn.pk


def test_a_turn_that_is_given_to_another_worker_has_not_ended(conversation: Conversation) -> None:
    turn = claimed(conversation)
    assert recover_turn(Turn.objects.get(pk=turn.pk))
    assert unseen(conversation) is None


def test_who_saw_an_earlier_turn_has_not_seen_the_later_one(conversation: Conversation) -> None:
    first = ended(conversation)
    conversation.start_turn("And now?", uuid.uuid4())
    second = ended(conversation)
    assert not conversation.mark_seen(first.pk)
    assert unseen(conversation) == second.pk


def test_what_is_under_way_again_is_not_unseen(conversation: Conversation) -> None:
    ended(conversation)
    conversation.start_turn("And now?", uuid.uuid4())
    assert unseen(conversation) is None


def test_held_messages_go_on_where_nobody_looked(conversation: Conversation) -> None:
    turn = claimed(conversation)
    conversation.send("And this", uuid.uuid4())
    assert turn.end(Turn.Status.COMPLETED) is not None
    assert unseen(conversation) is None


def test_an_unseen_conversation_can_be_deleted(conversation: Conversation) -> None:
    ended(conversation)
    Conversation.objects.get(pk=conversation.pk).delete()
    assert not Turn.objects.exists()


def test_an_unseen_turn_can_be_deleted(conversation: Conversation) -> None:
    ended(conversation).delete()
    assert unseen(conversation) is None
