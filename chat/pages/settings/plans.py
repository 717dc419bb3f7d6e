"""Plan statistics by todo policy and by profile. Staff may see everybody's."""

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

from chat.live.usage_text import format_duration, grouped, tokens
from chat.models import Conversation, PlanFigures, Profile
from chat.models.plan_stats import COUNTS
from chat.pages.audience import audience
from chat.pages.settings.csv_lines import csv_file
from chat.pages.settings.usage import COLOURS, REST, colours_of, summed_up
from chat.pages.settings.usage_chart import chart_of
from chat.pages.signed_in import SignedInRequest
from chat.plan.plan_stats import ENOUGH, Share, Tally, count_behind

SPANS = (7, 30, 90)
MAX_COUNTED = 100  # conversations that one page view counts; takes about a second
KEY = ("day", "profile", "policy")


@dataclass(frozen=True)
class Choice:
    days: int
    by: str
    everybody: bool

    @classmethod
    def of_request(cls, request: SignedInRequest) -> Choice:
        everybody = request.user.is_staff and request.GET.get("who") == "everybody"
        by, days = request.GET.get("by", ""), request.GET.get("days", "")
        return cls(
            int(days) if days in map(str, SPANS) else 30, by if by in GROUPINGS else GROUPINGS[0], everybody
        )

    def query_with(self, **changes: Any) -> str:
        params = {"days": self.days, "by": self.by} | changes
        who = {"who": "everybody"} if params.pop("everybody", self.everybody) else {}
        return urlencode({**params, **who})

    def figures(self, request: SignedInRequest) -> QuerySet[PlanFigures]:
        rows = PlanFigures.objects.all()
        return rows if self.everybody else rows.filter(owner=request.user)


@audience("signed_in")
@require_safe
def plans(request: SignedInRequest) -> HttpResponse:
    choice = Choice.of_request(request)
    missing = count_behind(_conversations(request, choice), MAX_COUNTED)
    by_profile = choice.by == "profile"
    colours = Profile.colours_for(request.user, everybody=choice.everybody) if by_profile else None
    report = report_of(choice.figures(request), choice.by, _today(), choice.days, colours)
    context = {
        "section": "plans",
        "zone": timezone.get_current_timezone_name(),
        "choice": choice,
        "spans": [(days, choice.query_with(days=days)) for days in SPANS],
        "ways": [(by, choice.query_with(by=by)) for by in GROUPINGS],
        "people": [(everybody, choice.query_with(everybody=everybody)) for everybody in (False, True)],
        "file_query": choice.query_with(),
        "report": report,
        "enough": ENOUGH,
        "chart": chart_of(report, whole=True),
        "finished": finished_bars(report.lines),
        "times": time_bars(report.lines),
        "tokens": token_bars(report.lines),
        "missing": missing,
    }
    return render(request, "settings/plans.html", context)


@audience("signed_in")
@require_safe
def plans_file(request: SignedInRequest) -> StreamingHttpResponse:
    choice = Choice.of_request(request)
    first = _today() - datetime.timedelta(days=choice.days - 1)
    rows = choice.figures(request).filter(day__gte=first)
    columns = (*KEY, *COUNTS, "refused_because", "item_seconds")
    return csv_file(f"plans-{choice.days}-days.csv", columns, _cells(rows))


def _cells(figures: QuerySet[PlanFigures]) -> Iterator[list[Any]]:
    """One row per key, summed over users and conversations, so that it does not show whose they are."""
    sums = defaultdict[tuple[Any, ...], Tally](Tally)
    for row in figures.order_by(*KEY).iterator():
        tally = sums[tuple(getattr(row, name) for name in KEY)]
        tally.add(
            Tally(Counter({name: getattr(row, name) for name in COUNTS}), Counter(row.reasons), row.seconds)
        )
    for key, tally in sums.items():
        reasons = "; ".join(f"{reason} {count}" for reason, count in sorted(tally.reasons.items()))
        seconds = " ".join(f"{value:g}" for value in sorted(tally.seconds))
        yield [*key, *(tally.counts[name] for name in COUNTS), reasons, seconds]


