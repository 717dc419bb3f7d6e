"""The page of usage: its sums, its chart, its file, and whose they are."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import re
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.formats import date_format

from chat.models import Connection, DailyUsage, Preferences, Profile, Reader
from chat.pages.settings.usage import COLOURS, report_of
from chat.pages.settings.usage_chart import HEIGHT, chart_of

PAGE = "/settings/usage/"
FILE = "/settings/usage/usage.csv"
RECT = re.compile(r'<rect data-colour="(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/>')


def used(owner: User, back: int = 0, **changes: Any) -> DailyUsage:
    """Usage some days ago."""
    day = timezone.localdate() - datetime.timedelta(days=back)
    usual = {
        "day": day,
        "model": "gpt-5",
        "profile": "Focused",
        "calls": 2,
        "input_tokens": 1000,
        "output_tokens": 500,
    }
    return DailyUsage.objects.create(owner=owner, **{**usual, **changes})


def text_of(page: str) -> str:
    """The visible text, on one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", page[page.index("<main") : page.index("</main>")]).split())


def shown(browser: Client, query: str = "") -> str:
    response = browser.get(f"{PAGE}?{query}")
    assert response.status_code == 200
    return response.content.decode()


def rows_of(browser: Client, query: str = "") -> list[dict[str, str]]:
    """The lines of the file, by the names of its columns."""
    response = browser.get(f"{FILE}?{query}")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    content = response.getvalue()
    assert content.startswith(codecs.BOM_UTF8)
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def test_a_page_without_usage_says_so(owners: Client) -> None:
    assert "No usage in this period." in shown(owners)


def test_it_sums_what_was_used(owners: Client, owner: User) -> None:
    used(owner, input_tokens=1200, cached_tokens=200, cost=Decimal("0.25"), currency="USD")
    used(owner, 3, input_tokens=800, cost=Decimal("1.5"), currency="USD")
    used(owner, 3, model="qwen", input_tokens=20, output_tokens=5, estimated_calls=1)
    text = text_of(shown(owners))
    assert "Model Calls In Cached Out Thinking Cost gpt-5 4 2,000 200 1,000 0 1.75 USD" in text
    assert "qwen 2 ~20 0 ~5 0" in text
    assert "Total 6 ~2,020 200 ~1,005 0 ≥ 1.75 USD" in text
    assert " 1,700 0 1,700 0.25 USD" in text
    assert " 1,300 ~25 ~1,325 ≥ 1.50 USD" in text
    assert "some calls were cut off" in text
    assert "≥ marks costs without the calls of models that had no price." in text
    DailyUsage.objects.filter(model="qwen").delete()
    assert "≥" not in shown(owners)
    assert "Costs are counted" not in shown(owners)
    DailyUsage.objects.update(cost=0, currency="")
    assert "Costs are counted from when a model has prices" in text_of(shown(owners))


def test_models_of_one_name_are_told_apart_by_their_connections(owners: Client, owner: User) -> None:
    Connection.objects.create(owner=owner, name="Mine", base_url="https://mine.example/v1/")
    stranger = User.objects.create_user("other")
    Connection.objects.create(owner=stranger, name="Secret", base_url="https://else.example/v1")
    used(owner, endpoint="https://mine.example/v1", input_tokens=2000)
    used(owner, endpoint="https://else.example/v1")
    used(owner, model="qwen", endpoint="https://else.example/v1")
    text = text_of(shown(owners))
    assert "gpt-5 (Mine) 2 2,000" in text
    assert "gpt-5 (https://else.example/v1) 2 1,000" in text
    assert "qwen 2 1,000" in text
    assert "Secret" not in text


def test_days_are_those_of_the_user(owners: Client, owner: User) -> None:
    ahead, behind = ("Pacific/Kiritimati", "Pacific/Pago_Pago")  # never on the same day
    used(owner, day=Reader("en", ahead).today())
    Preferences.objects.update_or_create(user=owner, defaults={"time_zone": behind})
    text = text_of(shown(owners, "days=7"))
    assert "gpt-5 2 1,000" in text, "what was used in another time zone's tomorrow counts today"
    assert f"Days are in {behind}, or in the time zone that you had then." in text
    Preferences.objects.update_or_create(user=owner, defaults={"time_zone": ahead})
    assert f"Days are in {ahead}, or" in text_of(shown(owners))


def test_currencies_are_never_added_up(owners: Client, owner: User) -> None:
    used(owner, cost=Decimal(1), currency="EUR")
    used(owner, cost=Decimal(2), currency="USD")
    used(owner, cost=Decimal(0))
    text = text_of(shown(owners))
    assert "Cost ≥ 1.00 EUR ≥ 2.00 USD" in text
    assert "3.00" not in text


