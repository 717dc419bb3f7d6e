"""What plans teach: figures by todo policy and by profile, to choose by. Staff may see everybody's."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet, Sum
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from chat.live.usage_text import grouped, lasting, tokens
from chat.models import Conversation, PlanFigures
from chat.models.plan_stats import COUNTS
from chat.pages.settings.csv_lines import csv_file
from chat.pages.settings.usage import COLOURS, REST
from chat.pages.settings.usage_chart import chart_of
from chat.pages.signed_in import SignedInRequest
from chat.plan.plan_stats import ENOUGH, Share, Tally, count_behind

SPANS = (7, 30, 90)
AT_ONCE = 100  # conversations that a look at the page counts: a second, mostly
KEY = ("day", "profile", "policy")


@dataclass(frozen=True)
class Choice:
    """What the address asks for; what it asks for wrongly is as usual."""

    days: int
    by: str
    everybody: bool

    @classmethod
    def of_request(cls, request: SignedInRequest) -> Choice:
        """The choice in a request's query."""
        everybody = request.user.is_staff and request.GET.get("who") == "everybody"
        by, days = request.GET.get("by", ""), request.GET.get("days", "")
        return cls(int(days) if days in map(str, SPANS) else 30, by if by in WAYS else WAYS[0], everybody)

    def but(self, **changes: Any) -> str:
        """The query of the same choice with changes."""
        asked = {"days": self.days, "by": self.by} | changes
        who = {"who": "everybody"} if asked.pop("everybody", self.everybody) else {}
        return urlencode({**asked, **who})

    def figures(self, request: SignedInRequest) -> QuerySet[PlanFigures]:
        """The rows that it is about."""
        rows = PlanFigures.objects.all()
        return rows if self.everybody else rows.filter(owner=request.user)


@require_safe
def plans(request: SignedInRequest) -> HttpResponse:
    """Charts of the chosen days, with their numbers in tables."""
    choice = Choice.of_request(request)
    missing = count_behind(_conversations(request, choice), AT_ONCE)
    report = report_of(choice.figures(request), choice.by, _today(), choice.days)
    context = {
        "section": "plans",
        "zone": timezone.get_default_timezone_name(),
        "choice": choice,
        "spans": [(days, choice.but(days=days)) for days in SPANS],
        "ways": [(by, choice.but(by=by)) for by in WAYS],
        "people": [(everybody, choice.but(everybody=everybody)) for everybody in (False, True)],
        "file_query": choice.but(),
        "report": report,
        "enough": ENOUGH,
        "chart": chart_of(report, whole=True),
        "finished": finished_bars(report.lines),
        "times": time_bars(report.lines),
        "tokens": token_bars(report.lines),
        "missing": missing,
    }
    return render(request, "settings/plans.html", context)


@require_safe
def plans_file(request: SignedInRequest) -> StreamingHttpResponse:
    """The figures of the chosen days as CSV: a line for each day, profile and policy."""
    choice = Choice.of_request(request)
    first = _today() - datetime.timedelta(days=choice.days - 1)
    rows = choice.figures(request).filter(day__gte=first)
    columns = (*KEY, *COUNTS, "refused_because", "item_seconds")
    return csv_file(f"plans-{choice.days}-days.csv", columns, _cells(rows))


def _cells(figures: QuerySet[PlanFigures]) -> Iterator[list[Any]]:
    """A line for each key. Those of several people or conversations are one: whose they are is not told."""
    sums = defaultdict[tuple[Any, ...], Tally](Tally)
    for row in figures.order_by(*KEY).iterator():
        tally = sums[tuple(getattr(row, name) for name in KEY)]
        tally.add(
            Tally(Counter({name: getattr(row, name) for name in COUNTS}), Counter(row.reasons), row.seconds)
        )
    for key, tally in sums.items():
        because = "; ".join(f"{reason} {count}" for reason, count in sorted(tally.reasons.items()))
        seconds = " ".join(f"{each:g}" for each in sorted(tally.seconds))
        yield [*key, *(tally.counts[name] for name in COUNTS), because, seconds]


