"""What is selected in a message stays selected while the message grows, and when it ends."""

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


@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_selected_stays(scripted: Site, visitors: Visitors, backwards: bool) -> None:
    gates = [threading.Event() for _piece in PIECES]

    def stream() -> Iterator[bytes]:
        for piece, gate in zip(PIECES, gates, strict=True):
            yield from sse(chunk({"content": piece}))
            gate.wait(30)
        yield from sse(chunk({}, "stop"), "[DONE]")

    scripted.model.script(Reply(raw=stream()))
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
