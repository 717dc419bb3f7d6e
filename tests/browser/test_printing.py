"""A conversation on paper: all of it, in light colours, and nothing beside it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE
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
