"""The todo panel: it fills while the list is written, and a user's own fold is obeyed."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.line import Line
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    TOPMOST,
    at_rest,
    begin,
    is_folded,
    is_open,
    last_turn,
    panel,
    send,
    todo,
    until,
)

FOUR = ["in_progress", "pending", "pending", "pending"]


def fold(page: Page) -> None:
    """Click the panel's line, as a user does."""
    panel(page).locator("summary").click()


def held(page: Page, scripted: Site, *replies: Reply) -> threading.Event:
    """A turn whose panel stands open until the event is set; then come the replies."""
    gate = threading.Event()
    scripted.model.script(
        todo(*FOUR), Reply(text="I work", stall_after=2, gate=gate, tool_calls=[("bash", {})])
    )
    scripted.model.script(*replies)
    begin(page, "Work")
    is_open(page)
    expect(page.locator("#transcript")).to_contain_text("I work")
    return gate


def test_it_fills_while_the_list_is_written(scripted: Site, visitors: Visitors) -> None:
    """The model falls silent in the middle of its arguments; what it has written so far is there."""
    gate = threading.Event()
    scripted.model.script(
        Reply(text="Yes?"), todo(*FOUR, piece=20, stall_after=6, gate=gate), Reply(text="Done.")
    )
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    expect(panel(page)).to_have_count(0)
    send(page, "Plan")
    is_open(page)
    first = page.locator("#todo-panel .todo").first
    expect(first).to_have_attribute("data-status", "in_progress")
    expect(first).to_contain_text("Doing 1")
    assert page.locator("#todo-panel .todo").count() < 4
    gate.set()
    at_rest(page)
    is_folded(page)
    expect(page.locator("#todo-panel .todo")).to_have_count(4)
    expect(panel(page).locator("summary")).to_contain_text("0/4")
    fold(page)
    is_open(page)
    expect(first).to_contain_text("Item 1")


