"""Expired leases: judged by polls, not by clocks."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from chat.models import Turn
from chat.models.turn_recovery import MAX_UNCHANGED_POLLS, MIN_INTERVAL, LeaseMonitor

HOUR = datetime.timedelta(hours=1)


class Watch:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: Any) -> Watch:
    made = Watch()
    monkeypatch.setattr("chat.models.turn_recovery.time", made)
    return made


def look(monitor: LeaseMonitor, watch: Watch, after: float = 2.0) -> list[Turn]:
    """What is overdue at the next look, which comes so many seconds later."""
    watch.now += after
    return monitor.overdue(list(Turn.objects.filter(status__in=Turn.LEASED)))


def test_a_silent_worker_is_overdue_after_four_looks_more(running: Turn, watch: Watch) -> None:
    monitor = LeaseMonitor()
    seen = [look(monitor, watch) for _ in range(MAX_UNCHANGED_POLLS + 1)]
    assert seen == [[]] * MAX_UNCHANGED_POLLS + [[running]]


@pytest.mark.parametrize("ahead", [-HOUR, HOUR])
def test_a_worker_whose_clock_is_wrong_is_not_overdue(
    running: Turn, watch: Watch, ahead: datetime.timedelta
) -> None:
    monitor = LeaseMonitor()
    for beat in range(3 * MAX_UNCHANGED_POLLS):
        renewed = timezone.now() + ahead + datetime.timedelta(seconds=beat)
        Turn.objects.update(lease_until=renewed)
        assert look(monitor, watch) == []


def test_a_dead_worker_whose_clock_was_ahead_is_overdue_as_soon(running: Turn, watch: Watch) -> None:
    Turn.objects.update(lease_until=timezone.now() + HOUR)
    monitor = LeaseMonitor()
    assert [look(monitor, watch) for _ in range(MAX_UNCHANGED_POLLS + 1)][-1] == [running]


def test_time_in_which_nobody_could_look_does_not_count(running: Turn, watch: Watch) -> None:
    """The database stood still for a minute: nobody could show a sign of life."""
    monitor = LeaseMonitor()
    look(monitor, watch)
    assert look(monitor, watch, after=60) == []


def test_looks_in_a_hurry_do_not_count(running: Turn, watch: Watch) -> None:
    monitor = LeaseMonitor()
    assert [look(monitor, watch, after=MIN_INTERVAL / 10) for _ in range(3 * MAX_UNCHANGED_POLLS)] == [[]] * (
        3 * MAX_UNCHANGED_POLLS
    )


def test_a_new_claim_begins_anew(running: Turn, watch: Watch) -> None:
    monitor = LeaseMonitor()
    for _ in range(MAX_UNCHANGED_POLLS):
        look(monitor, watch)
    Turn.objects.update(fence=running.fence + 1)
    assert look(monitor, watch) == []


def test_a_turn_that_has_ended_is_forgotten(running: Turn, watch: Watch) -> None:
    monitor = LeaseMonitor()
    look(monitor, watch)
    Turn.objects.update(status="completed")
    look(monitor, watch)
    assert monitor._seen == {}
