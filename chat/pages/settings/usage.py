"""Token usage: a chart, tables and CSV. Staff may see everybody's."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlencode

from django.db.models import QuerySet, Sum
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from chat.agent.model.address import Address
from chat.models import Connection, DailyUsage, Profile
from chat.models.usage import TOKEN_COUNTS, TOKENS, Totals
from chat.pages.audience import audience
from chat.pages.settings.csv_lines import csv_file
from chat.pages.settings.usage_chart import chart_of
from chat.pages.signed_in import SignedInRequest

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SPANS = (7, 30, 90)
_KEY = ("day", "person", "endpoint", "model", "profile")
_AMOUNTS = ("calls", "estimated_calls", *TOKEN_COUNTS, "cost", "currency")
COLUMNS = (*_KEY, *_AMOUNTS)


@dataclass(frozen=True)
class Choice:
    """The page's options; invalid ones fall back to the default."""

    days: int
    by: str
    everybody: bool
    of: str = TOKENS

    @classmethod
    def of_request(cls, request: SignedInRequest) -> Choice:
        everybody = request.user.is_staff and request.GET.get("who") == "everybody"
        groupings = ("model", "profile", "person") if everybody else ("model", "profile")
        by, days = request.GET.get("by", ""), request.GET.get("days", "")
        return cls(
            int(days) if days in map(str, SPANS) else 30,
            by if by in groupings else groupings[0],
            everybody,
            request.GET.get("of", TOKENS),
        )

    def query_with(self, **changes: Any) -> str:
        params = {"days": self.days, "by": self.by, "of": self.of} | changes
        who = {"who": "everybody"} if params.pop("everybody", self.everybody) else {}
        return urlencode({**params, **who})

    def usage(self, request: SignedInRequest) -> QuerySet[DailyUsage]:
        rows = DailyUsage.objects.all()
        return rows if self.everybody else rows.filter(owner=request.user)


@audience("signed_in")
@require_safe
def usage(request: SignedInRequest) -> HttpResponse:
    choice = Choice.of_request(request)
    by_profile = choice.by == "profile"
    report = report_of(
        choice.usage(request),
        choice.by,
        _today(),
        choice.days,
        _connection_names(request.user),
        Profile.colours_for(request.user, everybody=choice.everybody) if by_profile else None,
    )
    currencies = [currency for currency, _cost in report.totals.costs]
    measure = choice.of if choice.of in currencies else TOKENS
    context = {
        "section": "usage",
        "zone": timezone.get_current_timezone_name(),
        "choice": choice,
        "spans": [(days, choice.query_with(days=days)) for days in SPANS],
        "ways": [(by, choice.query_with(by=by)) for by in ("model", "profile")],
        "person_query": choice.query_with(by="person", everybody=True),
        "own_query": choice.query_with(by="model", everybody=False),
        "of": measure,
        "measures": [(each, choice.query_with(of=each)) for each in (TOKENS, *currencies)],
        "file_query": choice.query_with(),
        "report": report,
        "chart": chart_of(report, measure),
    }
    return render(request, "settings/usage.html", context)


@audience("signed_in")
@require_safe
def usage_file(request: SignedInRequest) -> StreamingHttpResponse:
    choice = Choice.of_request(request)
    first = _today() - datetime.timedelta(days=choice.days - 1)
    rows = choice.usage(request).filter(day__gte=first).select_related("owner")
    return csv_file(f"usage-{choice.days}-days.csv", COLUMNS, map(_cells, rows.iterator()))


def _cells(row: DailyUsage) -> list[Any]:
    special = {"person": row.owner.get_username(), "cost": f"{row.cost:f}"}  # 0.00000000, not 0E-8
    return [special[name] if name in special else getattr(row, name) for name in COLUMNS]


def _today() -> datetime.date:
    return timezone.localdate()


FIELDS_OF = {"model": ("model", "endpoint"), "profile": ("profile",), "person": ("owner__username",)}
COLOURS = ("teal", "blue", "amber", "violet", "red", "green")
PROFILE_COLOURS = (*COLOURS, "pink")
REST = "grey"  # for the sum of all other lines


def colours_of(names: Sequence[str], own: Mapping[str, str]) -> list[str]:
    """A colour for each name: its own, unless an earlier name has it, or the next free one.

    Names that are more than there are colours have REST.
    """
    palette = PROFILE_COLOURS if own else COLOURS
    if len(names) <= len(palette) + 1:
        palette = (*palette, REST)
    holders = {own[name]: name for name in reversed(names[: len(palette)]) if own.get(name) in palette}
    free = (colour for colour in palette if colour not in holders)
    return [own[name] if name in holders.values() else next(free, REST) for name in names]


