"""Turns: claimed by one worker, written under its fence, ended once."""

from __future__ import annotations

import datetime
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from chat.models import (
    Conversation,
    LeaseLost,
    Message,
    Step,
    ToolCall,
    Turn,
    recover_abandoned_turns,
    recover_turn,
    turn_recovery,
)
from chat.models.turn import LEASE
from chat.models.turn_recovery import LeaseMonitor
from tests.models.racing import race

NAME_A_WORKER = (
    "import django; django.setup(); from chat.models import turn_recovery; "
    "print(turn_recovery.new_worker_name())"
)
LONG_AGO = timezone.now() - datetime.timedelta(hours=1)


@pytest.mark.django_db(transaction=True)
def test_of_twenty_workers_one_gets_the_turn(turn: Turn) -> None:
    claims = race(20, lambda number: Turn.claim(f"worker {number}"))
    [claimed] = [claim for claim in claims if claim]
    row = Turn.objects.get()
    assert (row.status, row.fence, row.worker) == ("running", 1, claimed.worker)
    assert claimed.fence == 1


@pytest.mark.django_db(transaction=True)
def test_six_workers_share_twelve_turns(owner: User) -> None:
    for _ in range(12):
        Conversation.begin(owner, "Hello", uuid.uuid4(), None)

    def work(number: int) -> list[int]:
        taken = []
        while claimed := Turn.claim(f"worker {number}"):
            taken.append(claimed.pk)
        return taken

    taken = [pk for each in race(6, work) for pk in each]
    assert sorted(taken) == sorted(Turn.objects.values_list("pk", flat=True))
    assert set(Turn.objects.values_list("status", "fence")) == {("running", 1)}


def test_a_claim_takes_the_longest_waiting_turn(owner: User) -> None:
    first = Conversation.begin(owner, "One", uuid.uuid4(), None).turns.get()
    second = Conversation.begin(owner, "Two", uuid.uuid4(), None).turns.get()
    assert [Turn.claim("a"), Turn.claim("a"), Turn.claim("a")] == [first, second, None]


def test_a_claim_may_name_its_turn(owner: User) -> None:
    Conversation.begin(owner, "One", uuid.uuid4(), None)
    second = Conversation.begin(owner, "Two", uuid.uuid4(), None).turns.get()
    assert Turn.claim("a", second.pk) == second
    assert Turn.claim("a", second.pk) is None


def test_a_claim_gives_a_lease(running: Turn) -> None:
    assert running.started_at is not None
    assert running.lease_until == running.started_at + LEASE
    assert (running.worker, running.status) == ("worker", "running")


def test_holding_renews_the_lease(running: Turn) -> None:
    Turn.objects.update(lease_until=LONG_AGO)
    running.update_leased(status_message="Trying again")
    row = Turn.objects.get()
    assert row.lease_until is not None
    assert row.lease_until > timezone.now()
    assert row.status_message == running.status_message == "Trying again"


def test_the_fence_grows_and_an_old_one_writes_nothing(running: Turn) -> None:
    Turn.objects.update(status="queued")
    successor = Turn.claim("another worker")
    assert successor is not None
    assert successor.fence == running.fence + 1
    for write in (
        lambda: running.update_leased(status_message="Mine"),
        lambda: running.end(Turn.Status.COMPLETED, "Mine"),
    ):
        with pytest.raises(LeaseLost):
            write()
    row = Turn.objects.get()
    assert (row.status, row.status_message, row.worker) == ("running", "", "another worker")
    assert running.status == "running", "what was not written is not believed"
    successor.end(Turn.Status.COMPLETED)


@pytest.mark.django_db(transaction=True)
def test_the_end_is_claimed_once(running: Turn) -> None:
    endings = [Turn.Status.COMPLETED, Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED] * 3

    def end(number: int) -> str:
        mine = Turn.objects.get(pk=running.pk)
        try:
            with transaction.atomic():
                mine.end(endings[number], str(number))
        except LeaseLost:
            return ""
        return mine.status_message

    [winner] = [sentence for sentence in race(12, end) if sentence]
    row = Turn.objects.get()
    assert (row.status, row.status_message) == (endings[int(winner)], winner)
    assert row.ended_at is not None
    assert not row.is_active


def test_a_deleted_turn_cannot_be_held(running: Turn) -> None:
    running.conversation.delete()
    with pytest.raises(LeaseLost):
        running.update_leased()


