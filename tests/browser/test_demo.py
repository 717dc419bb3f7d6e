"""The typical scenario with the demo: a list of five, a question at the third, an answer, all done."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, is_folded, is_open, last_turn, panel, record, send


def test_refactor_these_five_files(demo: Site, visitors: Visitors) -> None:
    page = visitors.enter(demo)
    begin(page, "Refactor these five files")
    is_open(page)
    expect(panel(page)).to_have_attribute("data-total", "5")
    expect(page.locator("#todo-panel .todo")).to_have_count(5)
    at_rest(page)
    is_folded(page)
    expect(last_turn(page, "completed")).to_contain_text("?")
    assert panel(page).get_attribute("data-done") == "2"
    assert panel(page).get_attribute("data-total") == "5"
    expect(panel(page).locator("summary")).to_contain_text("2/5")
    expect(page.locator("#todo-panel [data-interrupted]")).to_have_count(0)

    send(page, "keep the new version")
    is_open(page)
    at_rest(page)
    is_folded(page)
    assert panel(page).get_attribute("data-done") == "5"
    expect(panel(page).locator("summary")).to_contain_text("5/5")
    last_turn(page, "completed")

    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live
