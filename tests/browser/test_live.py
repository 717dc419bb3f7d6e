"""The live page: reload, second tab, a cut line, a killed server. All of them end as the record."""

from __future__ import annotations

import threading

from playwright.sync_api import Browser, Page, expect

from chat.demo.reply import Reply
from tests.browser.line import Line
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    another_tab,
    at_rest,
    begin,
    is_folded,
    is_open,
    last_turn,
    record,
    send,
    todo,
    turns,
)
from tests.model_server import ScriptedModel
from tests.serving import serving

PARAGRAPHS = "\n\n".join(
    f"Paragraph {n} with **bold**, `code` and [a link](https://example.org/)." for n in range(9)
)
LOST = "#connection[data-state='reconnecting']"


def ends_as_the_record(page: Page) -> None:
    """What the page shows when all is quiet is what a fresh load shows."""
    at_rest(page)
    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live


def test_reload_and_second_tab_in_the_middle(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    look = Reply(text="I look.", tool_calls=[("read_file", {"path": "."})])
    writing = Reply(text=PARAGRAPHS, piece=7, stall_after=60, gate=gate)
    scripted.model.script(todo("in_progress", "pending"), look, writing)
    page = visitors.enter(scripted)
    begin(page, "Tell me something")
    expect(page.locator("#transcript")).to_contain_text("Paragraph 4")
    page.reload()
    expect(page.locator("#transcript")).to_contain_text("Paragraph 4")
    is_open(page)
    second = another_tab(page)
    expect(second.locator("#transcript")).to_contain_text("Paragraph 4")
    gate.set()
    for tab in (page, second):
        expect(tab.locator("#transcript")).to_contain_text("Paragraph 8")
        at_rest(tab)
        is_folded(tab)
    assert record(page) == record(second)
    ends_as_the_record(page)


def test_a_message_of_one_tab_is_seen_in_the_other(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="One."), Reply(text="Two."))
    page = visitors.enter(scripted)
    address = begin(page, "first")
    second = page.context.new_page()
    second.goto(address)
    at_rest(second)
    send(page, "second")
    last_turn(second, "completed")
    expect(last_turn(second)).to_contain_text("Two.")
    at_rest(page)
    assert record(page) == record(second)


def test_a_cut_line_leaves_no_hole(scripted: Site, visitors: Visitors, line: Line) -> None:
    gates = [threading.Event(), threading.Event()]
    scripted.model.script(
        todo("in_progress", "pending"),
        Reply(text="Before.\n\nDuring.\n\nAfter.", piece=9, stall_after=2, gate=gates[0]),
    )
    scripted.model.script(Reply(text="Once more.", stall_after=1, gate=gates[1]))
    page = visitors.enter(scripted, address=line.address)
    begin(page, "Tell me something")
    expect(page.locator("#transcript")).to_contain_text("Before.")
    line.cut()
    page.wait_for_selector(LOST)
    expect(page.locator(".connection__lost")).to_be_visible()
    gates[0].set()
    line.mend()
    at_rest(page)
    expect(page.locator("#transcript")).to_contain_text("Before. During. After.")
    is_folded(page)
    send(page, "again")
    gates[1].set()
    ends_as_the_record(page)


def test_a_turn_outlives_its_server(browser: Browser, visitors: Visitors) -> None:
    """Killed in the middle, then stopped in good order: the open page sees the turn to its end."""
    gate = threading.Event()
    with ScriptedModel() as model, serving(OPENAI_BASE_URL=model.base_url) as served:
        model.script(todo("in_progress", "pending"), endless("I begin"), endless("I begin anew"))
        with Line(served.port) as line:
            page = visitors.enter(Site(served, browser), address=line.address)
            begin(page, "Work")
            expect(page.locator("#transcript")).to_contain_text("I begin")
            for end, text in ((served.kill, "I begin anew"), (served.stop, "Now I")):
                line.cut()
                end()
                page.wait_for_selector(LOST)
                served.start()
                line.mend()
                page.wait_for_selector(LIVE)
                expect(page.locator("#transcript")).to_contain_text(text)
                is_open(page)
                model.script(Reply(text="Now I end.", piece=5, stall_after=2, gate=gate))
            gate.set()
            expect(last_turn(page, "completed")).to_contain_text("Now I end.")
            expect(turns(page)).to_have_count(1)
            expect(last_turn(page)).not_to_contain_text("I begin")
            is_folded(page)
            ends_as_the_record(page)
            page.close()


def endless(text: str) -> Reply:
    """A reply that stays open after its text."""
    return Reply(text=text, piece=len(text), stall_after=2)