def test_orphans_are_queued_again_and_their_rows_closed(running: Turn) -> None:
    step = running.steps.create(number=1)
    for index, status in enumerate(["succeeded", "running", "pending", "waiting", "failed"]):
        running.tool_calls.create(step=step, index=index, call_id=str(index), name="bash", status=status)
    running.messages.create(step=step, role="assistant", text="Half a", complete=False)
    assert recover_abandoned_turns(LeaseMonitor()) == [], "its lease is fresh"
    Turn.objects.update(lease_until=None)
    assert recover_abandoned_turns(LeaseMonitor()) == [running]
    row = Turn.objects.get()
    assert (row.status, row.fence, row.crash_count) == ("queued", 2, 1)
    statuses = [call.status for call in row.tool_calls.all()]
    assert statuses == ["succeeded", "unknown", "stopped", "stopped", "failed"]
    assert row.messages.get(role="assistant").cut_off
    assert recover_abandoned_turns(LeaseMonitor()) == []
    with pytest.raises(LeaseLost):
        running.end(Turn.Status.COMPLETED)


def test_after_three_crashes_a_turn_is_interrupted(running: Turn) -> None:
    for death in (1, 2, 3):
        Turn.objects.update(lease_until=None)
        assert recover_abandoned_turns(LeaseMonitor()) == [running]
        assert (Turn.claim("another") is None) == (death == 3)
    row = Turn.objects.get()
    assert (row.status, row.can_be_retried) == ("interrupted", True)
    assert "3 times" in row.status_message


def test_an_orphan_that_was_to_stop_is_stopped(running: Turn) -> None:
    running.request_stop()
    Turn.objects.update(lease_until=None)
    assert recover_abandoned_turns(LeaseMonitor()) == [running]
    assert Turn.objects.get().status == "stopped"


def test_a_dead_process_of_this_machine_is_known_at_once(running: Turn) -> None:
    name = subprocess.check_output([sys.executable, "-c", NAME_A_WORKER], text=True).strip()
    Turn.objects.update(worker=turn_recovery.new_worker_name())
    assert recover_abandoned_turns(LeaseMonitor()) == [], "this process lives"
    Turn.objects.update(worker=name)
    assert recover_abandoned_turns(LeaseMonitor()) == [running], "its lease is fresh, but it is gone"


def test_a_turn_that_is_handed_over_waits_for_another_worker(running: Turn) -> None:
    running.release()
    row = Turn.objects.get()
    assert (row.status, row.crash_count, row.worker) == ("queued", 0, "")
    with pytest.raises(LeaseLost):
        running.release()


def test_owners_take_their_turns(turn: Turn, stranger: User) -> None:
    """Of two who wait, the one who has nothing running comes first, though he came later."""
    first, second = (Conversation.begin(turn.conversation.owner, "hi", uuid.uuid4(), None) for _ in range(2))
    other = Conversation.begin(stranger, "hi", uuid.uuid4(), None)
    claimed = [Turn.claim("worker") for _ in range(4)]
    expected = [turn, other.turns.get(), first.turns.get(), second.turns.get()]
    assert claimed == expected


def begin(owner: User, count: int) -> None:
    for _ in range(count):
        Conversation.begin(owner, "hi", uuid.uuid4(), None)


def test_one_user_never_takes_all_places_of_a_worker(owner: User, stranger: User, settings: Any) -> None:
    settings.MAX_TURNS_PER_USER = 3
    begin(owner, 8)
    for by in ("first", "second"):
        assert [Turn.claim(by) is not None for _ in range(4)] == [True, True, True, False]
    queued = owner.conversations.filter(turns__status="queued").first()
    assert queued is not None
    assert queued.turns.get().waits_for_share
    begin(stranger, 1)
    taken = Turn.claim("first")
    assert taken is not None
    assert taken.conversation.owner == stranger, "its place was kept free"
    assert Turn.claim("first") is None
    Turn.objects.filter(conversation__owner=owner, worker="first")[0].request_stop()
    assert Turn.claim("first") is None, "it still holds its place"
    assert Turn.objects.filter(worker="first", status="running", stop_requested_at=None).update(
        status="stopped"
    )
    next_one = Turn.claim("first")
    assert next_one is not None
    assert next_one.conversation.owner == owner


def test_the_only_user_of_a_site_takes_all_places(owner: User, stranger: User, settings: Any) -> None:
    settings.MAX_TURNS_PER_USER = 1
    User.objects.filter(pk=stranger.pk).update(is_active=False)
    begin(owner, 3)
    assert all(Turn.claim("worker") for _ in range(2))
    assert not Turn.objects.filter(status="queued").get().waits_for_share


