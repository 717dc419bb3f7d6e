"""The context meter, conversation totals, and a turn's usage line."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.template.loader import render_to_string

from chat.live.context_meter import context_meter_of
from chat.live.usage_text import format_duration, grouped, money, tokens, usage_line, usage_of
from chat.models import Conversation, ModelSettings, SideCall, Step, Turn


@pytest.fixture
def turn(owner: Any) -> Turn:
    return Conversation.begin(owner, "Look around", uuid.uuid4(), None).turns.get()


def step(turn: Turn, number: int = 1, **more: Any) -> Step:
    usual = {
        "endpoint": "https://api.openai.com/v1",
        "model": "gpt-4o",
        "input_tokens": 900,
        "output_tokens": 60,
    }
    return Step.objects.create(turn=turn, number=number, **{**usual, **more})


def meter_html(conversation: Conversation) -> str:
    return render_to_string("partials/_context_meter.html", {"meter": context_meter_of(conversation)})


def test_there_is_none_before_the_first_request(turn: Turn) -> None:
    assert context_meter_of(turn.conversation) is None
    assert "<button" not in meter_html(turn.conversation)


def test_it_tells_of_the_latest_request(turn: Turn) -> None:
    step(turn, 1, input_tokens=100_000)
    step(turn, 2, input_tokens=31_000, output_tokens=1000)
    step(turn, 3, input_tokens=0, output_tokens=0)  # one that was refused
    meter = context_meter_of(turn.conversation)
    assert meter
    assert (meter.used, meter.window, meter.percent, meter.level) == (32_000, 128_000, 25, "low")
    assert meter.totals.input_tokens == 131_000
    html = meter_html(turn.conversation)
    assert "32,000 of 128,000 tokens (gpt-4o)" in html
    assert 'stroke-dasharray="25 100"' in html


@pytest.mark.parametrize(("used", "level"), [(700, "low"), (1000, "high"), (1260, "full"), (5000, "full")])
def test_it_warns_when_little_is_left(turn: Turn, used: int, level: str) -> None:
    ModelSettings.objects.create(model="gpt-4o", traits={"context_window": 1400})
    step(turn, input_tokens=used, output_tokens=0)
    meter = context_meter_of(turn.conversation)
    assert meter
    assert meter.level == level
    assert meter.percent <= 100


def test_a_window_that_is_not_known_is_not_made_up(turn: Turn) -> None:
    step(turn, endpoint="https://models.example.com/v1", model="homemade", estimated=True)
    html = meter_html(turn.conversation)
    assert "~960 tokens; context size of homemade unknown." in " ".join(html.split()).replace("~ ", "~")
    assert 'data-level="unknown"' in html
    assert "%" not in html


def test_a_persons_settings_come_before_what_was_learned(turn: Turn) -> None:
    row = ModelSettings.objects.create(model="gpt-4o", learned={"context_window": 5000})
    step(turn)
    meter = context_meter_of(turn.conversation)
    assert meter
    assert meter.window == 5000
    row.traits = {"context_window": 8000}
    row.save()
    meter = context_meter_of(turn.conversation)
    assert meter
    assert meter.window == 8000


def ended(turn: Turn, seconds: float) -> Turn:
    began = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    Turn.objects.filter(pk=turn.pk).update(
        status="completed", started_at=began, ended_at=began + datetime.timedelta(seconds=seconds)
    )
    return Turn.with_rows().get(pk=turn.pk)


def test_a_turn_tells_what_it_took(turn: Turn) -> None:
    step(turn, 1, cost=Decimal("0.0012"), currency="USD")
    step(turn, 2, cost=Decimal("0.0018"), currency="USD", estimated=True)
    SideCall.objects.create(turn=turn, purpose="summary", input_tokens=40, output_tokens=10)
    SideCall.objects.create(turn=turn, purpose="title", input_tokens=70, output_tokens=3)
    turn = ended(turn, 75)
    usage = usage_of(turn)
    assert (usage.totals.input_tokens, usage.totals.output_tokens, usage.seconds) == (1840, 130, 75)
    html = " ".join(render_to_string("partials/_turn_usage.html", {"turn": turn}).split())
    assert 'title="estimated">~1.8k tokens in, ~130 out</span><span><abbr' in html
    assert ">≥</abbr> 0.0030 USD</span><span>1 min 15 s</span>" in html, "the summary had no price"
    assert usage_line(usage) == "~1.8k tokens in, ~130 out · ≥ 0.0030 USD · 1 min 15 s"
    assert html.count('<th scope="row">') == 3
    assert '<th scope="row">Summary</th>' in html


def test_a_cost_says_whether_it_is_all(turn: Turn) -> None:
    step(turn, 1, cost=Decimal("0.0012"), currency="USD")
    assert "0.0012 USD" in meter_html(turn.conversation)
    assert "≥" not in meter_html(turn.conversation)
    assert usage_line(usage_of(ended(turn, 75))) == "900 tokens in, 60 out · 0.0012 USD · 1 min 15 s"
    step(turn, 2)
    html = meter_html(turn.conversation)
    assert ">≥</abbr> 0.0012 USD" in html
    assert "≥ marks costs without the calls of models that had no price." in html


def test_a_turn_that_took_nothing_tells_nothing(turn: Turn) -> None:
    turn = ended(turn, 1)
    assert "turn-usage" not in render_to_string("partials/_turn_end.html", {"turn": turn})


def test_the_time_for_which_the_person_was_asked_is_not_the_agents(turn: Turn) -> None:
    asked = datetime.datetime(2026, 1, 1, 0, 0, 10, tzinfo=datetime.UTC)
    turn.tool_calls.create(
        step=step(turn), index=0, call_id="c", name="bash", decision="once",
        asked_at=asked, decided_at=asked + datetime.timedelta(seconds=30),
    )  # fmt: skip
    assert usage_of(ended(turn, 50)).seconds == 20


@pytest.mark.parametrize(
    ("count", "short"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (1234, "1.2k"), (9949, "9.9k"), (9951, "10k"), (34_400, "34k"),
     (999_499, "999k"), (999_600, "1.0M"), (1_250_000, "1.2M"), (43_000_000, "43M")],
)  # fmt: skip
def test_counts_are_short(count: int, short: str) -> None:
    assert tokens(count) == short


@pytest.mark.parametrize(
    ("cost", "short"),
    [("0", "0.00"), ("12.345", "12.35"), ("1234.5", "1,234.50"), ("0.1", "0.10"), ("0.036", "0.036"),
     ("0.00312", "0.0031"), ("0.00000001", "0.00000001"), ("0.999", "1.00")],
)  # fmt: skip
def test_small_amounts_are_told_from_nothing(cost: str, short: str) -> None:
    assert money(Decimal(cost)) == short


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.42, "0.4 s"), (12.3, "12 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s")]
)
def test_times_are_words(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


def test_counts_have_groups() -> None:
    assert grouped(1234567) == "1,234,567"
