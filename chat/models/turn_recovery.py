"""Orphans: turns whose workers died, and what becomes of them."""

from __future__ import annotations

import datetime
import os
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models.turn import Turn

if TYPE_CHECKING:
    from chat.models.turn import Turn


MAX_DEATHS = 3  # of workers; a turn that outlived so many is not given to another


def recover_abandoned_turns(monitor: LeaseMonitor) -> list[Turn]:
    """Queue turns again whose workers died, or end those that saw too many die; says which they were.

    `monitor` is the caller's own, kept from one call to the next.
    """
    return recover_turns(abandoned_turns(monitor, list(Turn.objects.filter(status__in=Turn.HELD))))


def abandoned_turns(monitor: LeaseMonitor, held: list[Turn]) -> list[Turn]:
    """Those whose workers died, of all turns that are held just now."""
    overdue = monitor.overdue(held)
    return [turn for turn in held if turn in overdue or _was_left(turn)]


def recover_turns(left: list[Turn]) -> list[Turn]:
    """Queue or end these; says which nobody else took first."""
    return [turn for turn in left if recover_turn(turn)]


def recover_turn(turn: Turn) -> bool:
    """Take the turn from the worker that held it as we saw it; False when anything has moved since."""
    seen = Turn.objects.filter(
        pk=turn.pk, fence=turn.fence, status__in=Turn.HELD, lease_until=turn.lease_until
    )
    with transaction.atomic():
        changes = {**_fate(turn), "unindexed_at": timezone.now()}
        taken = seen.update(worker="", fence=turn.fence + 1, deaths=turn.deaths + 1, **changes)
        if taken:
            goes_on = changes["status"] == Turn.Status.QUEUED
            turn.close_rows(running="unknown", for_good=not goes_on)
            turn.start_next(changes["status"])
    return bool(taken)


def _was_left(turn: Turn) -> bool:
    """Whether nobody has a lease on it, or only a process of this machine that has ended."""
    return turn.lease_until is None or has_exited(turn.worker)


def _fate(turn: Turn) -> dict[str, Any]:
    """What becomes of a turn whose worker died: queued again, or ended where that leads nowhere."""
    if turn.stop_requested_at:
        return {"status": Turn.Status.STOPPED, "ended_at": timezone.now()}
    if turn.deaths + 1 < MAX_DEATHS:
        return {"status": Turn.Status.QUEUED}
    sentence = _("The server stopped {count} times while the agent was working. Completed work is kept.")
    return {
        "status": Turn.Status.INTERRUPTED,
        "status_message": sentence.format(count=MAX_DEATHS),
        "ended_at": timezone.now(),
    }


def end_unanswered(seconds: float) -> list[Turn]:
    """Stop the turns that have waited so many seconds for a decision; says which they were."""
    since = timezone.now() - datetime.timedelta(seconds=seconds)
    asked = {"tool_calls__status": "waiting", "tool_calls__asked_at__lte": since}
    waiting = Turn.objects.filter(status=Turn.Status.WAITING, **asked)
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


LOOKS = 4  # after the first, at which a turn whose worker lives has shown a sign of it
BETWEEN = 1.5  # seconds that must lie between two looks for the second to count


@dataclass(frozen=True)
class Sighting:
    """A turn as it was seen: the mark that its worker's every sign of life changes, and how often since."""

    mark: tuple[object, ...]
    looks: int
    at: float


class LeaseMonitor:
    """One worker's view of the turns that others hold. It is to look every `turn.LEASE / LOOKS` or so.

    Looks are counted rather than seconds, so that a lease does not run out while nobody could renew it:
    while the database, or the whole machine, stood still.
    """

    def __init__(self) -> None:
        self._seen: dict[int, Sighting] = {}

    def overdue(self, held: Sequence[Turn]) -> list[Turn]:
        """Those of the turns, which are all that are held just now, that went without a sign of life."""
        now = time.monotonic()
        self._seen = {turn.pk: self._sighting(turn, now) for turn in held}
        return [turn for turn in held if self._seen[turn.pk].looks >= LOOKS]

    def _sighting(self, turn: Turn, now: float) -> Sighting:
        mark = (turn.fence, turn.lease_until)
        before = self._seen.get(turn.pk)
        if before is None or before.mark != mark:
            return Sighting(mark, 0, now)
        if now - before.at < BETWEEN:
            return before
        return Sighting(mark, before.looks + 1, now)


def new_worker_name() -> str:
    """A name for a worker in this process: host, process id, the process's start, and a part of chance."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}:{pid}:{_started(pid)}:{secrets.token_hex(4)}"


def has_exited(name: str) -> bool:
    """Whether the worker was a process of this machine that has ended; False where that cannot be known."""
    parts = name.rsplit(":", 3)
    if len(parts) != 4 or parts[0] != socket.gethostname()[:60] or not parts[1].isdecimal() or not parts[2]:
        return False
    return _started(int(parts[1])) != parts[2]


def _started(pid: int) -> str:
    """When the process began, in clock ticks since the machine did; empty where there is no such process.

    A process id may be given again; its start may not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field is the program's name in brackets, which may hold blanks; the start is the 22nd.
    return stat.rpartition(")")[2].split()[19]