class Coloured(Protocol):
    @property
    def colour(self) -> str: ...


C = TypeVar("C", bound=Coloured)


def summed_up(lines: Sequence[C], sum_of: Callable[[Sequence[C]], C]) -> list[C]:
    """The lines of a chart: if several have no colour of their own, their sum takes their place."""
    rest = [line for line in lines if line.colour == REST]
    if len(rest) < 2:
        return list(lines)
    return [*(line for line in lines if line.colour != REST), sum_of(rest)]


@dataclass(frozen=True)
class Line:
    name: str
    colour: str
    totals: Totals
    by_day: Mapping[datetime.date, Totals]

    def amount(self, day: datetime.date, of: str) -> Decimal:
        """The day's tokens, or their cost in currency `of`."""
        return self.by_day.get(day, Totals()).amount(of)


@dataclass(frozen=True)
class Report:
    days: Sequence[datetime.date]
    lines: Sequence[Line]

    @cached_property
    def totals(self) -> Totals:
        return sum((line.totals for line in self.lines), Totals())

    @cached_property
    def shown(self) -> list[Line]:
        """The lines of the chart."""
        return summed_up(self.lines, _sum_of)

    @cached_property
    def by_day(self) -> list[tuple[datetime.date, Totals, list[Totals]]]:
        rows = [(day, [line.by_day.get(day, Totals()) for line in self.shown]) for day in self.days]
        return [(day, sum(each, Totals()), each) for day, each in rows if any(total.calls for total in each)]


def report_of(
    usage: QuerySet[DailyUsage],
    by: str,
    last: datetime.date,
    count: int,
    connections: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
) -> Report:
    """The usage of `count` days up to `last`, in one query.

    `connections` are names by endpoint, `colours` those that lines have of their own, by name.

    Later days count as the last: they are those of time zones further east, such as the user's before.
    """
    days = [last - datetime.timedelta(days=back) for back in reversed(range(count))]
    fields = FIELDS_OF[by]
    sums = {f"{name}_sum": Sum(name) for name in ("calls", "estimated_calls", "cost", *TOKEN_COUNTS)}
    within = usage.filter(day__gte=days[0]).order_by()
    lines: dict[tuple[str, ...], dict[datetime.date, Totals]] = {}
    for row in within.values("day", "currency", *fields).annotate(**sums):
        line = lines.setdefault(tuple(row[field] for field in fields), {})
        day = min(row["day"], last)
        line[day] = line.get(day, Totals()) + _totals(row)
    names = _names(list(lines), connections or {})
    return Report(days, _lines(zip(names, lines.values(), strict=True), colours or {}))


def _connection_names(user: User) -> dict[str, str]:
    """The names of the connections that the user may use, by endpoint."""
    names = defaultdict[str, list[str]](list)
    for connection in Connection.offered_to(user):
        names[Address.of(connection.base_url).base].append(connection.name)
    return {endpoint: " / ".join(each) for endpoint, each in names.items()}


def _names(keys: Sequence[tuple[str, ...]], connections: Mapping[str, str]) -> list[str]:
    """A name for each key; for a model of several endpoints, with the connection's, else the address."""
    counts = Counter(key[0] for key in keys)
    unnamed = _("unnamed")
    return [
        key[0] if counts[key[0]] == 1 else f"{key[0] or unnamed} ({connections.get(key[1], key[1])})"
        for key in keys
    ]


def _totals(row: Mapping[str, Any]) -> Totals:
    costs = ((row["currency"], row["cost_sum"]),) if row["currency"] else ()
    counts = {name: row[f"{name}_sum"] for name in TOKEN_COUNTS}
    return Totals(
        calls=row["calls_sum"],
        **counts,
        estimated=row["estimated_calls_sum"] > 0,
        costs=costs,
        unpriced=not costs,
    )


def _lines(
    usage: Iterable[tuple[str, Mapping[datetime.date, Totals]]], own_colours: Mapping[str, str]
) -> list[Line]:
    sorted_lines = [(name, sum(days.values(), Totals()), days) for name, days in usage]
    sorted_lines.sort(key=lambda each: (-each[1].amount(TOKENS), each[0]))
    colours = colours_of([name for name, _totals, _days in sorted_lines], own_colours)
    return [
        Line(name or _("unnamed"), colour, totals, days)
        for (name, totals, days), colour in zip(sorted_lines, colours, strict=True)
    ]


def _sum_of(lines: Iterable[Line]) -> Line:
    by_day: dict[datetime.date, Totals] = {}
    for line in lines:
        for day, totals in line.by_day.items():
            by_day[day] = by_day.get(day, Totals()) + totals
    return Line(_("Others"), REST, sum(by_day.values(), Totals()), by_day)