def _conversations(request: SignedInRequest, choice: Choice) -> QuerySet[Conversation]:
    everyones = Conversation.objects.all()
    return everyones if choice.everybody else everyones.visible_to(request.user)


def _today() -> datetime.date:
    return timezone.localdate(timezone=timezone.get_default_timezone())


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


WIDTH = 1000
FEW = 12  # lines that a chart has room for


@dataclass(frozen=True)
class Piece:
    """A stretch of a bar, in units of the plane; a `faint` one goes on behind the main one."""

    x: str
    width: str
    faint: bool = False


@dataclass(frozen=True)
class Bar:
    """A line's bar. `words` tells what it shows; without pieces there is too little to show."""

    line: Line
    words: str
    pieces: Sequence[Piece] = ()
    whisker: tuple[str, str] | None = None


@dataclass(frozen=True)
class Bars:
    """Bars, and the words at the two ends of their scale."""

    bars: Sequence[Bar]
    ends: tuple[str, str] = field(default=("", ""))

    @property
    def says(self) -> bool:
        """Whether anything is to be seen."""
        return any(bar.pieces or bar.whisker for bar in self.bars)


def finished_bars(lines: Sequence[Line]) -> Bars:
    """How many of their lists were finished, of 100, with the interval in which the true share may lie."""
    return Bars([_finished(line) for line in _listed(lines)], ("0 %", "100 %"))


def time_bars(lines: Sequence[Line]) -> Bars:
    """How long items took: up to the median, and faintly on to what nine of ten stay within."""
    timed = [line for line in _listed(lines) if line.counts["timed"]]
    most = max((line.ninetieth or 0 for line in timed), default=0)
    return Bars([_time(line, most) for line in timed], ("0", lasting(most)))


def token_bars(lines: Sequence[Line]) -> Bars:
    """Planning's part of all tokens: what was written, faintly on the input that planning added."""
    listed = _listed(lines)
    most = max((line.planning.percent for line in listed if line.is_enough), default=0.0)
    return Bars([_tokens(line, most) for line in listed], ("0 %", percent(most, 1)))


def _listed(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line.counts["lists"]][:FEW]


def _finished(line: Line) -> Bar:
    share = line.finished
    counted = _("%(part)s of %(whole)s") % {"part": grouped(share.part), "whole": grouped(share.whole)}
    if not line.is_enough:
        return Bar(line, counted)
    whisker = (_short(10 * share.low), _short(10 * share.high))
    return Bar(line, f"{percent(share.percent)} · {counted}", [_piece(0, share.percent, 100)], whisker)


def _time(line: Line, most: float) -> Bar:
    if line.median is None or line.ninetieth is None:
        return Bar(line, _("too few"))
    words = f"{lasting(line.median)} · {lasting(line.ninetieth)}"
    far = _piece(line.median, line.ninetieth - line.median, most, faint=True)
    return Bar(line, words, [_piece(0, line.median, most), far])


def _tokens(line: Line, most: float) -> Bar:
    words = f"~{tokens(line.planning_tokens)}"
    if not line.is_enough:
        return Bar(line, words)
    whole = line.planning
    written = 100 * line.counts["written_tokens"] / whole.whole if whole.whole else 0.0
    pieces = [_piece(0, written, most), _piece(written, whole.percent - written, most, faint=True)]
    return Bar(line, f"~{percent(whole.percent, 1)} · {words}", pieces)


def percent(value: float, digits: int = 0) -> str:
    """A percentage with so many digits behind the point."""
    return f"{number_format(round(value, digits), digits)} %"


def _piece(start: float, length: float, whole: float, *, faint: bool = False) -> Piece:
    scale = WIDTH / whole if whole else 0.0
    return Piece(_short(start * scale), _short(max(0.0, length) * scale), faint)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
