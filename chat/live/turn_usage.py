"""What a turn took, as the page and the terminal tell it at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chat.live.figures import lasting, money, tokens
from chat.models import SideCall, Step, Turn
from chat.models.totals import Totals


@dataclass(frozen=True)
class TurnUsage:
    """The calls that took something, in order, with their totals, and the seconds that the agent worked."""

    calls: Sequence[Step | SideCall]
    totals: Totals
    seconds: float


def usage_of(turn: Turn) -> TurnUsage:
    """The usage of a turn whose rows were read with it.

    A title is no part of it: it is asked for when the turn has ended, and has been drawn for good.
    """
    within = [call for call in turn.side_calls.all() if call.purpose != SideCall.Purpose.TITLE]
    made: list[Step | SideCall] = [*turn.steps.all(), *within]
    calls = [call for call in made if call.input_tokens or call.output_tokens]
    calls.sort(key=lambda call: call.started_at)
    return TurnUsage(calls, Totals.of(calls), _worked(turn))


def told(usage: TurnUsage) -> str:
    """The usage in a line, with ~ where it is estimated."""
    counts = {"asked": tokens(usage.totals.input_tokens), "said": tokens(usage.totals.output_tokens)}
    mark = "~" if usage.totals.estimated else ""
    costs = [f"{money(cost)} {currency}" for currency, cost in usage.totals.costs]
    words = _("%(asked)s in, %(said)s out") % counts
    return " · ".join([f"{mark}{words}", *costs, lasting(usage.seconds)])


def _worked(turn: Turn) -> float:
    """Seconds from its first worker to its end, without those for which the person was asked; at least 0."""
    if turn.started_at is None or turn.ended_at is None:
        return 0.0
    asked = sum(call.waited for call in turn.tool_calls.all())
    return max(0.0, (turn.ended_at - turn.started_at).total_seconds() - asked)
