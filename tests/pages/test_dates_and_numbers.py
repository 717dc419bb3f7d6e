"""One form for dates and numbers, in the reader's language and time zone."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from django.template import Context, Template
from django.utils import timezone

from chat.models import Reader

AT = datetime.datetime(2025, 12, 31, 16, 5, 9, tzinfo=datetime.UTC)
THIS_YEAR = timezone.now().replace(month=3, day=2, hour=1, minute=5)


def drawn(source: str, language: str, zone: str = "UTC", **values: object) -> str:
    Reader(language, zone).activate()
    try:
        return Template("{% load display %}" + source).render(Context(values))
    finally:
        Reader("en", "UTC").activate()


@pytest.mark.parametrize(
    ("language", "zone", "recent", "older", "exact"),
    [
        ("en", "UTC", "2 Mar, 01:05", "31 Dec 2025, 16:05", "31 Dec 2025 16:05:09"),
        ("en", "America/New_York", "1 Mar, 20:05", "31 Dec 2025, 11:05", "31 Dec 2025 11:05:09"),
        ("zh-hans", "Asia/Shanghai", "3月2日 09:05", "2026年1月1日 00:05", "2026年1月1日 00:05:09"),
    ],
)
def test_times(language: str, zone: str, recent: str, older: str, exact: str) -> None:
    if THIS_YEAR.year == 2026 and "2026" in older:
        older = older.removeprefix("2026年")
    assert drawn("{{ at|date_time }}", language, zone, at=THIS_YEAR) == recent
    assert drawn("{{ at|date_time }}", language, zone, at=AT) == older
    assert str(AT.year) in drawn("{{ at|zoned }}", language, "UTC", at=AT)
    assert "2026" in drawn("{{ at|zoned }}", language, "UTC", at=THIS_YEAR.replace(year=2026))
    when = drawn('{% when at "row" %}', language, zone, at=AT)
    assert (
        when
        == f'<time class="row" datetime="2025-12-31T16:05:09Z" title="{exact}" data-recent>{older}</time>'
    )
    assert f'title="{exact}">{exact[-8:]}</time>' in drawn("{% clock at at %}", language, zone, at=AT)
    day_before = AT - datetime.timedelta(days=1)
    later = drawn("{% clock at since %}", language, zone, at=AT, since=day_before)
    assert later.endswith(f'title="{exact}">{older}</time>')


def test_numbers_are_grouped_alike() -> None:
    source = "{{ count|grouped }} {{ cost|money }} {{ size|filesizeformat }} {{ count|tokens }}"
    values = {"count": 1234567, "cost": Decimal("12345.678"), "size": 1536 * 1024}
    english, chinese = (drawn(source, language, **values) for language in ("en", "zh-hans"))
    assert english == chinese == "1,234,567 12,345.68 1.5\xa0MB 1.2M"
