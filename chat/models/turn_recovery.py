"""Recovery of abandoned turns, whose workers died, and of turns whose questions nobody answered."""

from __future__ import annotations

import datetime
import os
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models.turn import Turn

MAX_CRASHES = 3  # of workers; after that many the turn is not queued again


def recover_abandoned_turns(monitor: LeaseMonitor) -> list[Turn]:
    """Queue abandoned turns again, or end those that lost too many workers. Keep `monitor` between calls."""
    return recover_turns(abandoned_turns(monitor, list(Turn.objects.filter(status__in=Turn.LEASED))))


def abandoned_turns(monitor: LeaseMonitor, leased: list[Turn]) -> list[Turn]:
    """The turns whose workers died, of all turns with a lease now."""
    overdue = monitor.overdue(leased)
    return [turn for turn in leased if turn in overdue or _has_no_worker(turn)]


def recover_turns(turns: list[Turn]) -> list[Turn]:
    return [turn for turn in turns if recover_turn(turn)]


def recover_turn(turn: Turn) -> bool:
    """Queue or end the turn; False if it has changed since we read it."""
    unchanged = Turn.objects.filter(
        pk=turn.pk, fence=turn.fence, status__in=Turn.LEASED, lease_until=turn.lease_until
    )
    with transaction.atomic():
        changes = {**_next_status(turn), "unindexed_at": timezone.now(), "crash_count": turn.crash_count + 1}
        recovered = unchanged.update(worker="", fence=turn.fence + 1, **changes)
        if recovered:
            requeued = changes["status"] == Turn.Status.QUEUED
            turn.close_rows(running="unknown", is_final=not requeued)
            turn.start_next(changes["status"])
    return bool(recovered)


def _has_no_worker(turn: Turn) -> bool:
    """Whether it has no lease, or its worker was a process of this machine that has exited."""
    return turn.lease_until is None or has_exited(turn.worker)


def _next_status(turn: Turn) -> dict[str, Any]:
    if turn.stop_requested_at:
        return {"status": Turn.Status.STOPPED, "ended_at": timezone.now()}
    if turn.crash_count + 1 < MAX_CRASHES:
        return {"status": Turn.Status.QUEUED}
    sentence = _("The server stopped {count} times while the agent was working. Completed work is kept.")
    return {
        "status": Turn.Status.INTERRUPTED,
        "status_message": sentence.format(count=MAX_CRASHES),
        "ended_at": timezone.now(),
    }


def end_unanswered(seconds: float) -> list[Turn]:
    """Stop the turns that have waited `seconds` for a decision; returns them."""
    since = timezone.now() - datetime.timedelta(seconds=seconds)
    unanswered = {"tool_calls__status": "waiting", "tool_calls__asked_at__lte": since}
    waiting = Turn.objects.filter(status=Turn.Status.WAITING, **unanswered)
    return [turn for turn in waiting if _end(turn)]


def _end(turn: Turn) -> bool:
    sentence = _("Stopped: nobody allowed or denied the call in time.")
    with transaction.atomic():
        same = Turn.objects.filter(pk=turn.pk, fence=turn.fence, status=Turn.Status.WAITING)
        now = timezone.now()
        ended = same.update(
            status=Turn.Status.STOPPED, status_message=sentence, ended_at=now, unindexed_at=now
        )
        if ended:
            turn.close_rows(running="stopped")
            turn.start_next(Turn.Status.STOPPED)
    return bool(ended)


MAX_UNCHANGED_POLLS = 4  # after the first; a live worker renews its lease within them
MIN_INTERVAL = 1.5  # seconds between two polls for the second to count


@dataclass(frozen=True)
class LeaseSnapshot:
    """A lease as it was last seen, and for how many polls it has not changed."""

    lease: tuple[object, ...]
    unchanged_polls: int
    at: float


class LeaseMonitor:
    """Finds expired leases of other workers; poll every `turn.LEASE / MAX_UNCHANGED_POLLS` or so.

    It counts polls, not seconds, so that no lease expires while the database or the machine stood still.
    """

    def __init__(self) -> None:
        self._seen: dict[int, LeaseSnapshot] = {}

    def overdue(self, leased: Sequence[Turn]) -> list[Turn]:
        """The turns whose leases were not renewed; `leased` are all turns with a lease now."""
        polled_at = time.monotonic()
        self._seen = {turn.pk: self._snapshot(turn, polled_at) for turn in leased}
        return [turn for turn in leased if self._seen[turn.pk].unchanged_polls >= MAX_UNCHANGED_POLLS]

    def _snapshot(self, turn: Turn, polled_at: float) -> LeaseSnapshot:
        lease = (turn.fence, turn.lease_until)
        before = self._seen.get(turn.pk)
        if before is None or before.lease != lease:
            return LeaseSnapshot(lease, 0, polled_at)
        if polled_at - before.at < MIN_INTERVAL:
            return before
        return LeaseSnapshot(lease, before.unchanged_polls + 1, polled_at)


def new_worker_name() -> str:
    """A worker's name: host, process id, the process's start, and a random part."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}:{pid}:{_started(pid)}:{secrets.token_hex(4)}"


def has_exited(name: str) -> bool:
    """Whether the worker was a process of this machine that has exited; False if unknown."""
    parts = name.rsplit(":", 3)
    if len(parts) != 4 or parts[0] != socket.gethostname()[:60] or not parts[1].isdecimal() or not parts[2]:
        return False
    return _started(int(parts[1])) != parts[2]


def _started(pid: int) -> str:
    """The process's start in clock ticks since boot, as process ids are reused; "" if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field is the program's name in brackets, which may hold blanks; the start is the 22nd.
    return stat.rpartition(")")[2].split()[19]
