"""Follow-ups: held in order, delivered once or unsent, never both."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from chat.models import Conversation, FollowUp, LeaseLost, Message, MessageRefused, Turn, recover_turn
from chat.models.conversation import MAX_HELD
from tests.models.racing import race


def hold(conversation: Conversation, *texts: str) -> list[FollowUp]:
    """Messages that are sent while a turn works."""
    held = [conversation.send(text, uuid.uuid4()) for text in texts]
    return [each for each in held if isinstance(each, FollowUp)]


def test_a_message_starts_a_turn_or_is_held(conversation: Conversation) -> None:
    first = conversation.send("One", uuid.uuid4())
    second = conversation.send(" Two\r\n", uuid.uuid4())
    assert isinstance(first, Turn)
    assert isinstance(second, FollowUp)
    assert (second.text, second.status, second.turn) == ("Two", "held", None)
    assert second.dom_id == f"follow-up-{second.pk}"


def test_the_same_client_id_is_the_same_message(turn: Turn) -> None:
    conversation, client_id = turn.conversation, uuid.uuid4()
    held = conversation.send("More", client_id)
    assert conversation.send("More", client_id) == held
    assert conversation.send("Do it", turn.client_id) == turn
    turn.request_stop()
    assert conversation.send("More", client_id) == held, "also when it was delivered meanwhile"
    assert Message.objects.filter(text="More").count() == 1


def test_a_client_id_of_another_conversation_holds_nothing(turn: Turn, owner: Any) -> None:
    [held] = hold(turn.conversation, "More")
    other = Conversation.objects.create(owner=owner, title="Other")
    with pytest.raises(MessageRefused, match="in another conversation"):
        other.send("More", held.client_id)


@pytest.mark.parametrize("text", ["", " \n", "x" * (64 * 1024 + 1)])
def test_what_no_turn_takes_is_not_held(turn: Turn, text: str) -> None:
    with pytest.raises(MessageRefused):
        turn.conversation.send(text, uuid.uuid4())
    assert not FollowUp.objects.exists()


def test_so_many_are_held_and_no_more(turn: Turn) -> None:
    held = hold(turn.conversation, *map(str, range(MAX_HELD)))
    with pytest.raises(MessageRefused, match="Too many messages are waiting"):
        turn.conversation.send("more", uuid.uuid4())
    assert held[0].take_back()
    assert hold(turn.conversation, "more")


@pytest.mark.parametrize("status", [Turn.Status.COMPLETED, Turn.Status.STOPPED])
def test_the_end_of_a_turn_starts_the_next(running: Turn, status: Turn.Status) -> None:
    held = hold(running.conversation, "One", "Two")
    following = running.end(status)
    assert following is not None
    assert (following.user_text, following.status, following.follows) == ("One\n\nTwo", "queued", running)
    assert following.client_id == held[0].turn_client_id
    assert set(FollowUp.objects.values_list("status", "turn")) == {("delivered", following.pk)}


@pytest.mark.parametrize("status", [Turn.Status.FAILED, Turn.Status.INTERRUPTED])
def test_after_a_turn_that_came_to_nothing_they_stay_held(running: Turn, status: Turn.Status) -> None:
    hold(running.conversation, "One", "Two")
    assert running.end(status) is None
    assert set(FollowUp.objects.values_list("status", flat=True)) == {"held"}
    joined = running.conversation.send("Three", uuid.uuid4())
    assert isinstance(joined, Turn)
    assert joined.user_text == "One\n\nTwo\n\nThree"
    assert running.conversation.send_held() is None


def test_held_ones_are_sent_when_the_person_says_so(running: Turn) -> None:
    hold(running.conversation, "One")
    assert running.conversation.send_held() is None, "not while a turn works"
    running.end(Turn.Status.FAILED)
    sent = running.conversation.send_held()
    assert sent is not None
    assert sent.user_text == "One"


def test_a_retry_may_be_longer_than_a_message(running: Turn) -> None:
    conversation = running.conversation
    hold(conversation, "x" * 60_000, "y" * 60_000)
    running.end(Turn.Status.COMPLETED)
    claimed = Turn.claim("worker")
    assert claimed is not None
    claimed.end(Turn.Status.FAILED)
    again = conversation.run_again(claimed.pk, uuid.uuid4())
    assert len(again.user_text) == 120_002


def test_stop_sends_or_takes_back(running: Turn) -> None:
    conversation = running.conversation
    hold(conversation, "One", "Two")
    assert conversation.stop(then_send=True) == (running, "")
    assert FollowUp.objects.filter(status="held").count() == 2
    assert conversation.stop(then_send=False) == (running, "One\n\nTwo")
    assert running.end(Turn.Status.STOPPED) is None
    assert conversation.stop(then_send=False) == (None, "")


def test_what_is_sent_after_stop_starts_the_next_turn(running: Turn) -> None:
    running.conversation.stop(then_send=False)
    hold(running.conversation, "Rather this")
    following = running.end(Turn.Status.STOPPED)
    assert following is not None
    assert following.user_text == "Rather this"


def test_a_turn_that_dies_for_good_leaves_them_held(running: Turn) -> None:
    hold(running.conversation, "One")
    Turn.objects.update(crash_count=2)
    running.refresh_from_db()
    assert recover_turn(running)
    assert FollowUp.objects.get().status == "held"
    assert Turn.objects.get().status == "interrupted"


def test_whoever_lost_the_lease_starts_nothing(running: Turn) -> None:
    hold(running.conversation, "One")
    Turn.objects.update(fence=9)
    with pytest.raises(LeaseLost):
        running.end(Turn.Status.COMPLETED)
    assert FollowUp.objects.get().status == "held"
    assert Turn.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_message_that_races_the_end_is_never_stranded(running: Turn) -> None:
    """It is part of the next turn, or held because that one works already; or it starts that one itself."""

    def act(number: int) -> Any:
        if number == 0:
            with transaction.atomic():
                return running.end(Turn.Status.COMPLETED)
        return running.conversation.send(f"Message {number}", uuid.uuid4())

    race(6, act)
    said = "\n\n".join(message.text for message in Message.objects.all()).split("\n\n")
    held = [each.text for each in FollowUp.held_in(running.conversation_id)]
    assert sorted([*said, *held]) == ["Do it", *(f"Message {number}" for number in range(1, 6))]
    assert Turn.objects.filter(status="queued").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_delivery_and_taking_back_one_wins(running: Turn) -> None:
    [held] = hold(running.conversation, "One")

    def act(number: int) -> bool:
        if number:
            return FollowUp.objects.get(pk=held.pk).take_back()
        with transaction.atomic():
            claimed = FollowUp.claim(running.conversation_id)
            FollowUp.deliver(claimed, running)
            return bool(claimed)

    delivered, *taken = race(4, act)
    assert delivered != any(taken)
    assert len(set(taken)) == 1
    assert FollowUp.objects.get().status == ("delivered" if delivered else "taken_back")


@pytest.mark.parametrize(
    ("status", "joins"), [("delivered", False), ("held", True), ("taken_back", True), ("asleep", False)]
)
def test_only_a_delivered_one_has_a_turn(turn: Turn, status: str, joins: bool) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        turn.conversation.follow_ups.create(
            client_id=uuid.uuid4(), text="More", status=status, turn=turn if joins else None
        )


def test_follow_ups_stand_after_the_calls_whose_results_they_follow(running: Turn) -> None:
    step = running.steps.create(number=1)
    note = running.messages.create(step=step, role="user", text="And this")
    said = running.messages.create(step=step, role="assistant", text="I look")
    calls = [running.tool_calls.create(step=step, index=n, call_id=f"{n}", name="bash") for n in range(2)]
    answer = running.messages.create(step=running.steps.create(number=2), role="assistant", text="Done")
    turn = Turn.with_rows().get()
    assert turn.rows()[1:] == [said, *calls, note, answer]
    assert turn.user_text == "Do it"


def test_a_step_has_one_answer_but_many_follow_ups(running: Turn) -> None:
    step = running.steps.create(number=1)
    for text in ("One", "Two"):
        running.messages.create(step=step, role="user", text=text)
    running.messages.create(step=step, role="assistant")
    with pytest.raises(IntegrityError), transaction.atomic():
        running.messages.create(step=step, role="assistant")
