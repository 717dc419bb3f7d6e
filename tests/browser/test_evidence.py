"""From a todo to where its work began, from its calls to their cards, and back to it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, is_folded, last_turn, panel, record, send, todo, unfold

WORDS = "A line of many that push the rest up.\n\n" * 60


@pytest.fixture(params=[1280, 390])
def page(scripted: Site, visitors: Visitors, request: pytest.FixtureRequest) -> Page:
    """At the end of a conversation in which one item has a call, and one was ticked with nothing done."""
    write = Reply(tool_calls=[("write_file", {"path": "note.txt", "content": "Hello\n"})])
    begun, between, done = (
        todo("in_progress", "pending"),
        todo("completed", "in_progress"),
        todo("completed", "completed"),
    )
    scripted.model.script(begun, write, between, done, Reply(text=WORDS))
    page = visitors.enter(scripted, viewport={"width": request.param, "height": 800})
    begin(page, "Do two things")
    at_rest(page)
    return page


def test_what_is_drawn_live_is_what_a_reload_shows(page: Page) -> None:
    is_folded(page)
    live = record(page)
    assert sum("no action recorded" in html for html in live) == 1
    page.reload()
    at_rest(page)
    assert record(page) == live


def test_from_a_todo_to_where_its_work_began(page: Page) -> None:
    panel(page).locator(".todo-panel__line").click()
    panel(page).locator(".todo__place").first.click()
    marker = page.locator(".todo-marker").first
    expect(marker).to_be_in_viewport()
    assert marker.evaluate("marker => marker.matches(':target')")
    assert page.evaluate("document.scrollingElement.scrollTop") == 0, "only the transcript moves"


def test_from_a_todo_to_its_calls_to_a_card_and_back(page: Page) -> None:
    panel(page).locator(".todo-panel__line").click()
    panel(page).get_by_role("link", name="no action recorded").click()
    expect(page).to_have_url(re.compile(r"/plan/#item-\w+$"))
    first = page.locator("#plan-stage .plan-line").first
    expect(page.locator("#plan-stage .plan-line").nth(1)).to_contain_text("no action recorded")
    first.locator("summary").click()
    expect(first).to_contain_text("1 call")
    first.get_by_role("link", name="write_file").click()
    card = page.locator("details.tool-call")
    expect(card).to_have_attribute("open", "")
    expect(card).to_be_in_viewport()
    card.get_by_role("link", name="Show in plan").click()
    expect(page).to_have_url(re.compile(r"/plan/\?revision=3&call=\d+#item-\w+$"))
    expect(first.locator("details")).to_have_attribute("open", "")
    expect(first.locator("[aria-current='true']")).to_contain_text("write_file")
    expect(first).to_be_in_viewport()


def test_a_card_of_a_later_turn_without_a_list_leads_to_no_plan(page: Page, scripted: Site) -> None:
    scripted.model.script(Reply(tool_calls=[("read_file", {"path": "."})]), Reply(text="That is it."))
    send(page, "And now?")
    at_rest(page)
    card = last_turn(page, "completed").locator("details.tool-call")
    card.locator("summary").click()
    expect(card.locator(".tool-call__inside")).to_be_visible()
    link = page.get_by_role("link", name="Show in plan", include_hidden=True)
    expect(link).to_have_count(2)
    expect(link.last).to_be_hidden()


def test_without_a_script_the_card_is_near(page: Page, scripted: Site, visitors: Visitors) -> None:
    card = page.locator("details.tool-call").get_attribute("id")
    plain = visitors.enter(scripted, java_script_enabled=False)
    plain.goto(f"{page.url}#{card}")
    expect(plain.locator(f"#{card}")).to_be_in_viewport()


def test_what_a_command_changed_is_told_in_its_card_and_under_its_item(
    scripted: Site, visitors: Visitors
) -> None:
    command = {"command": "mkdir 报告; echo sum > 报告/sum.txt; echo a > a.txt; rm note.txt"}
    write = Reply(tool_calls=[("write_file", {"path": "note.txt", "content": "Hello\n"})])
    begun, ran = todo("in_progress"), Reply(tool_calls=[("bash", command)])
    scripted.model.script(write, begun, ran, todo("completed"), Reply(text="Made."))
    page = visitors.enter(scripted)
    begin(page, "Write a report")
    at_rest(page)
    live = record(page)
    card = page.locator("details.tool-call[data-tool=bash]")
    unfold(page)
    card.locator("summary").click()
    expect(card.locator(".changed-files")).to_have_text("Changed: a.txt, note.txt, 报告/sum.txt")
    expect(card.locator(".changed-files del")).to_have_text("note.txt")
    page.reload()
    at_rest(page)
    assert record(page) == live
    page.goto(page.url.split("#")[0] + "plan/")
    item = page.locator("#plan-stage .plan-line").first
    expect(item.locator("summary")).to_contain_text("3 files")
    item.locator("summary").click()
    ends = "all => all.map(one => one.getBoundingClientRect().right)"
    [end] = page.locator("#plan-stage").evaluate_all(ends)
    assert max(item.locator(".timeline__outcome").evaluate_all(ends)) < end
    item.get_by_role("link", name="报告/sum.txt", exact=True).click()
    expect(page.locator("main")).to_contain_text("sum")
