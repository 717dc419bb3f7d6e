"""A conversation on paper: all of it with its list, in light colours, and nothing beside it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, is_folded, panel, todo
from tests.browser.test_files import writes
from tests.browser.test_versions import LONG_TALK

PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
BELOW = "(view) => view.scrollHeight - view.scrollTop - view.clientHeight"
COLOURS = "({ color, backgroundColor }) => [color, backgroundColor]"


def test_a_conversation_is_printed_whole(scripted: Site, visitors: Visitors) -> None:
    conversation = scripted.served.shell(LONG_TALK).strip()
    page = visitors.enter(scripted, color_scheme="dark")
    page.goto(f"/conversations/{conversation}/")
    page.wait_for_selector(LIVE)
    expect(page.get_by_text("Question 0", exact=True)).to_have_count(0)
    paper = page.pdf()
    expect(page.locator("article.turn")).to_have_count(46)
    assert page.locator("#scroll").evaluate(BELOW) < 2, "who was at the end still is"
    pages = len(PAGE.findall(paper))
    assert 8 < pages < 60

    page.emulate_media(media="print")
    for text in ("Question 0", "Question 45"):
        expect(page.get_by_text(text, exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Many turns")).to_be_visible()
    for hidden in ("#sidebar", "#composer", ".turn__actions", "#connection-state"):
        expect(page.locator(hidden).locator("visible=true")).to_have_count(0)
    ink, ground = page.evaluate(f"({COLOURS})(getComputedStyle(document.documentElement))")
    assert sum(map(int, re.findall(r"\d+", ink)[:3])) < 200 < sum(map(int, re.findall(r"\d+", ground)[:3]))


def test_without_a_connection_what_is_there_is_printed(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch"]
    conversation = scripted.served.shell(LONG_TALK).strip()
    page = visitors.enter(scripted)
    page.goto(f"/conversations/{conversation}/")
    page.wait_for_selector(LIVE)
    page.context.set_offline(True)
    before = page.locator("article.turn").count()
    assert len(PAGE.findall(page.pdf())) > 3
    expect(page.locator("article.turn")).to_have_count(before)
    page.context.set_offline(False)
    page.wait_for_selector(LIVE)


def test_the_list_is_printed_beneath_the_conversation(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("completed", *["pending"] * 11), Reply(text="Half of it."))
    page = visitors.enter(scripted, color_scheme="dark")
    begin(page, "Plan")
    at_rest(page)
    is_folded(page)
    page.set_viewport_size({"width": 718, "height": 1000})
    page.emulate_media(media="print")
    list_ = panel(page).locator(".todo-panel__list")
    expect(list_.locator(".todo__text").get_by_text("Item 12")).to_be_visible()
    assert list_.evaluate("list => list.scrollHeight - list.clientHeight") < 2, "all of it"
    marks = panel(page).locator(".todo__mark")
    assert {mark.evaluate("mark => getComputedStyle(mark).printColorAdjust") for mark in marks.all()} == {
        "exact"
    }
    for hidden in (".todo-add", ".todo__tools", ".todo-panel__foot", "#composer", ".unfinished"):
        expect(page.locator(hidden).locator("visible=true")).to_have_count(0)
    end = page.get_by_text("Half of it.").bounding_box()
    begins = panel(page).bounding_box()
    assert end
    assert begins
    assert begins["y"] > end["y"] + end["height"]


def test_beside_the_files_only_the_conversation_is_printed(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(writes("long.csv", "a,b\n" + "1,2\n" * 300), Reply(text="It is written."))
    page = visitors.enter(scripted, viewport={"width": 1400, "height": 800})
    begin(page, "Write it")
    at_rest(page)
    page.click(".bar__files")
    page.click("#files-panel .files__link >> text=long.csv")
    expect(page.locator(".files__table")).to_be_visible()
    page.emulate_media(media="print")
    for hidden in ("#files-panel", ".skip-link"):
        expect(page.locator(hidden).locator("visible=true")).to_have_count(0)
    expect(page.get_by_text("It is written.")).to_be_visible()
    assert (
        page.locator(".frame__content").evaluate("content => content.getBoundingClientRect().right") == 1400
    )
    page.emulate_media(media="null")
    page.goto(f"{page.url}files/file/?path=long.csv")
    assert len(PAGE.findall(page.pdf())) > 4, "all rows"
