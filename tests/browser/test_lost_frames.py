"""Tabs of a real browser, on a channel layer that drops, doubles and reorders messages, show the record."""

from __future__ import annotations

import difflib
import re
import statistics
import threading
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, bare, begin, choose_profile, todo, until
from tests.faults.conftest import SOAK
from tests.model_server import ScriptedModel
from tests.serving import serving

TABS = 20 if SOAK else 3
SURELY = 30.0  # seconds, also on a busy machine; ten are promised
TEXT = "A paragraph with **bold** and `code`.\n\n" * 5
LOOK = [("read_file", {"path": "."})]


@pytest.fixture
def lossy(browser: Browser) -> Iterator[Site]:
    surroundings = {"DJANGO_SETTINGS_MODULE": "tests.faults.lossy_settings", "LOSSY": "browser"}
    with (
        ScriptedModel() as model,
        serving(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted", **surroundings) as served,
    ):
        site = Site(served, browser)
        site.model = model
        yield site


def shown(page: Page) -> list[str]:
    """Turns, panel, held messages and state, without what htmx adds, a user unfolds, or nobody sees."""
    script = "all => all.map(one => one.id == 'conversation' ? one.dataset.status : one.outerHTML)"
    drawn = page.locator("#conversation, article.turn, #todo-panel, #follow-ups").evaluate_all(script)
    return [bare(html) for html in drawn]


def heal(tabs: list[Page], fresh: Page) -> list[float]:
    """How long each tab takes to show what a fresh load does."""
    began = time.monotonic()
    times: dict[Page, float] = {}

    def look() -> bool:
        fresh.reload(wait_until="commit")
        expected = shown_at_once(fresh)
        for tab in tabs:
            if tab not in times and shown(tab) == expected:
                times[tab] = time.monotonic() - began
        late = [tab for tab in tabs if tab not in times]
        assert not late or time.monotonic() - began < SURELY, difference(expected, shown(late[0]))
        return not late

    until(fresh, look)
    return list(times.values())


def difference(expected: list[str], drawn: list[str]) -> str:
    lines = ("\n".join(each).replace("><", ">\n<").splitlines() for each in (expected, drawn))
    return "\n".join(difflib.unified_diff(*lines, "record", "tab", n=1))


def shown_at_once(fresh: Page) -> list[str]:
    """The record: a page without script shows no more than that."""
    fresh.wait_for_load_state("domcontentloaded")
    return shown(fresh)


def test_tabs_heal(lossy: Site, visitors: Visitors) -> None:
    gates = [threading.Event(), threading.Event()]
    lossy.model.script(
        todo("in_progress", "pending"),
        Reply(text="I look.", tool_calls=LOOK, stall_after=1, gate=gates[0]),
        Reply(text=TEXT, piece=5, delay=0.02, stall_after=20, gate=gates[1], tool_calls=LOOK),
        Reply(text="Done."),
    )
    page = visitors.enter(lossy)
    at = begin(page, "Work")
    fresh = visitors.enter(lossy, java_script_enabled=False)
    fresh.goto(at)
    tabs = [page, *(page.context.new_page() for _ in range(TABS - 1))]
    for tab in tabs[1:]:
        tab.goto(page.url)
    times = heal(tabs, fresh)
    gates[0].set()
    expect(tabs[-1].locator("#transcript")).to_contain_text("A paragraph")
    page.fill("#composer-text", "And this")
    page.press("#composer-text", "Enter")
    expect(page.locator("#composer-text")).to_have_value("")
    times += heal(tabs, fresh)
    for tab in tabs:
        expect(tab.locator("#conversation[data-status='running'] .follow-up")).to_have_count(1)
    gates[1].set()
    expect(page.locator("#transcript")).to_contain_text("Done.")
    times += heal(tabs, fresh)
    for tab in tabs:
        expect(tab.locator("#conversation[data-status='idle'] #connection[data-state='live']")).to_have_count(
            1
        )
    print(f"healed in a browser: p50 {statistics.median(times):.2f} s, max {max(times):.2f} s")  # noqa: T201


ACCEPTED = re.compile(r"<!--[\d.]+ panel [1-9]")  # a frame with a list that is recorded
FIRST_OF_CLAIM = re.compile(r"<!--\d+\.\d+\.1 after ")


def lose_the_list(page: Page, until_frame: re.Pattern[str]) -> list[str]:
    """Lose the frame with the recorded list and those behind it, up to one that draws the whole turn.

    And every heartbeat: what this frame leaves out is to be asked for at once. Returns what was lost.
    """
    lost: list[str] = []
    is_over: list[str] = []

    def join(route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        route.on_message(lambda text: None if '"heartbeat"' in str(text) else server.send(text))

        def forward(text: str | bytes) -> None:
            frame = str(text)
            if lost and until_frame.match(frame):
                is_over.append(frame)
            if not is_over and (lost or ACCEPTED.match(frame)) and frame.startswith("<!--"):
                lost.append(frame)
            else:
                route.send(text)

        server.on_message(forward)

    page.route_web_socket("**/ws/**", join)
    return lost


def test_the_list_is_true_where_a_frame_draws_the_whole_turn_over_a_gap(
    scripted: Site, visitors: Visitors
) -> None:
    gates = [threading.Event() for _ in range(3)]
    scripted.model.script(
        todo("in_progress", "pending", stall_after=1, gate=gates[0]),
        Reply(text="I look.", tool_calls=LOOK, piece=2, stall_after=3, gate=gates[1]),
        Reply(text="I go on.", piece=2, stall_after=3, gate=gates[2]),
    )
    page = visitors.enter(scripted)
    lost = lose_the_list(page, re.compile(r"<!--[\d.]+ after "))
    at = begin(page, "Work")
    gates[0].set()
    until(page, lambda: lost)
    other = visitors.enter(scripted)
    other.goto(at)
    other.fill("#composer-text", "And this")
    other.press("#composer-text", "Enter")
    expect(other.locator(".follow-up")).to_have_count(1)
    gates[1].set()  # the message joins the turn, which is drawn whole
    try:
        expect(page.locator("#transcript")).to_contain_text("And this")
        expect(page.locator("#todo-panel[data-total='2']:not([data-draft])")).to_have_count(1)
    finally:
        gates[2].set()
    at_rest(page)


def test_the_list_is_true_where_another_worker_goes_on(scripted: Site, visitors: Visitors) -> None:
    gates = [threading.Event() for _ in range(2)]
    scripted.model.script(
        todo("in_progress", "pending", stall_after=1, gate=gates[0]),
        Reply(tool_calls=[("bash", {"command": "true"})]),
        Reply(text="I go on.", piece=2, stall_after=3, gate=gates[1]),
    )
    page = visitors.enter(scripted)
    lost = lose_the_list(page, FIRST_OF_CLAIM)
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "Work")
    page.press("#composer-text", "Enter")
    page.wait_for_selector(LIVE)
    gates[0].set()
    until(page, lambda: lost)
    other = visitors.enter(scripted)
    other.goto(page.url)
    other.get_by_role("button", name="Allow once").click()  # the turn is claimed again
    try:
        expect(page.locator("#transcript")).to_contain_text("I ")
        expect(page.locator("#todo-panel[data-total='2']:not([data-draft])")).to_have_count(1)
    finally:
        gates[1].set()
    at_rest(page)
