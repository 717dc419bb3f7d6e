"""Turns that wait for a decision which nobody makes."""

from __future__ import annotations

import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models.turn import Turn


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
        ended = same.update(status=Turn.Status.STOPPED, sentence=sentence, ended_at=now, unindexed_at=now)
        if ended:
            turn.close_rows(running="stopped")
            turn.pass_on(Turn.Status.STOPPED)
    return bool(ended)
