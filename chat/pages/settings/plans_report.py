"""What plans came to in a span of days, by todo policy or by profile."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from django.db.models import QuerySet, Sum
from django.utils.translation import gettext as _

from chat.models import PlanFigures
from chat.models.plan_figures import COUNTS
from chat.pages.settings.usage_report import COLOURS, REST
from chat.plan.share import ENOUGH, Share

WAYS = ("policy", "profile")
POLICIES = ("focused", "lean", "checklist")  # in the order and the colours that they always have


@dataclass
class Line:
    """What one policy or profile came to, in all, and its lists by day."""

    name: str
    colour: str = REST
    counts: Counter[str] = field(default_factory=Counter)
    by_day: Counter[datetime.date] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def __add__(self, other: Line) -> Line:
        return Line(
            self.name,
            self.colour,
            self.counts + other.counts,
            self.by_day + other.by_day,
            self.reasons + other.reasons,
            self.seconds + other.seconds,
        )

    def amount(self, day: datetime.date, _of: str = "") -> Decimal:
        """Its lists that were begun on a day."""
        return Decimal(self.by_day[day])

    @property
    def is_enough(self) -> bool:
        """Whether it has lists enough for percentages to say something."""
        return self.counts["lists"] >= ENOUGH

    @property
    def finished(self) -> Share:
        """Of its lists, those that were finished."""
        return self._share("finished", "lists")

    @property
    def followed(self) -> Share:
        """Of its reminders, those that a list followed."""
        return self._share("followed", "reminders")

    @property
    def refused(self) -> Share:
        """Of the lists that were sent, those that were refused."""
        return self._share("refused", "writes")

    @property
    def only_planned(self) -> Share:
        """Of the calls of the model, those that did nothing but plan."""
        return self._share("planning_steps", "steps")

    @property
    def open(self) -> int:
        """How many of its lists were left unfinished and not given up."""
        return self.counts["lists"] - self.counts["finished"] - self.counts["given_up"]

    @property
    def planning_tokens(self) -> int:
        """All that planning took."""
        names = ("written_tokens", "planning_input_tokens", "offering_tokens")
        return sum(self.counts[name] for name in names)

    @property
    def planning(self) -> Share:
        """Of all its tokens, in and out, those that planning took."""
        return Share(self.planning_tokens, self.counts["input_tokens"] + self.counts["output_tokens"])

    @property
    def median(self) -> float | None:
        """The seconds that half of its timed items did not exceed; None for too few."""
        return self._within(0.5)

    @property
    def ninetieth(self) -> float | None:
        """The seconds that nine of ten timed items did not exceed; None for too few."""
        return self._within(0.9)

    def _within(self, part: float) -> float | None:
        if len(self.seconds) < ENOUGH:
            return None
        return sorted(self.seconds)[math.ceil(part * len(self.seconds)) - 1]

    def _share(self, part: str, whole: str) -> Share:
        return Share(self.counts[part], self.counts[whole])


@dataclass(frozen=True)
class Report:
    """The days, in order, and the lines."""

    days: Sequence[datetime.date]
    lines: Sequence[Line]

    @cached_property
    def total(self) -> Line:
        """All lines together."""
        return sum(self.lines, Line(_("Total")))

    @cached_property
    def shown(self) -> list[Line]:
        """The lines as the chart of days has them: those beyond the colours are one."""
        most, rest = list(self.lines[: len(COLOURS)]), self.lines[len(COLOURS) :]
        return [*most, sum(rest, Line(_("Others")))] if rest else most

    @cached_property
    def by_day(self) -> list[tuple[datetime.date, list[int]]]:
        """Every day on which a list was begun, with those of each line shown."""
        rows = [(day, [line.by_day[day] for line in self.shown]) for day in self.days]
        return [(day, counts) for day, counts in rows if any(counts)]

    @cached_property
    def reasons(self) -> list[tuple[str, list[int], int]]:
        """Why lists were refused, the most frequent first: the count of each line shown, and of all."""
        return [
            (reason, [line.reasons[reason] for line in self.shown], count)
            for reason, count in self.total.reasons.most_common()
        ]


def report_of(figures: QuerySet[PlanFigures], by: str, last: datetime.date, count: int) -> Report:
    """The report of `count` days up to `last`, in two queries."""
    days = [last - datetime.timedelta(days=back) for back in reversed(range(count))]
    within = figures.filter(day__range=(days[0], last)).order_by()
    lines = defaultdict[str, Line](lambda: Line(""))
    for row in within.values("day", by).annotate(**{f"{name}_sum": Sum(name) for name in COUNTS}):
        line = lines[row[by]]
        line.counts.update({name: row[f"{name}_sum"] for name in COUNTS})
        line.by_day[row["day"]] += row["lists_sum"]
    told = within.filter(timed__gt=0) | within.filter(refused__gt=0)
    for key, seconds, reasons in told.values_list(by, "seconds", "reasons"):
        lines[key].seconds += seconds
        lines[key].reasons.update(reasons)
    return Report(days, list(_ordered(lines, by)))


def _ordered(lines: Mapping[str, Line], by: str) -> Iterator[Line]:
    """The lines, named: policies in an order that stays, profiles by their lists."""

    def place(key: str) -> tuple[int, int, str]:
        known = POLICIES.index(key) if by == "policy" and key in POLICIES else len(POLICIES)
        return known, -lines[key].counts["lists"], key

    for number, key in enumerate(sorted(lines, key=place)):
        fixed = POLICIES.index(key) if by == "policy" and key in POLICIES else number
        line = lines[key]
        line.name = (_policy(key) if by == "policy" else key) or _("unnamed")
        line.colour = COLOURS[fixed] if fixed < len(COLOURS) else REST
        yield line


def _policy(key: str) -> str:
    names = {"focused": _("Focused"), "lean": _("Lean"), "checklist": _("Checklist")}
    return names.get(key, key)
