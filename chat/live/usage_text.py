"""Usage numbers in short form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chat.models import SideCall, Step, Turn
from chat.models.usage import Totals


def tokens(count: int | Decimal) -> str:
    """A count with about three digits: 950, 1.2k, 34k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if count >= size - size // 2000:
            digits = 1 if count < 9.95 * size else 0
            return f"{number_format(round(float(count) / size, digits), digits)}{unit}"
    return str(int(count))


def grouped(count: int | Decimal) -> str:
    """A count with all digits, grouped."""
    return number_format(count, force_grouping=True)


def money(cost: Decimal) -> str:
    """An amount with two decimals, or as many as a small one needs to differ from zero."""
    places = 2
    while places < 8 and 0 < abs(cost) < Decimal(1).scaleb(1 - places):
        places += 1
    rounded = cost.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return number_format(rounded, places, force_grouping=True)


def format_duration(seconds: float) -> str:
    """A duration: 0.4 s, 12 s, 2 min 5 s. Whole seconds, given as an integer, have no decimals."""
    if isinstance(seconds, float) and seconds < 10:
        return _("%(seconds)s s") % {"seconds": number_format(round(seconds, 1), 1)}
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return _("%(seconds)s s") % {"seconds": rest}
    return _("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": rest}


@dataclass(frozen=True)
class TurnUsage:
    """The calls that used tokens, in order, their totals, and the seconds that the agent worked."""

    calls: Sequence[Step | SideCall]
    totals: Totals
    seconds: float


def usage_of(turn: Turn) -> TurnUsage:
    """The usage of a turn read with its rows, without the title's call, which is made after the end."""
    side_calls = [call for call in turn.side_calls.all() if call.purpose != SideCall.Purpose.TITLE]
    candidates: list[Step | SideCall] = [*turn.steps.all(), *side_calls]
    calls = [call for call in candidates if call.input_tokens or call.output_tokens]
    calls.sort(key=lambda call: call.started_at)
    return TurnUsage(calls, Totals.of(calls), _seconds_worked(turn))


def tokens_text(totals: Totals) -> str:
    """The tokens in and out, marked where they include estimates."""
    mark = "~" if totals.estimated else ""
    counts = {"asked": mark + tokens(totals.input_tokens), "said": mark + tokens(totals.output_tokens)}
    return _("%(asked)s tokens in, %(said)s out") % counts


def usage_line(usage: TurnUsage) -> str:
    at_least = "≥ " if usage.totals.unpriced else ""
    costs = [f"{at_least}{money(cost)} {currency}" for currency, cost in usage.totals.costs]
    return " · ".join([tokens_text(usage.totals), *costs, format_duration(usage.seconds)])


def tokens_so_far(spent: Totals) -> str:
    """The tokens of a running turn, whose input is known only once its first step has ended; "" for none."""
    if spent.input_tokens:
        return tokens_text(spent)
    said = ("~" if spent.estimated else "") + tokens(spent.output_tokens)
    return _("%(said)s tokens") % {"said": said} if spent.output_tokens else ""


def _seconds_worked(turn: Turn) -> float:
    """Seconds from the turn's start to its end without waits for the user; at least 0."""
    if turn.started_at is None or turn.ended_at is None:
        return 0.0
    waited = sum(call.waited for call in turn.tool_calls.all())
    return max(0.0, (turn.ended_at - turn.started_at).total_seconds() - waited)
