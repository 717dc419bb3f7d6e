"""What a person's agents used: a chart, tables, and the same as a file. Staff may see everybody's."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from chat.models import DailyUsage
from chat.models.totals import COUNTS, TOKENS
from chat.pages.settings.csv_lines import csv_file
from chat.pages.settings.usage_chart import chart_of
from chat.pages.settings.usage_report import report_of
from chat.pages.signed_in import SignedInRequest

SPANS = (7, 30, 90)
_KEY = ("day", "person", "endpoint", "model", "profile")
_AMOUNTS = ("calls", "estimated_calls", *COUNTS, "cost", "currency")
COLUMNS = (*_KEY, *_AMOUNTS)


@dataclass(frozen=True)
class Choice:
    """What the address asks for; what it asks for wrongly is as usual."""

    days: int
    by: str
    everybody: bool
    of: str = TOKENS

    @classmethod
    def of_request(cls, request: SignedInRequest) -> Choice:
        """The choice in a request's query."""
        everybody = request.user.is_staff and request.GET.get("who") == "everybody"
        ways = ("model", "profile", "person") if everybody else ("model", "profile")
        by, days = request.GET.get("by", ""), request.GET.get("days", "")
        return cls(
            int(days) if days in map(str, SPANS) else 30,
            by if by in ways else ways[0],
            everybody,
            request.GET.get("of", TOKENS),
        )

    def but(self, **changes: Any) -> str:
        """The query of the same choice with changes."""
        asked = {"days": self.days, "by": self.by, "of": self.of} | changes
        who = {"who": "everybody"} if asked.pop("everybody", self.everybody) else {}
        return urlencode({**asked, **who})

    def usage(self, request: SignedInRequest) -> QuerySet[DailyUsage]:
        """The rows that it is about."""
        rows = DailyUsage.objects.all()
        return rows if self.everybody else rows.filter(owner=request.user)


@require_safe
def usage(request: SignedInRequest) -> HttpResponse:
    """The chart of the chosen days, with its numbers in tables."""
    choice = Choice.of_request(request)
    report = report_of(choice.usage(request), choice.by, _today(), choice.days)
    currencies = [currency for currency, _cost in report.totals.costs]
    of = choice.of if choice.of in currencies else TOKENS
    context = {
        "section": "usage",
        "zone": timezone.get_default_timezone_name(),
        "choice": choice,
        "spans": [(days, choice.but(days=days)) for days in SPANS],
        "ways": [(by, choice.but(by=by)) for by in ("model", "profile")],
        "person_query": choice.but(by="person", everybody=True),
        "own_query": choice.but(by="model", everybody=False),
        "of": of,
        "measures": [(each, choice.but(of=each)) for each in (TOKENS, *currencies)],
        "file_query": choice.but(),
        "report": report,
        "chart": chart_of(report, of),
    }
    return render(request, "settings/usage.html", context)


@require_safe
def usage_file(request: SignedInRequest) -> StreamingHttpResponse:
    """The rows of the chosen days as CSV, in UTF-8, the first line naming the columns."""
    choice = Choice.of_request(request)
    first = _today() - datetime.timedelta(days=choice.days - 1)
    rows = choice.usage(request).filter(day__gte=first).select_related("owner")
    return csv_file(f"usage-{choice.days}-days.csv", COLUMNS, map(_cells, rows.iterator()))


def _cells(row: DailyUsage) -> list[Any]:
    return [row.owner.get_username() if name == "person" else getattr(row, name) for name in COLUMNS]


def _today() -> datetime.date:
    return timezone.localdate(timezone=timezone.get_default_timezone())