@pytest.mark.django_db(transaction=True)
def test_workers_that_claim_at_once_keep_to_the_share(owner: User, stranger: User, settings: Any) -> None:
    settings.MAX_TURNS_PER_USER = 2
    for user in (owner, stranger):
        begin(user, 12)

    def work(number: int) -> None:
        while Turn.claim(f"worker {number}"):
            pass

    race(4, work)
    running = Turn.objects.filter(status="running").values("worker", "conversation__owner")
    assert [row["count"] for row in running.order_by().annotate(count=Count("pk"))] == [2] * 8


def test_a_look_for_work_takes_one_query(owner: User, stranger: User, settings: Any) -> None:
    settings.MAX_TURNS_PER_USER = 1

    def selects() -> int:
        with CaptureQueriesContext(connection) as captured:
            Turn.claim("worker")
        return sum("SELECT" in query["sql"] for query in captured)

    assert selects() == 1
    begin(owner, 2)
    claiming = selects()
    assert selects() == 1, "one turn waits for its user's share"
    begin(stranger, 1)
    assert selects() == claiming


def test_queued_and_ended_turns_are_no_orphans(turn: Turn, ended: Callable[..., Turn]) -> None:
    Turn.objects.update(lease_until=None)
    assert recover_abandoned_turns(LeaseMonitor()) == []
    Turn.objects.update(status="completed")
    assert recover_abandoned_turns(LeaseMonitor()) == []


def test_a_worker_that_comes_back_in_time_is_no_orphan(running: Turn) -> None:
    Turn.objects.update(lease_until=None)
    seen_by_the_reaper = Turn.objects.get()
    running.update_leased()
    assert not recover_turn(seen_by_the_reaper)
    assert Turn.objects.get().status == "running"


@pytest.mark.django_db(transaction=True)
def test_of_several_reapers_one_takes_it_back(running: Turn) -> None:
    Turn.objects.update(lease_until=None)
    assert sum(race(8, lambda _n: len(recover_abandoned_turns(LeaseMonitor())))) == 1
    assert Turn.objects.get().fence == 2


def test_stopping_a_queued_turn_ends_it(turn: Turn) -> None:
    assert turn.request_stop()
    row = Turn.objects.get()
    assert row.status == "stopped"
    assert row.ended_at is not None
    assert Turn.claim("worker") is None
    assert not row.request_stop()


def test_stopping_a_running_turn_is_a_wish_on_record(running: Turn) -> None:
    assert not running.request_stop()
    row = Turn.objects.get()
    assert row.status == "running"
    assert row.stop_requested_at is not None
    running.end(Turn.Status.STOPPED)


def test_stopping_a_turn_that_has_ended_changes_nothing(ended: Callable[..., Turn]) -> None:
    turn = ended()
    assert not turn.request_stop()
    assert Turn.objects.get().stop_requested_at is None


@pytest.mark.django_db(transaction=True)
def test_a_turn_is_stopped_or_claimed_but_never_both(turn: Turn) -> None:
    racing = [turn.request_stop, lambda: Turn.claim("worker") is not None]
    stopped, claimed = race(2, lambda number: racing[number]())
    assert stopped != claimed
    assert Turn.objects.get().status == ("stopped" if stopped else "running")


@pytest.mark.parametrize("status", ["completed", "stopped", "queued", "running", "waiting"])
def test_what_came_to_something_is_not_retried(turn: Turn, status: str) -> None:
    turn.status = status
    assert not turn.can_be_retried


def test_what_a_limit_stopped_can_go_on(turn: Turn) -> None:
    turn.status, turn.status_message = Turn.Status.STOPPED, "Stopped after 50 steps."
    assert turn.can_be_retried


def test_a_turn_that_failed_at_once_did_nothing(ended: Callable[..., Turn]) -> None:
    failed = ended(Turn.Status.FAILED)
    assert failed.did_nothing
    failed.tool_calls.create(step=failed.steps.create(number=1), index=0, call_id="a", name="bash")
    assert not failed.did_nothing
    assert not ended(Turn.Status.INTERRUPTED).did_nothing