def _conversations(request: SignedInRequest, choice: Choice) -> QuerySet[Conversation]:
    everyones = Conversation.objects.all()
    return everyones if choice.everybody else everyones.visible_to(request.user)


def _today() -> datetime.date:
    return timezone.localdate()


GROUPINGS = ("policy", "profile")
POLICIES = ("focused", "lean", "checklist")  # in their fixed order, which sets their colours


@dataclass
class Line:
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
        return Decimal(self.by_day[day])

    @property
    def is_enough(self) -> bool:
        return self.counts["lists"] >= ENOUGH

    @property
    def finished(self) -> Share:
        return self._share("finished", "lists")

    @property
    def followed(self) -> Share:
        return self._share("followed", "reminders")

    @property
    def refused(self) -> Share:
        return self._share("refused", "writes")

    @property
    def only_planned(self) -> Share:
        return self._share("planning_steps", "steps")

    @property
    def open(self) -> int:
        return self.counts["lists"] - self.counts["finished"] - self.counts["given_up"]

    @property
    def planning_tokens(self) -> int:
        names = ("written_tokens", "planning_input_tokens", "offering_tokens")
        return sum(self.counts[name] for name in names)

    @property
    def planning(self) -> Share:
        return Share(self.planning_tokens, self.counts["input_tokens"] + self.counts["output_tokens"])

    @property
    def median(self) -> float | None:
        """The median of the items' seconds; None if there are too few."""
        return self._percentile(0.5)

    @property
    def ninetieth(self) -> float | None:
        """The 90th percentile of the items' seconds; None if there are too few."""
        return self._percentile(0.9)

    def _percentile(self, fraction: float) -> float | None:
        if len(self.seconds) < ENOUGH:
            return None
        return sorted(self.seconds)[math.ceil(fraction * len(self.seconds)) - 1]

    def _share(self, part: str, whole: str) -> Share:
        return Share(self.counts[part], self.counts[whole])


@dataclass(frozen=True)
class Report:
    days: Sequence[datetime.date]
    lines: Sequence[Line]

    @cached_property
    def total(self) -> Line:
        return sum(self.lines, Line(_("Total")))

    @cached_property
    def shown(self) -> list[Line]:
        """The lines in the chart by day."""
        return summed_up(self.lines, lambda rest: sum(rest, Line(_("Others"))))

    @cached_property
    def by_day(self) -> list[tuple[datetime.date, list[int]]]:
        rows = [(day, [line.by_day[day] for line in self.shown]) for day in self.days]
        return [(day, counts) for day, counts in rows if any(counts)]

    @cached_property
    def reasons(self) -> list[tuple[str, list[int], int]]:
        return [
            (reason, [line.reasons[reason] for line in self.shown], count)
            for reason, count in self.total.reasons.most_common()
        ]


def report_of(
    figures: QuerySet[PlanFigures],
    by: str,
    last: datetime.date,
    count: int,
    colours: Mapping[str, str] | None = None,
) -> Report:
    """The statistics of `count` days up to `last`, in two queries; `colours` are the profiles' by title.

    Later days count as the last: they are those of time zones further east, such as the user's before.
    """
    days = [last - datetime.timedelta(days=back) for back in reversed(range(count))]
    within = figures.filter(day__gte=days[0]).order_by()
    lines = defaultdict[str, Line](lambda: Line(""))
    for row in within.values("day", by).annotate(**{f"{name}_sum": Sum(name) for name in COUNTS}):
        line = lines[row[by]]
        line.counts.update({name: row[f"{name}_sum"] for name in COUNTS})
        line.by_day[min(row["day"], last)] += row["lists_sum"]
    with_details = within.filter(timed__gt=0) | within.filter(refused__gt=0)
    for key, seconds, reasons in with_details.values_list(by, "seconds", "reasons"):
        lines[key].seconds += seconds
        lines[key].reasons.update(reasons)
    return Report(days, list(_ordered(lines, by, colours or {})))


