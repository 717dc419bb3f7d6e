"""The plan statistics page: figures, charts, CSV, and whose they are."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import Conversation, PlanFigures
from chat.models.plan_stats import COUNTS
from chat.pages.settings.plans import Line, finished_bars, report_of, time_bars, token_bars
from chat.pages.settings.usage_chart import chart_of
from tests.pages.settings.test_usage import COLOURS_OF_LINES, keys_of, profiles_with_colours, text_of
from tests.plan.conftest import Work

PAGE = "/settings/plans/"
FILE = "/settings/plans/plans.csv"


def counted(owner: User, back: int = 0, **changes: Any) -> PlanFigures:
    """The figures of a conversation some days ago."""
    conversation = Conversation.objects.create(owner=owner, title="Private matters")
    day = timezone.localdate() - datetime.timedelta(days=back)
    usual = {"profile": "Focused", "policy": "focused", "turns": 1}
    return PlanFigures.objects.create(conversation=conversation, owner=owner, day=day, **(usual | changes))


def shown(browser: Client, query: str = "") -> str:
    response = browser.get(f"{PAGE}?{query}")
    assert response.status_code == 200
    return response.content.decode()


def rows_of(browser: Client, query: str = "") -> list[dict[str, str]]:
    """The lines of the file, by the names of its columns."""
    response = browser.get(f"{FILE}?{query}")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    content = response.getvalue()
    assert content.startswith(codecs.BOM_UTF8)
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def test_a_page_without_figures_says_so(owners: Client) -> None:
    page = shown(owners)
    assert "No turns ended in this period." in page
    assert "How this is counted" in page


def test_what_began_in_another_time_zones_tomorrow_counts_today(owners: Client, owner: User) -> None:
    counted(owner, back=-1, lists=3, finished=2)
    report = report_of(PlanFigures.objects.all(), "policy", timezone.localdate(), 7)
    assert report.by_day == [(timezone.localdate(), [3])]


def test_it_tells_what_became_of_lists(owners: Client, owner: User) -> None:
    counted(owner, lists=6, finished=4, finished_together=1, given_up=1)
    counted(owner, 3, lists=4, finished=4)
    counted(owner, policy="lean", lists=7)
    text = text_of(shown(owners))
    assert "Unfinished Focused 10 8 80% 1 1 1 Lean 7 0 0% 0 0 7 Total 17 8 47% 1 1 8" in text
    assert "80% · 8 of 10" in text


def test_few_lists_are_counts_and_no_percentages(owners: Client, owner: User) -> None:
    items = {"items": 9, "completed": 4, "timed": 4, "seconds": [1, 2, 3, 4]}
    tokens = {"steps": 20, "input_tokens": 9000, "written_tokens": 90}
    writes = {"writes": 9, "refused": 2, "reminders": 3, "followed": 1}
    counted(owner, lists=4, finished=3, **items, **tokens, **writes)
    page = shown(owners)
    text = text_of(page[: page.index("How this is counted")] + "</main>")
    assert "Focused 4 3 0 0 1" in text
    assert "Focused 9 4 0 0 4" in text
    assert "Focused 1 3 1 9 2" in text
    assert not re.search(r"\d%", text)
    assert "plan-bars" not in page[: page.index("How this is counted")]


def test_it_tells_how_long_items_took(owners: Client, owner: User) -> None:
    counted(owner, lists=5, items=12, completed=10, ticked=1, skipped=2, timed=9,
            seconds=[9, 8, 7, 6, 5, 4, 3, 2, 100])  # fmt: skip
    counted(owner, lists=1, items=1, completed=1, timed=1, seconds=[1])
    assert "Focused 13 11 1 2 10 5 s 9 s" in text_of(shown(owners))


def test_it_tells_of_reminders_and_refused_lists(owners: Client, owner: User) -> None:
    counted(owner, lists=8, reminders=8, followed=6, writes=20, refused=5,
            reasons={"required.activeForm": 4, "other": 1})  # fmt: skip
    counted(owner, policy="lean", reminders=1, writes=2, refused=2, reasons={"unknown_status": 2})
    text = text_of(shown(owners))
    assert "Focused 1 8 6 75% 20 5 25% Lean 1 1 0 2 2" in text
    assert "an item without activeForm 4 0 4 a status the policy does not have 0 2 2" in text
    assert "another reason 1 0 1" in text


def test_it_tells_what_planning_took(owners: Client, owner: User) -> None:
    usual = {"steps": 20, "input_tokens": 90_000, "output_tokens": 10_000, "lists": 5}
    plans = {"planning_steps": 4, "planning_input_tokens": 4000, "planning_cached_tokens": 1500}
    counted(owner, **usual, **plans, written_tokens=1000, offering_tokens=5000)
    text = text_of(shown(owners))
    assert "Focused 20 4 4.0k 1.5k ~5.0k 1.0k 10k" in text
    assert "~10.0% · ~10k" in text
    counted(owner, steps=1, estimated_steps=1, estimated_writes=1)
    assert "Focused 21 4 ~4.0k 1.5k ~5.0k ~1.0k ~10k" in text_of(shown(owners))


def test_it_is_told_by_profile_too(owners: Client, owner: User) -> None:
    counted(owner, lists=2)
    counted(owner, profile="<b>Mine</b>", lists=3)
    page = shown(owners, "by=profile")
    assert "&lt;b&gt;Mine&lt;/b&gt; 3" in text_of(page)
    assert "<b>Mine" not in page
    assert text_of(page).index("Mine") < text_of(page).index("Focused 2"), "the one with most lists first"


def test_profiles_have_their_colours_in_it(owners: Client, owner: User) -> None:
    profiles_with_colours(owner)
    for number, (_colour, title) in enumerate(COLOURS_OF_LINES):
        counted(owner, profile=title, lists=20 - number)
    page = shown(owners, "by=profile")
    assert keys_of(page) == COLOURS_OF_LINES
    bars = re.findall(r'<rect\s+data-colour="(\w+)"', page)
    assert bars[: len(COLOURS_OF_LINES)] == [colour for colour, _name in COLOURS_OF_LINES]
    assert keys_of(shown(owners)) == [("teal", "Focused")]


@pytest.mark.parametrize(("days", "lists"), [("7", 1), ("30", 3), ("90", 7), ("", 3), ("-1", 3), ("x", 3)])
def test_the_days_can_be_chosen(owners: Client, owner: User, days: str, lists: int) -> None:
    for back, count in ((6, 1), (29, 2), (89, 4), (90, 8)):
        counted(owner, back, lists=count)
    assert f"Unfinished Focused {lists} " in text_of(shown(owners, f"days={days}"))
    assert sum(int(row["lists"]) for row in rows_of(owners, f"days={days}")) == lists


def test_bars_say_how_sure_they_are(owner: User) -> None:
    counted(owner, lists=10, finished=5)
    [bar] = finished_bars(report_of(PlanFigures.objects.all(), "policy", timezone.localdate(), 7).lines).bars
    assert [(piece.x, piece.width) for piece in bar.pieces] == [("0", "500")]
    low, high = map(float, bar.whisker or ("", ""))
    assert (low, high) == (pytest.approx(236.6, abs=0.1), pytest.approx(763.4, abs=0.1))


def test_bars_of_times_and_tokens_have_two_parts() -> None:
    line = Line("focused", seconds=[10.0] * 8 + [40.0] * 2)
    line.counts.update(
        lists=5, timed=10, input_tokens=900, output_tokens=100, written_tokens=20, offering_tokens=60
    )
    [time], [tokens] = time_bars([line]).bars, token_bars([line]).bars
    assert [(piece.x, piece.width, piece.faint) for piece in time.pieces] == [
        ("0", "250", False),
        ("250", "750", True),
    ]
    assert [(piece.x, piece.width, piece.faint) for piece in tokens.pieces] == [
        ("0", "250", False),
        ("250", "750", True),
    ]


@pytest.mark.parametrize(("most", "top"), [(1, 4), (4, 4), (5, 8), (39, 40), (41, 60), (333, 400)])
def test_the_scale_of_days_has_whole_numbers(owner: User, most: int, top: int) -> None:
    counted(owner, lists=most)
    chart = chart_of(report_of(PlanFigures.objects.all(), "policy", timezone.localdate(), 7), whole=True)
    assert chart.scale[0] == top
    assert all(value == int(value) for value in chart.scale)


def test_what_was_missed_is_counted_by_a_look(owners: Client, owner: User) -> None:
    work = Work(owner).write("a >").write("a x").end()
    assert not PlanFigures.objects.exists()
    assert "Focused 1 1 0 0 0" in text_of(shown(owners))
    work.edit("a x", "b -")
    assert "Focused 1 0 0 0 1" in text_of(shown(owners))


def test_a_long_backlog_is_told(owners: Client, owner: User) -> None:
    for _number in range(102):
        Work(owner).write("a x").end()
    assert "2 conversations are still being counted" in shown(owners)
    assert "still being counted" not in shown(owners)


def test_a_stranger_sees_nothing_of_it(strangers: Client, owner: User) -> None:
    counted(owner, profile="secret-profile", lists=9)
    Work(owner).write("a x").end()
    for query in ("", "who=everybody", "who=everybody&by=profile"):
        assert "secret-profile" not in shown(strangers, query)
        assert "No turns ended in this period." in shown(strangers, query)
        assert rows_of(strangers, query) == []
    assert "All users" not in shown(strangers)
    assert PlanFigures.objects.count() == 1, "nor does their look count what is another's"


def test_staff_may_see_everybodys_sums(strangers: Client, stranger: User, owner: User) -> None:
    counted(owner, lists=2, seconds=[1.5], timed=1, reasons={"other": 1}, refused=1)
    counted(stranger, lists=1, seconds=[0.5], timed=1)
    User.objects.filter(pk=stranger.pk).update(is_staff=True)
    assert "Unfinished Focused 1 " in text_of(shown(strangers)), "their own, unless they ask"
    page = shown(strangers, "who=everybody&by=profile")
    assert "Unfinished Focused 3 " in text_of(page)
    assert "Private matters" not in page[page.index("<main") :]
    (row,) = rows_of(strangers, "who=everybody")
    assert (row["lists"], row["refused_because"], row["item_seconds"]) == ("3", "other 1", "0.5 1.5")
    assert "owner" not in str(row)


def test_the_file_has_every_figure(owners: Client, owner: User) -> None:
    counted(
        owner, 1, profile="=1+1", lists=2, finished=1, seconds=[2, 1.25], reasons={"other": 2, "call.cut": 1}
    )
    (row,) = rows_of(owners)
    yesterday = timezone.localdate() - datetime.timedelta(days=1)
    assert (row["day"], row["profile"], row["policy"]) == (str(yesterday), "'=1+1", "focused")
    assert (row["refused_because"], row["item_seconds"]) == ("call.cut 1; other 2", "1.25 2")
    assert {name: row[name] for name in COUNTS if row[name] != "0"} == {
        "turns": "1",
        "lists": "2",
        "finished": "1",
    }


def test_it_takes_as_many_queries_for_many(owners: Client, owner: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            shown(owners, "by=profile")
        return len(asked)

    counted(owner, lists=1, timed=1, seconds=[1])
    few = queries()
    for number in range(40):
        counted(owner, number % 28, profile=f"profile-{number}", lists=1, timed=1, seconds=[1])
    assert queries() == few
