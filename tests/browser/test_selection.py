"""What is selected or unfolded in a message stays so while the message grows, and when it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from chat.demo.reply import Reply, chunk, sse
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn

SELECT = """([word, backwards]) => {
    const message = document.querySelector(".turn:last-child .message:last-of-type");
    const texts = document.createTreeWalker(message, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const at = texts.currentNode.data.indexOf(word);
        const ends = [at, at + word.length];
        if (backwards) ends.reverse();
        if (at >= 0) getSelection().setBaseAndExtent(texts.currentNode, ends[0], texts.currentNode, ends[1]);
    }
}"""
SELECTED = "getSelection().toString()"
PIECES = ["One **paragraph** of several", " words,\n\nand the next", " one: `code`.\n\n- a\n- b"]


SECTION = ["<details>\n<summary>More</summary>\n\nOf several", " words.\n</details>\n\nThe", " end."]


def stream(pieces: list[str], gates: list[threading.Event]) -> Iterator[bytes]:
    """A reply that goes on after each piece when its gate is opened."""
    for piece, gate in zip(pieces, gates, strict=True):
        yield from sse(chunk({"content": piece}))
        gate.wait(30)
    yield from sse(chunk({}, "stop"), "[DONE]")


@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_selected_stays(scripted: Site, visitors: Visitors, backwards: bool) -> None:
    gates = [threading.Event() for _piece in PIECES]
    scripted.model.script(Reply(raw=stream(PIECES, gates)))
    page = visitors.enter(scripted)
    begin(page, "go")
    expect(last_turn(page)).to_contain_text("of several")
    page.evaluate(SELECT, ["several", backwards])
    for gate, text in zip(gates, ["the next", "one: code", ""], strict=True):
        gate.set()
        expect(last_turn(page)).to_contain_text(text)
        assert page.evaluate(SELECTED) == "several"
    at_rest(page)
    assert page.evaluate(SELECTED) == "several"
    assert page.evaluate("getSelection().direction") == ("backward" if backwards else "forward")

    # Where nothing is selected, nothing gets selected.
    page.locator("#composer-text").click()
    assert page.evaluate(SELECTED) == ""


def test_a_section_that_is_unfolded_stays_so(scripted: Site, visitors: Visitors) -> None:
    gates = [threading.Event() for _piece in SECTION]
    scripted.model.script(Reply(raw=stream(SECTION, gates)))
    page = visitors.enter(scripted)
    begin(page, "go")
    section = last_turn(page).locator(".message__body details")
    expect(section.get_by_text("Of several")).to_be_hidden()
    section.locator("summary").click()
    expect(section.get_by_text("Of several")).to_be_visible()
    for gate, text in zip(gates, ["Of several words.", "The end.", ""], strict=True):
        gate.set()
        expect(last_turn(page)).to_contain_text(text)
        expect(section).to_have_attribute("open", "")
    at_rest(page)
    expect(section).to_have_attribute("open", "")
