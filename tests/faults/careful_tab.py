"""A tab that knows what a browser would show."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from tests.faults.person import Person, Tab
from tests.live.site import FRAME, PARTIAL

ACTIVE = ("queued", "running", "waiting")
ROWS = ("#turn-", "#message-", "#tool-call-", "#summary-")


class CarefulTab(Tab):
    """Knows what a browser would show."""

    beat = 2.0

    def __init__(self, person: Person, address: str, origin: str) -> None:
        self.turns: dict[str, str] = {}
        self.panel = self.question = self.held = self.left = self.status = ""
        self.rough: set[str] = set()
        super().__init__(person, address, origin)

    @property
    def display(self) -> tuple[Any, ...]:
        """What it shows, as `shown_by` tells it of a page; a turn with rows drawn later is as yet none."""
        whole = [(turn, html) for turn, html in list(self.turns.items()) if turn not in self.rough]
        return whole, self.panel, self.question, self.held, self.left, self.status

    def _take_in(self, data: str) -> None:
        if label := FRAME.match(data):
            self.turns.setdefault(f"turn-{label['turn']}", "")
            if " text " in label[0]:
                self.rough.add(f"turn-{label['turn']}")
        for target, swap, html in PARTIAL.findall(data):
            self._draw(unescape(target), swap, html.strip())

    def _draw(self, target: str, swap: str, html: str) -> None:
        if re.fullmatch(r"#turn-\d+", target):
            self.turns[target[1:]] = html
            self.rough.discard(target[1:])
        elif target == "#todo-slot" and swap == "outerMorph":
            pass  # the slot's version alone
        elif target.startswith(("#todo-slot", "#todo-panel")):
            self.panel = html
        elif target == "#approval-note":
            self.question = html
        elif target == "#follow-ups":
            self.held = html
        elif target == "#conversation":
            self.status = _status(html)
        elif target == "#unfinished":
            self.left = html
        elif target.startswith(ROWS):
            self.rough.add(list(self.turns)[-1])  # rows were drawn after the turn as a whole


def shown_by(page: str) -> tuple[Any, ...]:
    """What a page shows, as a tab keeps it."""
    turns = re.findall(r'<article class="turn" id="(turn-\d+)".*?</article>', page, re.DOTALL)
    return (
        [(turn, _element(page, f'<article class="turn" id="{turn}"', "</article>")) for turn in turns],
        _element(page, '<details id="todo-panel"', "</details>"),
        _element(page, '<p id="approval-note"', "</p>"),
        _element(page, '<section id="follow-ups"', "</section>"),
        _element(page, '<div id="unfinished"', "</div>"),
        _status(page[page.index('<main id="conversation"') :]),
    )


def _element(page: str, start: str, end: str) -> str:
    """The element that begins so, as far as it has none of its own kind within; empty for none."""
    at = page.find(start)
    return page[at : page.index(end, at) + len(end)] if at >= 0 else ""


def _status(html: str) -> str:
    return html.partition('data-status="')[2].partition('"')[0]
