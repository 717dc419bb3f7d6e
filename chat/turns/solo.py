"""Runs a turn without a pool, for the terminal."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from chat.database import in_database
from chat.models import LeaseLost, Turn
from chat.turns.pool import POLL_INTERVAL
from chat.turns.run_turn import RunningTurn

log = logging.getLogger(__name__)


class SoloTurn:
    """Runs a claimed turn to its end, keeps its lease, and obeys a stop requested in the browser."""

    def __init__(self, running: RunningTurn[Any]) -> None:
        self.running = running
        self.turn = running.turn
        self._cancelled = False

    async def run(self) -> None:
        self.task = asyncio.create_task(self.running.run())
        lease_keeper = asyncio.create_task(self._keep_lease())
        try:
            await self.task
        finally:
            lease_keeper.cancel()

    def stop(self, status: Turn.Status = Turn.Status.STOPPED) -> None:
        """End the turn at once: stopped by the user, or interrupted as this process exits. The first call
        counts.
        """
        if self._cancelled:
            return
        self.running.cancelled_as = status
        if status is Turn.Status.INTERRUPTED:
            message = _("The terminal was closed while the agent was working. Completed work is kept.")
            self.running.end_message = message
        self._cancel()

    def _cancel(self) -> None:
        """Cancel the task once: a second time would interrupt the recording of the end."""
        if not self._cancelled:
            self._cancelled = True
            self.task.cancel()

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL)
            try:
                if await in_database(self._renew_lease):
                    self.stop()
                    return
            except LeaseLost:
                if self.turn.is_held:  # otherwise it has just ended or begun to wait here
                    self._cancel()
                return
            except DatabaseError as error:  # it may come back before the lease expires
                log.warning("the lease could not be renewed: %s", error)

    def _renew_lease(self) -> bool:
        self.turn.update_leased()
        return Turn.objects.filter(pk=self.turn.pk, stop_requested_at__isnull=False).exists()