def test_a_person_who_folds_it_is_obeyed_until_the_turn_ends(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    done = todo("completed", "in_progress", "pending", "pending")
    last = threading.Event()
    again = Reply(text="Again.", stall_after=1, gate=last)
    gate = held(page, scripted, done, Reply(text="That was it."), todo(*FOUR), again)
    fold(page)
    is_folded(page)
    page.reload()
    page.wait_for_selector(LIVE)
    is_folded(page)
    gate.set()
    expect(panel(page)).to_have_attribute("data-done", "1")
    is_folded(page)
    last_turn(page, "completed")
    send(page, "once more")
    is_open(page)
    last.set()
    at_rest(page)
    is_folded(page)


def test_a_fold_outlives_a_cut_line(scripted: Site, visitors: Visitors, line: Line) -> None:
    page = visitors.enter(scripted, address=line.address)
    gate = threading.Event()
    more = Reply(text="Still at it", stall_after=2, gate=gate)
    first = held(page, scripted, todo("completed", "in_progress", "pending", "pending"), more)
    fold(page)
    is_folded(page)
    line.cut()
    page.wait_for_selector("#connection[data-state='reconnecting']")
    first.set()
    line.mend()
    page.wait_for_selector(LIVE)
    expect(panel(page)).to_have_attribute("data-done", "1")
    expect(page.locator("#transcript")).to_contain_text("Still at it")
    is_folded(page)
    gate.set()
    at_rest(page)
    is_folded(page)


def test_a_refused_list_leaves_the_last_one(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    gate = held(page, scripted, todo("in_progress", "in_progress"), Reply(text="I see."))
    gate.set()
    at_rest(page)
    marker = page.locator(".todo-marker[data-status='failed']")
    expect(marker.get_by_text("Only one task can be in_progress at a time")).to_be_hidden()
    marker.get_by_text("To-do update rejected").click()
    expect(marker.get_by_text("Only one task can be in_progress at a time")).to_be_visible()
    expect(page.locator("#todo-panel .todo")).to_have_count(4)


@pytest.mark.parametrize("size", [(960, 600), (1024, 576), (1280, 690)])
def test_in_a_low_window_nothing_is_cut_off(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    """As of a laptop at 150 %."""
    page = visitors.enter(scripted, viewport=dict(zip(("width", "height"), size, strict=True)))
    scripted.model.script(todo(*["completed"] * 5, *["pending"] * 9), Reply(text="Half.\n\n" * 30))
    begin(page, "A long plan")
    at_rest(page)
    page.locator("#todo-panel > summary").click()
    is_open(page)
    for part in (
        "#todo-panel .todo >> nth=5",
        ".todo-panel__foot a",
        "#unfinished [data-follow]",
        "#composer",
    ):
        expect(page.locator(part)).to_be_in_viewport(ratio=1)
    foot, composer = (page.locator(part).bounding_box() for part in (".todo-panel__foot", "#composer"))
    assert foot
    assert composer
    assert foot["y"] + foot["height"] <= composer["y"]
    for part in ("#todo-panel .todo >> nth=6", "#todo-add"):
        page.locator(part).scroll_into_view_if_needed()
        expect(page.locator(part)).to_be_in_viewport(ratio=1)
        assert page.locator(part).evaluate(TOPMOST)


def test_the_way_to_the_end_takes_no_room_from_the_list(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 1100, "height": 720})
    scripted.model.script(todo(*["completed"] * 5, *["pending"] * 9), Reply(text="Half.\n\n" * 60))
    begin(page, "A long plan")
    at_rest(page)
    page.locator("#todo-panel > summary").click()
    is_open(page)
    page.locator("#scroll").hover()
    page.mouse.wheel(0, -400)
    expect(page.locator("#to-end")).to_be_visible()
    above = page.locator(".dock__above")
    assert above.evaluate("above => above.scrollHeight - above.clientHeight") == 0


def test_refused_lists_fold_to_one_line(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    refused = todo("in_progress", "in_progress")
    gate = held(page, scripted, refused, refused, Reply(text="I see."))
    gate.set()
    at_rest(page)
    line = page.locator(".call-group__line").get_by_text("2 to-do updates rejected")
    markers = page.locator(".todo-marker[data-status='failed']")
    expect(markers).to_have_count(2)
    expect(markers.first).to_be_hidden()
    line.click()
    expect(markers.first).to_be_visible()


def test_the_sidebar_counts_along_from_the_first_turn_on(scripted: Site, visitors: Visitors) -> None:
    gates = [threading.Event(), threading.Event()]
    scripted.model.script(
        Reply(text="Hello."),
        todo("completed", "in_progress"),
        Reply(text="One is done", stall_after=2, gate=gates[0], tool_calls=[("bash", {"command": "true"})]),
        todo("completed", "completed"),
        Reply(text="Both are done", stall_after=2, gate=gates[1]),
    )
    other, page = visitors.enter(scripted), visitors.enter(scripted)
    begin(other, "Elsewhere")
    at_rest(other)
    begin(page, "Count along")

    def counts(progress: str) -> None:
        for each in (page, other):
            row = each.locator("#sidebar .conversation-row", has_text="Count along").first
            expect(row.locator(".conversation-row__plan")).to_have_text(progress)

    counts("1/2")
    expect(page.locator("#conversation")).to_have_attribute("data-status", "running")
    gates[0].set()
    counts("2/2")
    expect(page.locator("#conversation")).to_have_attribute("data-status", "running")
    gates[1].set()
    at_rest(page)
    counts("2/2")


def test_the_sidebar_counts_what_is_recorded(scripted: Site, visitors: Visitors) -> None:
    """Or a sidebar that is drawn again while a list is being written went back."""
    gate = threading.Event()
    rewritten = todo("completed", "in_progress", "pending", "pending", piece=20, stall_after=11, gate=gate)
    scripted.model.script(Reply(text="Hello."), todo(*FOUR), rewritten, Reply(text="One is done."))
    page = visitors.enter(scripted)
    begin(page, "Count what is recorded")
    at_rest(page)
    send(page, "Work")
    expect(panel(page)).to_have_attribute("data-done", "1")
    row = page.locator("#sidebar .conversation-row", has_text="Count what is recorded").first
    expect(row.locator(".conversation-row__plan")).to_have_text("0/4")
    other = visitors.enter(scripted)
    other.goto("/")  # its sidebar is drawn from the rows
    drawn = other.locator("#sidebar .conversation-row", has_text="Count what is recorded").first
    expect(drawn.locator(".conversation-row__plan")).to_have_text("0/4")
    gate.set()
    at_rest(page)
    for each in (row, drawn):
        expect(each.locator(".conversation-row__plan")).to_have_text("1/4")


@pytest.mark.parametrize("size", [(911, 512), (1366, 768)])
def test_a_list_that_goes_on_shows_the_item_in_progress(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    """Wherever it was scrolled to before, and where the pointer still is that pressed Continue."""
    gate = threading.Event()
    work = Reply(text="I go on", stall_after=2, gate=gate, tool_calls=[("bash", {"command": "true"})])
    scripted.model.script(todo("in_progress", *["pending"] * 11), Reply(text="Half of it."))
    scripted.model.script(todo("completed", "in_progress", *["pending"] * 10), work, Reply(text="Done."))
    page = visitors.enter(scripted, viewport=dict(zip(("width", "height"), size, strict=True)))
    begin(page, "Work")
    at_rest(page)
    fold(page)
    items = panel(page).locator(".todo")
    items.nth(1).hover()
    expect(items.last).not_to_be_in_viewport()
    page.mouse.wheel(0, 5000)
    expect(items.last).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#transcript")).to_contain_text("I go on")
    expect(items.nth(1)).to_have_attribute("data-status", "in_progress")
    expect(items.nth(1)).to_be_in_viewport(ratio=1)
    gate.set()
    at_rest(page)


# Whether the item in progress is in the list's view, and not where the list fades.
CLEAR = """list => {
    const view = list.getBoundingClientRect();
    const item = list.querySelector("[data-status=in_progress]").getBoundingClientRect();
    const below = list.scrollHeight - list.scrollTop - list.clientHeight;
    const [start, end] = [view.top + Math.min(32, list.scrollTop), view.bottom - Math.min(32, below)];
    return item.top >= start - 1 && item.bottom <= end + 1;
}"""


def test_the_item_in_progress_is_not_where_the_list_fades(scripted: Site, visitors: Visitors) -> None:
    statuses = ["completed"] * 12
    lists = [todo(*statuses[:at], "in_progress", *["pending"] * (11 - at)) for at in range(3, 9)]
    gates = [threading.Event() for _each in lists]
    works = [
        Reply(text=f"At {at}.", tool_calls=list.tool_calls, stall_after=2, gate=gate)
        for at, (list, gate) in enumerate(zip(lists, gates, strict=True))
    ]
    scripted.model.script(*works, Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": 1366, "height": 768})
    begin(page, "Work")
    listed = panel(page).locator(".todo-panel__list")
    for at, gate in enumerate(gates):
        expect(page.locator("#transcript")).to_contain_text(f"At {at}.")
        if at:
            expect(panel(page).locator("[data-status=completed]")).to_have_count(at + 2)
            until(page, lambda: listed.evaluate(CLEAR))
        gate.set()
    at_rest(page)


def test_a_list_fades_where_there_is_more(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("in_progress", *["pending"] * 11), Reply(text="Half of it."))
    page = visitors.enter(scripted, viewport={"width": 1366, "height": 768})
    begin(page, "Work")
    at_rest(page)
    fold(page)
    listed = panel(page).locator(".todo-panel__list")
    expect(listed).to_have_css("--fade-start", "0px")
    expect(listed).to_have_css("--fade-end", re.compile("[1-9].*px"))
    panel(page).locator(".todo").nth(1).hover()
    page.mouse.wheel(0, 5000)
    expect(listed).to_have_css("--fade-start", re.compile("[1-9].*px"))
    expect(listed).to_have_css("--fade-end", "0px")