def test_it_is_told_by_profile_too(owners: Client, owner: User) -> None:
    used(owner, profile="Focused")
    used(owner, profile="Lean", model="qwen")
    text = text_of(shown(owners, "by=profile"))
    assert "Focused 2 1,000" in text
    assert "Lean 2 1,000" in text
    assert "qwen" not in text


def keys_of(page: str) -> list[tuple[str, str]]:
    """The colour and the name of each line of the first table."""
    table = page[page.index("<tbody") : page.index("</tbody>")]
    return re.findall(r'class="usage-key" data-colour="(\w+)"[^>]*></span>([^<]*)<', table)


def profiles_with_colours(owner: User) -> None:
    """The profiles of two users: two of one colour, one of a colour that models do not have."""
    given = {"First": "blue", "Second": "blue", "Third": "pink", "Fourth": "grey"}
    for title, colour in given.items():
        Profile.objects.create(owner=owner, title=title, colour=colour, position=1)
    other = User.objects.create_user("other")
    Profile.objects.create(owner=other, title="First", colour="red", position=0)
    Profile.objects.create(owner=other, title="Theirs", colour="violet")


COLOURS_OF_LINES = [
    *(("teal", "Gone"), ("blue", "First"), ("amber", "Second")),
    *(("pink", "Third"), ("grey", "Fourth"), ("violet", "Theirs")),
]


def test_profiles_have_their_colours_in_it(owners: Client, owner: User) -> None:
    profiles_with_colours(owner)
    for number, (_colour, title) in enumerate(COLOURS_OF_LINES):
        used(owner, profile=title, input_tokens=1000 - number)
    page = shown(owners, "by=profile")
    assert keys_of(page) == COLOURS_OF_LINES, "Theirs has the next free colour, which is its own too"
    assert [colour for colour, *_place in RECT.findall(page)] == [
        colour for colour, _name in COLOURS_OF_LINES
    ]
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    assert keys_of(shown(owners, "by=profile&who=everybody")) == COLOURS_OF_LINES
    DailyUsage.objects.filter(profile="Gone").delete()
    assert keys_of(shown(owners, "by=profile"))[:2] == [("blue", "First"), ("teal", "Second")]
    assert keys_of(shown(owners)) == [("teal", "gpt-5")]


def test_of_many_profiles_the_rest_is_grey(owner: User) -> None:
    own = {"profile-1": "grey", "profile-2": "teal", "profile-8": "pink"}
    for number in range(9):
        used(owner, profile=f"profile-{number}", input_tokens=1000 - number)
    report = report_of(DailyUsage.objects.all(), "profile", timezone.localdate(), 7, colours=own)
    colours = ["blue", "amber", "teal", "violet", "red", "green", "pink", "grey", "grey"]
    assert [line.colour for line in report.lines] == colours
    assert [line.name for line in report.shown][-2:] == ["profile-6", "Others"]
    DailyUsage.objects.filter(profile="profile-8").delete()
    report = report_of(DailyUsage.objects.all(), "profile", timezone.localdate(), 7, colours=own)
    assert [line.colour for line in report.shown][:3] == ["blue", "grey", "teal"]
    assert [line.name for line in report.shown] == [f"profile-{number}" for number in range(8)]


@pytest.mark.parametrize(("days", "calls"), [("7", 1), ("30", 3), ("90", 7), ("", 3), ("-1", 3), ("x", 3)])
def test_the_days_can_be_chosen(owners: Client, owner: User, days: str, calls: int) -> None:
    for back, count in ((6, 1), (29, 2), (89, 4), (90, 8)):
        used(owner, back, calls=count)
    assert f"Total {calls} " in text_of(shown(owners, f"days={days}"))
    assert sum(int(row["calls"]) for row in rows_of(owners, f"days={days}")) == calls


def test_a_days_bar_is_as_high_as_its_tokens(owners: Client, owner: User) -> None:
    used(owner, 0, input_tokens=3000, output_tokens=1000)
    used(owner, 0, model="qwen", input_tokens=900, output_tokens=100)
    used(owner, 1, input_tokens=2000, output_tokens=0)
    pieces = [(colour, float(y), float(height)) for colour, _x, y, _w, height in RECT.findall(shown(owners))]
    # The scale ends with 6,000: a day with 5,000 takes five sixths.
    yesterday, most, rest = pieces
    assert yesterday == ("teal", pytest.approx(HEIGHT * 2 / 3, abs=0.02), pytest.approx(HEIGHT / 3, abs=0.02))
    assert most == ("teal", pytest.approx(HEIGHT / 3, abs=0.02), pytest.approx(HEIGHT * 2 / 3, abs=0.02))
    assert rest == ("blue", pytest.approx(HEIGHT / 6, abs=0.02), pytest.approx(HEIGHT / 6, abs=0.02))


