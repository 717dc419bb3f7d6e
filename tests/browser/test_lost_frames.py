"""Tabs of a real browser, on a channel layer that drops, doubles and reorders messages, show the record."""

from __future__ import annotations

import difflib
import statistics
import threading
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import bare, begin, todo, until
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