def test_rows_stand_in_the_order_in_which_they_came(
    running: Turn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    steps = [running.steps.create(number=number) for number in (1, 2)]
    for step in reversed(steps):
        for index in (1, 0):
            call_id = f"{step.number}.{index}"
            running.tool_calls.create(step=step, index=index, call_id=call_id, name="bash")
        running.messages.create(step=step, role="assistant", text=f"{step.number}")
    turn = Turn.with_rows().get()
    with django_assert_num_queries(0):
        told = [row.call_id if isinstance(row, ToolCall) else row.text for row in turn.rows()]
        assert turn.user_text == "Do it"
    assert told == ["Do it", "1", "1.0", "1.1", "2", "2.0", "2.1"]


def test_drawing_ten_turns_takes_as_many_queries_as_one(running: Turn, ended: Callable[..., Turn]) -> None:
    def work(turn: Turn) -> None:
        step = turn.steps.create(number=1)
        turn.messages.create(step=step, role="assistant", text="Hm")
        turn.tool_calls.create(step=step, index=0, call_id="a", name="TodoWrite")

    def drawn() -> int:
        turns = list(Turn.with_rows())
        assert all(not hasattr(call, "revision") for turn in turns for call in turn.tool_calls.all())
        return sum(len(turn.rows()) for turn in turns)

    work(running)
    running.end(Turn.Status.COMPLETED)
    with CaptureQueriesContext(connection) as one:
        assert drawn() == 3
    for _ in range(9):
        work(ended())
    with CaptureQueriesContext(connection) as ten:
        assert drawn() == 30
    assert len(one) == len(ten) < 12


@pytest.mark.parametrize(
    ("arguments", "given", "subject"),
    [
        ("", {}, ""),
        ("{", {}, ""),
        ("[1]", {}, ""),
        ("[" * 100_000, {}, ""),
        ('{"n": 3}', {"n": 3}, ""),
        ('{"n": 3, "text": " two\\n words "}', {"n": 3, "text": " two\n words "}, "two words"),
        ('{"text": "x", "path": "a.py"}', {"text": "x", "path": "a.py"}, "a.py"),
        ('{"command": "' + "y" * 300 + '"}', {"command": "y" * 300}, "y" * 200),
        ('{"path": "raw\nline"}', {"path": "raw\nline"}, "raw line"),
    ],
    ids=range(9),
)
def test_what_a_call_works_on(arguments: str, given: dict[str, object], subject: str) -> None:
    call = ToolCall(name="bash", arguments=arguments)
    assert (call.parsed_arguments, call.summary_line) == (given, subject)


def test_how_long_a_call_ran() -> None:
    now = timezone.now()
    ran = ToolCall(started_at=now, ended_at=now + datetime.timedelta(seconds=1.5))
    assert (ran.seconds, ToolCall(started_at=now).seconds, ToolCall().seconds) == (1.5, None, None)


def test_the_ids_on_the_page() -> None:
    assert (Message(pk=3).dom_id, ToolCall(pk=4).dom_id) == ("message-3", "tool-call-4")


def test_turns_with_more_steps_than_a_query_takes_keys(running: Turn) -> None:
    Step.objects.bulk_create(Step(turn=running, number=number) for number in range(1, 1102))
    steps = list(running.steps.all())
    ToolCall.objects.bulk_create(ToolCall(turn=running, step=step, index=0, name="bash") for step in steps)
    Message.objects.bulk_create(Message(turn=running, step=step, role="assistant") for step in steps)
    rows = Turn.with_rows().get(pk=running.pk).rows()
    assert [row.sort_key for row in rows[:3]] == [(0, 0), (1, -1), (1, 0)]
    assert len(rows) == 1 + 2 * 1101


def test_a_worker_with_many_turns_renews_all_their_leases(owner: User) -> None:
    """As many as MAX_TURNS allows: SQLite takes no expression that is a thousand levels deep."""
    begin(owner, 1)
    first = Turn.claim("worker")
    assert first is not None
    conversations = Conversation.objects.bulk_create(
        Conversation(owner=owner, title=f"{number}") for number in range(1000)
    )
    Turn.objects.bulk_create(
        Turn(conversation=each, client_id=uuid.uuid4(), status="running", worker="worker", fence=1)
        for each in conversations
    )
    held = list(Turn.objects.filter(status="running"))
    for number, turn in enumerate(held):
        turn.frame = number
    with CaptureQueriesContext(connection) as captured:
        Turn.renew_leases(held)
    assert len(captured) < 20
    renewed = Turn.objects.filter(status="running", lease_until__isnull=False).order_by("pk")
    assert list(renewed.values_list("frame", flat=True)) == list(range(1001))
