"""A plan looked back on: step by step with keys, slider and links, and by links from elsewhere."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, panel, todo, turns, unfold, until


@pytest.fixture
def page(scripted: Site, visitors: Visitors) -> Page:
    """On the page of a plan with three revisions."""
    lists = [todo("in_progress", "pending"), todo("completed", "in_progress"), todo("completed", "completed")]
    work = Reply(tool_calls=[("bash", {"command": "true"})])
    scripted.model.script(lists[0], work, work, *lists[1:], Reply(text="Both are done."))
    page = visitors.enter(scripted)
    begin(page, "Do two things")
    at_rest(page)
    panel(page).locator("summary").click()
    page.get_by_role("link", name="Plan history").click()
    shows(page, 3)
    return page


def shows(page: Page, number: int) -> None:
    """Wait until the stage shows that revision, and the story marks it."""
    expect(page.locator("#plan-stage")).to_have_attribute("data-revision", str(number))
    expect(page.locator("[aria-current='true'][data-number]")).to_have_attribute("data-number", str(number))


def first_item(page: Page) -> Locator:
    return page.locator("#plan-stage .plan-line").first


def test_the_page_follows_the_work(scripted: Site, visitors: Visitors) -> None:
    gates = [threading.Event() for _each in range(2)]
    works = [
        Reply(text="On it.", tool_calls=list.tool_calls, stall_after=1, gate=gate)
        for list, gate in zip(
            [todo("completed", "in_progress"), todo("completed", "completed")], gates, strict=True
        )
    ]
    scripted.model.script(todo("in_progress", "pending"), *works, Reply(text="Both are done."))
    page = visitors.enter(scripted)
    address = begin(page, "Do two things")
    expect(panel(page).locator(".todo")).to_have_count(2)
    page.goto(f"{address}plan/")
    shows(page, 1)
    expect(page.get_by_text("The agent is working on this plan.")).to_be_visible()
    gates[0].set()
    shows(page, 2)
    expect(first_item(page)).to_have_attribute("data-status", "completed")
    page.keyboard.press("ArrowLeft")
    shows(page, 1)
    gates[1].set()
    expect(page.locator("[data-number='3']")).to_be_visible()
    expect(page.get_by_text("The agent is working on this plan.")).to_have_count(0)
    shows(page, 1)


def test_the_revision_gone_to_while_the_page_is_fetched_stays(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    last = Reply(tool_calls=todo("completed", "completed").tool_calls, stall_after=1, gate=gate)
    scripted.model.script(
        todo("in_progress", "pending"), todo("completed", "in_progress"), last, Reply(text="Both are done.")
    )
    page = visitors.enter(scripted)
    address = begin(page, "Do two things")
    expect(panel(page).locator("[data-status=completed]")).to_have_count(1)
    page.goto(f"{address}plan/")
    shows(page, 2)
    held: list[Route] = []
    page.route(
        lambda url: url.endswith("/plan/"), lambda route: route.continue_() if held else held.append(route)
    )
    gate.set()
    until(page, lambda: held)
    page.locator("#plan-stage [rel=prev]").click()
    shows(page, 1)
    held[0].continue_()
    expect(page.locator("[data-number='3']")).to_be_visible()
    expect(page.get_by_text("The agent is working on this plan.")).to_have_count(0)
    shows(page, 1)


def test_keys_slider_and_links(page: Page) -> None:
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    shows(page, 1)
    expect(first_item(page)).to_have_attribute("data-status", "in_progress")
    expect(page).to_have_url(re.compile(r"/plan/\?revision=1$"))
    page.keyboard.press("ArrowLeft")
    shows(page, 1)
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    shows(page, 2)
    expect(page.get_by_role("slider")).to_be_focused()
    page.get_by_role("link", name="Next revision").click()
    shows(page, 3)
    page.get_by_role("link", name="Revision 1", exact=True).click()
    shows(page, 1)


def test_the_slider_is_dragged_from_end_to_end(page: Page) -> None:
    slider = page.get_by_role("slider")
    box = slider.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    at = {1: box["x"] + 8, 2: box["x"] + box["width"] / 2, 3: box["x"] + box["width"] - 8}
    page.mouse.move(at[3], middle)
    page.mouse.down()
    for number in (2, 1, 2, 3, 2, 1):
        page.mouse.move(at[number], middle, steps=5)
        shows(page, number)
    page.mouse.up()
    shows(page, 1)
    expect(slider).to_be_focused()


def test_the_page_stays_at_its_top_as_the_sidebar_changes(
    page: Page, scripted: Site, visitors: Visitors
) -> None:
    page.set_viewport_size({"width": 1280, "height": 300})
    scripted.model.script(Reply(text="Yes."))
    other = visitors.enter(scripted)
    begin(other, "Something else")
    expect(page.locator("#sidebar")).to_contain_text("Something else")
    at_rest(other)
    assert page.locator("#plan").evaluate("plan => plan.closest('.frame__content').scrollTop") == 0
    expect(page).to_have_url(re.compile(r"/plan/$"))


@pytest.mark.parametrize("key", ["Enter", "ArrowLeft"])
def test_the_keyboard_stays_at_the_arrow(page: Page, key: str) -> None:
    arrow = page.get_by_role("link", name="Previous revision")
    arrow.focus()
    page.keyboard.press(key)
    shows(page, 2)
    expect(arrow).to_be_focused()
    page.keyboard.press(key)
    shows(page, 1)
    expect(page.get_by_role("slider")).to_be_focused()
    expect(page).to_have_url(re.compile(r"/plan/\?revision=1$"))


def test_a_link_to_a_revision_and_an_item(page: Page) -> None:
    page.keyboard.press("ArrowLeft")
    shows(page, 2)
    first_item(page).hover()
    first_item(page).get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/plan/\?revision=2#item-\w+$"))
    page.reload()
    shows(page, 2)
    assert first_item(page).evaluate("item => item.matches(':target')")


def test_a_link_to_an_item_shows_its_revision_in_the_timeline(page: Page, scripted: Site) -> None:
    page.set_viewport_size({"width": 1280, "height": 300})
    plan, item = page.url, first_item(page).get_attribute("id")
    for address, number in ((plan, 1), (f"{plan}?revision=3", 3), (f"{plan}?revision=2", 2)):
        page.goto(f"{address}#{item}")
        expect(first_item(page)).to_be_in_viewport(ratio=1)
        expect(page.locator(f"[data-number='{number}']")).to_be_in_viewport(ratio=0.9)
    page.locator("#sidebar").get_by_role("link", name="All conversations").click()
    expect(page).to_have_title(re.compile("Conversations"))
    page.evaluate("address => navigation.navigate(address)", f"{plan}?revision=3#{item}")
    expect(page.locator("[data-number='3']")).to_be_in_viewport(ratio=0.9)
    expect(first_item(page)).to_be_in_viewport(ratio=1)


def test_from_the_transcript_to_the_revision_and_back(page: Page) -> None:
    page.get_by_role("link", name="Back to the conversation").click()
    at_rest(page)
    unfold(page)
    page.get_by_role("link", name="To-dos updated").nth(1).click()
    shows(page, 2)


def test_without_a_script(page: Page, scripted: Site, visitors: Visitors) -> None:
    plain = visitors.enter(scripted, java_script_enabled=False)
    plain.goto(page.url)
    plain.get_by_role("link", name="Previous revision").click()
    expect(plain.locator("#plan-stage")).to_have_attribute("data-revision", "2")


def test_going_on_with_what_is_left(scripted: Site, visitors: Visitors) -> None:
    half, whole = todo("completed", "in_progress"), todo("completed", "completed")
    scripted.model.script(half, Reply(text="Which one?"), whole, Reply(text="Both are done."))
    page = visitors.enter(scripted)
    begin(page, "Do two things")
    other = visitors.enter(scripted)
    other.goto(page.url)
    at_rest(page)
    for each in (page, other):
        expect(each.locator("#unfinished")).to_contain_text("1 of 2 done")
    page.locator("#unfinished").get_by_role("button", name="Continue").click()
    expect(turns(page)).to_have_count(2)
    at_rest(page)
    for each in (page, other):
        expect(each.locator("#todo-panel[data-done='2']")).to_be_visible()
        expect(each.locator("#unfinished")).to_be_empty()


def test_a_plan_that_comes_under_the_finger_is_not_continued(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("in_progress"), Reply(text="Which one?"))
    page = visitors.enter(scripted)
    page.clock.set_fixed_time("2026-01-01T12:00:00Z")
    begin(page, "Do a thing")
    at_rest(page)
    unfinished = page.locator("#unfinished")
    unfinished.get_by_role("button", name="Dismiss").click()
    place = page.locator("#undo").get_by_role("button", name="Undo").bounding_box()
    assert place
    spot = (place["x"] + 7, place["y"] + place["height"] / 2)
    beneath = "spot => document.elementFromPoint(...spot).closest('.unfinished button')?.textContent"
    page.mouse.click(*spot)
    until(page, lambda: page.evaluate(beneath, spot) == "Continue")
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.mouse.click(*spot)
    page.evaluate("fetch('/healthz').then(() => 0)")  # what the click sends comes before
    assert not posts
    page.clock.set_fixed_time("2026-01-01T12:00:02Z")
    scripted.model.script(Reply(text="On with it."))
    page.mouse.click(*spot)
    expect(turns(page).last).to_contain_text("On with it.")


def test_dismissing_it_shows_in_every_tab(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("in_progress"), Reply(text="Which one?"))
    page = visitors.enter(scripted)
    begin(page, "Do a thing")
    at_rest(page)
    other = visitors.enter(scripted)
    other.goto(page.url)
    expect(other.locator("#unfinished")).to_contain_text("0 of 1 done")
    page.locator("#unfinished").get_by_role("button", name="Dismiss").click()
    for each in (page, other):
        expect(each.locator("#unfinished")).to_be_empty()
    other.locator("#todo-panel > summary").click()
    expect(other.locator("#todo-panel > summary").get_by_text("Dismissed")).to_be_visible()
    note = page.locator("#undo")
    expect(note).to_contain_text("Plan of “Do a thing” dismissed.")
    note.get_by_role("button", name="Undo").click()
    for each in (page, other):
        expect(each.locator("#unfinished")).to_contain_text("0 of 1 done")
    expect(note).to_be_empty()
    expect(note).to_have_css("display", "none")
    expect(page.locator("#composer-text")).to_be_focused()
    page.locator("#unfinished").get_by_role("button", name="Dismiss").click()
    expect(note).to_contain_text("Plan of “Do a thing” dismissed.")
    scripted.model.script(todo("in_progress"), Reply(text="This or that?"))
    turns(page).last.hover()
    turns(page).last.get_by_role("button", name="Run again").click()
    expect(turns(page).last).to_contain_text("This or that?")
    expect(note).to_be_empty()
    page.locator("#unfinished").get_by_role("button", name="Dismiss").click()
    expect(note).to_contain_text("Plan of “Do a thing” dismissed.")
    scripted.model.script(Reply(text="Hello."))
    page.fill("#composer-text", "Something else")
    page.press("#composer-text", "Enter")
    expect(turns(page)).to_have_count(2)
    expect(note).to_be_empty()
    page.goto(f"{page.url}plan/")
    expect(page.locator(".plan__where")).to_contain_text("Dismissed")
    expect(page.locator(".timeline__when", has_text="Dismissed")).to_have_count(1)
    page.get_by_role("link", name="All conversations").click()
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_visible()
    expect(page.locator(".undo-note[data-kind=dismiss]")).to_have_count(0)


def test_on_a_phone_the_list_stays_on_the_screen(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 280})
    page.reload()
    shows(page, 3)
    page.keyboard.press("ArrowLeft")
    shows(page, 2)
    expect(page.get_by_role("slider")).to_be_in_viewport()


def test_on_a_phone_a_revision_is_shown_where_its_link_leads(page: Page) -> None:
    """Its entry in the timeline is beneath the list, which it would push off the screen."""
    page.set_viewport_size({"width": 390, "height": 480})
    page.reload()
    shows(page, 3)
    page.locator("[data-step='2']").click()
    shows(page, 2)
    expect(page.get_by_role("slider")).to_be_in_viewport()
    address = page.url.partition("?")[0]
    entry = page.locator("[data-number='1']").get_attribute("id")
    back = page.locator(".bar a[href*='/conversations/']").first
    back.click()
    page.wait_for_selector("#conversation")
    page.evaluate("address => navigation.navigate(address)", f"{address}#{entry}")
    shows(page, 1)
    expect(page.get_by_role("slider")).to_be_in_viewport()
    page.goto("about:blank")
    page.goto(f"{address}#{entry}")
    shows(page, 1)
    expect(page.get_by_role("slider")).to_be_in_viewport()


def test_back_leads_to_the_whole_page(page: Page) -> None:
    """Not to the list alone, which was fetched at the same address."""
    page.keyboard.press("ArrowLeft")
    shows(page, 2)
    address = page.url
    page.goto("about:blank")
    page.go_back()
    assert page.url == address
    expect(page.locator("#sidebar")).to_be_visible()
    shows(page, 2)


def test_one_revision_is_marked(page: Page) -> None:
    """Also where a link to another one led there."""
    address = page.url.partition("?")[0]
    entry = page.locator("[data-number='1']").get_attribute("id")
    page.goto("about:blank")
    page.goto(f"{address}#{entry}")
    shows(page, 1)
    page.keyboard.press("ArrowRight")
    shows(page, 2)
    marked = (
        "all => all.filter((each) => getComputedStyle(each).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    )
    assert page.locator(".timeline__entry--revision").evaluate_all(marked) == 1


@pytest.fixture
def card(scripted: Site, visitors: Visitors) -> Locator:
    """A call far above the end of its conversation, opened."""
    lines = "\n\n".join(f"Line {number}." for number in range(60))
    work = Reply(tool_calls=[("bash", {"command": "true"})])
    scripted.model.script(todo("in_progress"), work, todo("completed"), Reply(text=lines))
    page = visitors.enter(scripted)
    begin(page, "Do one thing")
    at_rest(page)
    unfold(page)
    card = page.locator(".tool-call", has_text="bash")
    card.locator("summary").first.click()
    return card


def is_back_at(card: Locator) -> None:
    card.page.wait_for_url(re.compile(r"/conversations/[0-9a-f-]{36}/$"))
    expect(card).to_be_in_viewport()
    expect(card.page.get_by_text("Line 59.")).not_to_be_in_viewport()


def test_back_from_the_plan_leads_to_the_call_that_led_there(card: Locator) -> None:
    card.get_by_role("link", name="Show in plan").click()
    card.page.wait_for_url("**/plan/**")
    card.page.go_back()
    is_back_at(card)


def test_the_arrow_of_the_plan_leads_to_the_call_that_led_there(card: Locator) -> None:
    """Also after a step to another revision, a link to a place in the page, and a reload."""
    page = card.page
    arrow = page.get_by_role("link", name="Back to the conversation")
    card.get_by_role("link", name="Show in plan").click()
    shows(page, 2)
    arrow.click()
    is_back_at(card)
    page.go_forward()
    shows(page, 2)
    page.keyboard.press("ArrowLeft")
    shows(page, 1)
    page.get_by_role("link", name="Revision 1 of 2").click()
    page.wait_for_url("**#revision-*")
    page.reload()
    shows(page, 1)
    arrow.click()
    is_back_at(card)


def test_the_arrow_of_a_plan_in_a_new_tab_leads_to_the_end_of_the_conversation(card: Locator) -> None:
    with card.page.context.expect_page() as opened:
        card.get_by_role("link", name="Show in plan").click(modifiers=["ControlOrMeta"])
    tab = opened.value
    tab.get_by_role("link", name="Back to the conversation").click()
    expect(tab.get_by_text("Line 59.")).to_be_in_viewport()