def _ordered(lines: Mapping[str, Line], by: str, own_colours: Mapping[str, str]) -> Iterator[Line]:
    """The lines with their names: policies in fixed order, profiles by number of lists."""

    def sort_key(key: str) -> tuple[int, int, str]:
        rank = POLICIES.index(key) if by == "policy" and key in POLICIES else len(POLICIES)
        return rank, -lines[key].counts["lists"], key

    keys = sorted(lines, key=sort_key)
    colours = dict(zip(keys, colours_of(keys, own_colours), strict=True))
    if by == "policy":
        colours |= zip(POLICIES, COLOURS, strict=False)
    for key in keys:
        line = lines[key]
        line.name = (_policy_name(key) if by == "policy" else key) or _("unnamed")
        line.colour = colours[key]
        yield line


def _policy_name(key: str) -> str:
    names = {"focused": _("Focused"), "lean": _("Lean"), "checklist": _("Checklist")}
    return names.get(key, key)


WIDTH = 1000
MAX_BARS = 12  # lines that fit in a chart


@dataclass(frozen=True)
class Piece:
    """A stretch of a bar in units of WIDTH; `faint` ones extend the main one."""

    x: str
    width: str
    faint: bool = False


@dataclass(frozen=True)
class Bar:
    """A line's bar. `words` describes it; it has no pieces if there is too little data."""

    line: Line
    words: str
    pieces: Sequence[Piece] = ()
    whisker: tuple[str, str] | None = None


@dataclass(frozen=True)
class Bars:
    bars: Sequence[Bar]
    ends: tuple[str, str] = field(default=("", ""))

    @property
    def says(self) -> bool:
        return any(bar.pieces or bar.whisker for bar in self.bars)


def finished_bars(lines: Sequence[Line]) -> Bars:
    return Bars([_finished(line) for line in _with_lists(lines)], ("0%", "100%"))


def time_bars(lines: Sequence[Line]) -> Bars:
    timed = [line for line in _with_lists(lines) if line.counts["timed"]]
    longest = max((line.ninetieth or 0 for line in timed), default=0)
    return Bars([_time(line, longest) for line in timed], ("0", format_duration(longest)))


def token_bars(lines: Sequence[Line]) -> Bars:
    shown = _with_lists(lines)
    highest = max((line.planning.percent for line in shown if line.is_enough), default=0.0)
    return Bars([_tokens(line, highest) for line in shown], ("0%", percent(highest, 1)))


def _with_lists(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line.counts["lists"]][:MAX_BARS]


def _finished(line: Line) -> Bar:
    share = line.finished
    ratio = _("%(part)s of %(whole)s") % {"part": grouped(share.part), "whole": grouped(share.whole)}
    if not line.is_enough:
        return Bar(line, ratio)
    whisker = (_short(10 * share.low), _short(10 * share.high))
    return Bar(line, f"{percent(share.percent)} · {ratio}", [_piece(0, share.percent, 100)], whisker)


def _time(line: Line, longest: float) -> Bar:
    if line.median is None or line.ninetieth is None:
        return Bar(line, _("too few"))
    words = f"{format_duration(line.median)} · {format_duration(line.ninetieth)}"
    rest = _piece(line.median, line.ninetieth - line.median, longest, faint=True)
    return Bar(line, words, [_piece(0, line.median, longest), rest])


def _tokens(line: Line, highest: float) -> Bar:
    words = f"~{tokens(line.planning_tokens)}"
    if not line.is_enough:
        return Bar(line, words)
    planning = line.planning
    written = 100 * line.counts["written_tokens"] / planning.whole if planning.whole else 0.0
    pieces = [_piece(0, written, highest), _piece(written, planning.percent - written, highest, faint=True)]
    return Bar(line, f"~{percent(planning.percent, 1)} · {words}", pieces)


def percent(value: float, digits: int = 0) -> str:
    return f"{number_format(round(value, digits), digits)}%"


def _piece(start: float, length: float, whole: float, *, faint: bool = False) -> Piece:
    scale = WIDTH / whole if whole else 0.0
    return Piece(_short(start * scale), _short(max(0.0, length) * scale), faint)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
