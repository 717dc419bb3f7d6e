"""A turn that a process works on by itself, with no pool around it: the terminal's."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from chat.database import in_database
from chat.models import LeaseLost, Turn
from chat.turns.pool import ROUND
from chat.turns.run_turn import RunningTurn

log = logging.getLogger(__name__)


class SoloTurn:
    """Runs a claimed turn to its end, keeps its lease meanwhile, and heeds a stop asked for in a browser."""

    def __init__(self, running: RunningTurn[Any]) -> None:
        self.running = running
        self.turn = running.turn
        self._cancelled = False

    async def run(self) -> None:
        """Work until the turn has ended, one way or another."""
        self.task = asyncio.create_task(self.running.run())
        keeping = asyncio.create_task(self._keep())
        try:
            await self.task
        finally:
            keeping.cancel()

    def stop(self, status: Turn.Status = Turn.Status.STOPPED) -> None:
        """End the turn at once: stopped by the person, or interrupted because this process must go.

        The first wish holds.
        """
        if self._cancelled:
            return
        self.running.cancelled_as = status
        if status is Turn.Status.INTERRUPTED:
            sentence = _("The terminal was closed while the agent was working. Completed work is kept.")
            self.running.farewell = sentence
        self._cancel()

    def _cancel(self) -> None:
        """Cancel the task, once: again would tear it out of telling how the turn ended."""
        if not self._cancelled:
            self._cancelled = True
            self.task.cancel()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            try:
                if await in_database(self._hold):
                    self.stop()
                    return
            except LeaseLost:
                if self.turn.is_held:  # else it ended or began to wait just now, here
                    self._cancel()
                return
            except DatabaseError as error:  # one that is away may come back before the lease is over
                log.warning("the lease could not be renewed: %s", error)

    def _hold(self) -> bool:
        """Renew the lease; whether somebody asked for the turn to stop."""
        self.turn.update_held()
        return Turn.objects.filter(pk=self.turn.pk, stop_requested_at__isnull=False).exists()
