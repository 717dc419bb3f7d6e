"""What was used in a span of days, by model, by profile or by person, and what it came to."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db.models import QuerySet, Sum
from django.utils.translation import gettext as _

from chat.models import DailyUsage
from chat.models.totals import COUNTS, TOKENS, Totals

FIELD_OF = {"model": "model", "profile": "profile", "person": "owner__username"}
COLOURS = ("teal", "blue", "amber", "violet", "red", "green")
REST = "grey"  # of the lines beyond those that have a colour


@dataclass(frozen=True)
class Line:
    """What one model, profile or person took, in all and by day."""

    name: str
    colour: str
    totals: Totals
    by_day: Mapping[datetime.date, Totals]

    def amount(self, day: datetime.date, of: str) -> Decimal:
        """Its tokens of a day, or what they cost in the currency `of`."""
        return self.by_day.get(day, Totals()).amount(of)


@dataclass(frozen=True)
class Report:
    """The days, in order, and the lines, those with most tokens first."""

    days: Sequence[datetime.date]
    lines: Sequence[Line]

    @cached_property
    def totals(self) -> Totals:
        """All lines together."""
        return sum((line.totals for line in self.lines), Totals())

    @cached_property
    def shown(self) -> list[Line]:
        """The lines as a chart has them: those beyond the colours are one."""
        most, rest = list(self.lines[: len(COLOURS)]), self.lines[len(COLOURS) :]
        return [*most, _together(rest)] if rest else most

    @cached_property
    def by_day(self) -> list[tuple[datetime.date, Totals, list[Totals]]]:
        """Every day on which there was something: in all, and of each line shown."""
        rows = [(day, [line.by_day.get(day, Totals()) for line in self.shown]) for day in self.days]
        return [(day, sum(each, Totals()), each) for day, each in rows if any(total.calls for total in each)]


def report_of(usage: QuerySet[DailyUsage], by: str, last: datetime.date, count: int) -> Report:
    """The report of `count` days up to `last`, in one query."""
    days = [last - datetime.timedelta(days=back) for back in reversed(range(count))]
    field = FIELD_OF[by]
    sums = {f"{name}_sum": Sum(name) for name in ("calls", "estimated_calls", "cost", *COUNTS)}
    within = usage.filter(day__range=(days[0], last)).order_by()
    lines: dict[str, dict[datetime.date, Totals]] = {}
    for row in within.values("day", "currency", field).annotate(**sums):
        line = lines.setdefault(row[field], {})
        line[row["day"]] = line.get(row["day"], Totals()) + _totals(row)
    return Report(days, _lines(lines))


def _totals(row: Mapping[str, Any]) -> Totals:
    costs = ((row["currency"], row["cost_sum"]),) if row["currency"] else ()
    counts = {name: row[f"{name}_sum"] for name in COUNTS}
    return Totals(calls=row["calls_sum"], **counts, estimated=row["estimated_calls_sum"] > 0, costs=costs)


def _lines(found: Mapping[str, Mapping[datetime.date, Totals]]) -> list[Line]:
    summed = [(name, sum(days.values(), Totals()), days) for name, days in found.items()]
    summed.sort(key=lambda each: (-each[1].amount(TOKENS), each[0]))
    colours = [*COLOURS, *[REST] * len(summed)]
    return [
        Line(name or _("unnamed"), colour, totals, days)
        for (name, totals, days), colour in zip(summed, colours, strict=False)
    ]


def _together(lines: Iterable[Line]) -> Line:
    by_day: dict[datetime.date, Totals] = {}
    for line in lines:
        for day, totals in line.by_day.items():
            by_day[day] = by_day.get(day, Totals()) + totals
    return Line(_("Others"), REST, sum(by_day.values(), Totals()), by_day)
