"""Reasoning on the page: folded, growing while it streams, and the record afterwards."""

from __future__ import annotations

import re
import threading

from playwright.sync_api import expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin
from tests.browser.test_live import ends_as_the_record

THOUGHT = "First  I look\n  at <b>everything</b>;\n\n" + " then I look again." * 30


def test_a_thought_grows_where_it_is_folded_and_stays_open_for_who_opens_it(
    scripted: Site, visitors: Visitors
) -> None:
    gate = threading.Event()
    scripted.model.script(Reply("So it is. " * 40, THOUGHT, piece=9, delay=0.02, stall_after=40, gate=gate))
    page = visitors.enter(scripted)
    begin(page, "Think about it")
    thought = page.locator("details.reasoning")
    expect(thought).to_have_count(1)
    assert not thought.evaluate("thought => thought.open")
    expect(thought.locator("summary")).to_have_text("Thinking")
    thought.locator("summary").click()
    shown = thought.locator(".reasoning__text")
    expect(shown).to_contain_text("then I look again. then I look")
    assert THOUGHT.startswith(shown.evaluate("text => text.textContent"))
    gate.set()
    expect(page.locator("#transcript")).to_contain_text("So it is.")
    expect(thought.locator("summary")).to_have_text(re.compile(r"Thought for \d+ s"))
    assert page.locator("#conversation").get_attribute("data-status") == "running"
    at_rest(page)
    assert shown.evaluate("text => text.textContent") == THOUGHT
    assert shown.locator("*").count() == 0, "the pieces have become one text"
    assert thought.evaluate("thought => thought.open"), "what a user opened stays open"
    ends_as_the_record(page)
