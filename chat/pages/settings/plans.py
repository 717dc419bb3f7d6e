"""What plans teach: figures by todo policy and by profile, to choose by. Staff may see everybody's."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from chat.models import Conversation, PlanFigures
from chat.models.plan_figures import COUNTS
from chat.pages.settings.csv_lines import csv_file
from chat.pages.settings.plans_chart import finished_bars, time_bars, token_bars
from chat.pages.settings.plans_report import WAYS, report_of
from chat.pages.settings.usage_chart import chart_of
from chat.pages.signed_in import SignedInRequest
from chat.plan.figures import count_behind
from chat.plan.share import ENOUGH
from chat.plan.tally import Tally

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