def test_the_chart_says_its_numbers(owners: Client, owner: User) -> None:
    used(owner, 0, input_tokens=3000, output_tokens=1000)
    page = shown(owners)
    today = timezone.localdate()
    title = re.search(rf"<title>{today.day} {today:%b}: [^<]*</title>", page)
    assert title
    assert "4,000" in title[0]
    assert "gpt-5: 4,000" in title[0]
    assert f'<th scope="row">{date_format(today)}</th>' in page, "and so does the table of days"


def test_it_draws_costs_too(owners: Client, owner: User) -> None:
    used(owner, cost=Decimal("0.5"), currency="USD")
    used(owner, model="qwen", input_tokens=10**6)
    page = shown(owners, "of=USD")
    assert len(RECT.findall(page)) == 1, "what has no price is not in it"
    assert "Cost by day in USD" in page
    assert len(RECT.findall(shown(owners, "of=XXX"))) == 2, "a currency that there is not is as none"


def test_many_models_share_the_last_colour(owner: User) -> None:
    for number in range(len(COLOURS) + 3):
        used(owner, model=f"model-{number}", input_tokens=1000 - number)
    report = report_of(DailyUsage.objects.all(), "model", timezone.localdate(), 7)
    assert [line.name for line in report.lines] == [f"model-{number}" for number in range(len(COLOURS) + 3)]
    assert [line.colour for line in report.shown] == [*COLOURS, "grey"]
    assert report.shown[-1].totals.input_tokens == 994 + 993 + 992
    assert sum((line.totals.input_tokens for line in report.shown), 0) == report.totals.input_tokens


@pytest.mark.parametrize("most", [1, 3, 7, 12, 999, 1_000, 81_234, 2_000_001])
def test_the_scale_has_room_for_the_highest_bar(owner: User, most: int) -> None:
    used(owner, input_tokens=most, output_tokens=0)
    report = report_of(DailyUsage.objects.all(), "model", timezone.localdate(), 7)
    chart = chart_of(report)
    assert chart.scale[0] >= most
    assert chart.scale[0] <= 2 * most or most == 1
    assert len(chart.scale) == 5
    assert chart.scale[-1] == 0


def test_a_stranger_sees_nothing_of_it(strangers: Client, stranger: User, owner: User) -> None:
    used(owner, model="secret-model")
    for query in ("", "who=everybody", "who=everybody&by=person"):
        assert "secret-model" not in shown(strangers, query)
        assert "No usage in this period" in shown(strangers, query)
        assert rows_of(strangers, query) == []
    assert "By user" not in shown(strangers)


def test_staff_may_see_everybodys(strangers: Client, stranger: User, owner: User) -> None:
    used(owner, model="theirs", profile="Theirs")
    used(stranger, model="mine")
    User.objects.filter(pk=stranger.pk).update(is_staff=True)
    assert "theirs" not in shown(strangers), "not unless they ask"
    everybody = text_of(shown(strangers, "who=everybody&by=person"))
    assert "owner 2 1,000" in everybody
    assert "stranger 2 1,000" in everybody
    assert {row["person"] for row in rows_of(strangers, "who=everybody")} == {"owner", "stranger"}
    assert {row["person"] for row in rows_of(strangers)} == {"stranger"}


def test_the_file_has_every_number(owners: Client, owner: User) -> None:
    used(owner, 1, endpoint="https://api.example.com/v1", cached_tokens=7, reasoning_tokens=9,
         estimated_calls=1, cost=Decimal("0.00012345"), currency="USD")  # fmt: skip
    (row,) = rows_of(owners)
    yesterday = timezone.localdate() - datetime.timedelta(days=1)
    assert row == {
        "day": str(yesterday),
        "person": "owner",
        "endpoint": "https://api.example.com/v1",
        "model": "gpt-5",
        "profile": "Focused",
        "calls": "2",
        "estimated_calls": "1",
        "input_tokens": "1000",
        "output_tokens": "500",
        "cached_tokens": "7",
        "reasoning_tokens": "9",
        "cost": "0.00012345",
        "currency": "USD",
    }


def test_what_cost_nothing_has_a_plain_zero_in_the_file(owners: Client, owner: User) -> None:
    used(owner)
    assert [row["cost"] for row in rows_of(owners)] == ["0.00000000"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_no_name_in_the_file_is_a_formula(owners: Client, owner: User, name: str) -> None:
    used(owner, model=name)
    (row,) = rows_of(owners)
    assert row["model"] == f"'{name}"


def test_names_are_shown_as_they_are(owners: Client, owner: User) -> None:
    used(owner, model="<script>alert(1)</script>")
    page = shown(owners)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_it_takes_few_queries(owners: Client, owner: User, django_assert_max_num_queries: Any) -> None:
    for number in range(40):
        used(owner, number % 28, model=f"model-{number}")
    with django_assert_max_num_queries(7):
        shown(owners)
