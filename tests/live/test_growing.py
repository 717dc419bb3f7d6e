"""A message that is being written: what is appended to a page equals the whole text rendered."""

from __future__ import annotations

import random
import re
import time
from html import escape, unescape

import pytest

from chat.live import markdown
from chat.live.stream import GrowingMessage
from chat.models import Conversation, Message, Turn
from tests.live.site import PARTIAL

WORDS = (
    "Some **bold words** & `code < 3`, a [link](https://example.org/?a=1&b=2), *emphasis*\n"
    "and ~~more~~ of it\\\nhere. "
)
PYTHON = 'def compute(a: int) -> str:\n    """Say <b>."""\n    return f"{a & 1}"  # so\n\n\n'
TEXTS = {
    "prose": f"# Title\n\n{WORDS * 3}\n\n> {WORDS}\n> - {WORDS}\n\n",
    "code": f"First:\n\n```python\n{PYTHON * 4}```\n\nand\n\n```\n{PYTHON}```\nDone.\n\n",
    "lists": f"1. one\n2. {WORDS}\n   - a\n   - b\n\n   c\n3. three\n\n"
    "| a | b |\n|---|---|\n| 1 | **2** |\n| 3 | 4 |\n\n***\n",
}


class Shown:
    """What a page shows of a message, as HTML."""

    def __init__(self, row: Message) -> None:
        self.growing = GrowingMessage(row, row.text, 0)
        self.settled, self.tail = "", self.growing.tail
        self.bytes = 0

    def grow(self) -> None:
        for selector, content in self.growing.grow():
            self.bytes += len(selector) + len(content)
            if selector:
                self._append(selector.count(":last-child"), escape(content, quote=False))
            for target, swap, html in PARTIAL.findall(content) if not selector else []:
                self._swap(unescape(target), swap, html)

    def _swap(self, target: str, swap: str, html: str) -> None:
        if swap == "beforebegin":
            self.settled += html
        elif swap == "innerMorph":
            self.tail = html
        else:
            assert swap == "beforeend"
            self._append(target.count(":last-child"), html)

    def _append(self, depth: int, html: str) -> None:
        closing = re.search(rf"(?:</\w+>\s*){{{depth}}}\Z", self.tail)
        assert closing, self.tail
        self.tail = self.tail[: closing.start()] + html + closing[0]

    @property
    def html(self) -> str:
        return (self.settled + self.tail).replace("&quot;", '"')


def written(text: str = "") -> Message:
    row = Message(pk=1, turn=Turn(conversation=Conversation()), role="assistant", text=text)
    row.saved_text = row.saved_reasoning = 0
    return row


@pytest.mark.parametrize("name", TEXTS)
def test_each_addition_makes_the_page_whole(name: str) -> None:
    chance = random.Random(name)
    text = TEXTS[name] * 3
    row = written(text[:1])
    shown = Shown(row)
    end = 1
    while end < len(text):
        end += chance.randint(1, 12)
        row.text = text[:end]
        shown.grow()
        blocks, tail = markdown.Settling(row.text).advance()
        whole = "".join(block.html for block in blocks) + tail
        assert shown.html == whole.replace("&quot;", '"')


def test_what_follows_a_large_block_is_markdown_again() -> None:
    for large in ("```\n" + "value = 1\n\n" * 5000 + "```\n", ("word " * 10 + "\n") * 1000 + "\n"):
        row = written()
        shown = Shown(row)
        text = f"*Before*\n\n{large}**After**\n\n{WORDS}"
        for end in range(0, len(text) + 500, 500):
            row.text = text[:end]
            shown.grow()
        html = markdown.render(text)
        assert shown.html == html.replace("&quot;", '"')
        assert html.startswith("<p><em>Before</em></p>")
        assert "<p><strong>After</strong></p>" in html
        assert html.count("<pre>") == 1


LONG = 100_000  # characters: 20,000 tokens
DRAWS = 40  # at its end, of 50 tokens each
BLOCKS = {
    "paragraph": "word " * (LONG // 5),
    "marked paragraph": "a **bold** and `code` " * (LONG // 22),
    "plain fence": "```\n" + "value = 1\n" * (LONG // 10),
    "coloured fence": "```python\n" + "value = compute(1)\n" * (LONG // 19),
    "list": "- an item\n" * (LONG // 10),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_long_block_stays_cheap(name: str) -> None:
    """At its end a draw takes less than the 10 ms after which the next one is put off, and only what is
    new travels.
    """
    row = written()
    shown = Shown(row)
    for end in range(LONG // 5, LONG // 2 + 1, LONG // 10):
        row.text = BLOCKS[name][:end]
        shown.grow()
    shown.bytes, began = 0, time.thread_time()
    for end in range(LONG - 250 * DRAWS, LONG, 250):
        row.text = BLOCKS[name][:end]
        shown.grow()
    spent = time.thread_time() - began
    added = len(row.text) - LONG // 2
    assert spent < 0.01 * DRAWS, f"{1000 * spent / DRAWS:.1f} ms a draw"
    assert shown.bytes < 2 * added, f"{shown.bytes / added:.1f} characters for each"
