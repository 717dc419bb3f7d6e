"""Orphans: turns whose workers died, and what becomes of them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models import worker
from chat.models.lookout import Lookout
from chat.models.turn import Turn

MAX_DEATHS = 3  # of workers; a turn that outlived so many is not given to another


def take_back_orphans(lookout: Lookout) -> list[Turn]:
    """Queue turns again whose workers died, or end those that saw too many die; says which they were.

    `lookout` is the caller's own, kept from one call to the next.
    """
    return take_back_all(orphans(lookout, list(Turn.objects.filter(status__in=Turn.HELD))))


def orphans(lookout: Lookout, held: list[Turn]) -> list[Turn]:
    """Those whose workers died, of all turns that are held just now."""
    overdue = lookout.overdue(held)
    return [turn for turn in held if turn in overdue or _was_left(turn)]


def take_back_all(left: list[Turn]) -> list[Turn]:
    """Queue or end these; says which nobody else took first."""
    return [turn for turn in left if take_back(turn)]


def take_back(turn: Turn) -> bool:
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
            turn.pass_on(changes["status"])
    return bool(taken)


def _was_left(turn: Turn) -> bool:
    """Whether nobody has a lease on it, or only a process of this machine that has ended."""
    return turn.lease_until is None or worker.is_gone(turn.worker)


def _fate(turn: Turn) -> dict[str, Any]:
    """What becomes of a turn whose worker died: queued again, or ended where that leads nowhere."""
    if turn.stop_requested_at:
        return {"status": Turn.Status.STOPPED, "ended_at": timezone.now()}
    if turn.deaths + 1 < MAX_DEATHS:
        return {"status": Turn.Status.QUEUED}
    sentence = _("The server stopped {count} times while the agent was working. Completed work is kept.")
    return {
        "status": Turn.Status.INTERRUPTED,
        "sentence": str(sentence).format(count=MAX_DEATHS),
        "ended_at": timezone.now(),
    }
