"""A tab that does on the wire what the page's script does, and knows what a browser would show then."""

from __future__ import annotations

import asyncio
import json
import re
from html import unescape
from typing import Any

import aiohttp

from tests.faults.person import Person, Tab
from tests.live.site import PARTIAL

LABEL = re.compile(r"<!--(\d+)( anew)?-->")
ACTIVE = ("queued", "running", "waiting")
ROWS = ("#turn-", "#message-", "#tool-call-", "#summary-")
AGAIN = 0.3  # seconds after which the page repeats a question


class CarefulTab(Tab):
    """Takes in what is next or begins anew, and asks for what is missing; see static/js/connection.js."""

    def __init__(self, person: Person, address: str, origin: str) -> None:
        self.turns: dict[str, str] = {}
        self.panel = self.question = self.held = self.left = self.status = ""
        self.rough: set[str] = set()
        self.asked = 0
        self.asking: asyncio.TimerHandle | None = None
        super().__init__(person, address, origin)

    @property
    def display(self) -> tuple[Any, ...]:
        """What it shows, as `shown_by` tells it of a page; a turn with rows drawn later is as yet none."""
        whole = [(turn, html) for turn, html in list(self.turns.items()) if turn not in self.rough]
        return whole, self.panel, self.question, self.held, self.left, self.status

    async def _listen(self) -> None:
        connecting = self.person.session.ws_connect(self.address, headers={"Origin": self.origin})
        async with connecting as self.socket:
            self.openings += 1
            self.at = 0
            self._answered()
            await self._tell(at=0)
            async for message in self.socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self.received.append(message.data)
                    await self._hear(message.data)
        self.socket = None

    async def _hear(self, data: str) -> None:
        said = json.loads(data) if data.startswith("{") else {}
        label = LABEL.match(data)
        if not label and said.get("type") != "mark":
            return
        number = int(label[1]) if label else said["number"]
        if label and (number == self.at + 1 or (label[2] and number > self.at)):
            self.at = number
            self._answered()
            self._take_in(data)
        elif number > self.at:
            await self._ask()
        elif not label:
            await self._tell(at=self.at)

    async def _ask(self) -> None:
        if self.asking is None:
            self.asked += 1
            self.asking = asyncio.get_running_loop().call_later(AGAIN, self._ask_again)
            ended = [turn for turn, html in self.turns.items() if html and _status(html) not in ACTIVE]
            await self._tell(at=self.at, after=int(ended[-1].removeprefix("turn-")) if ended else 0)

    def _ask_again(self) -> None:
        self.asking = None
        self.again = asyncio.create_task(self._ask())

    def _answered(self) -> None:
        if self.asking:
            self.asking.cancel()
            self.asking = None

    async def _tell(self, **said: int) -> None:
        if self.socket and not self.socket.closed:
            await self.socket.send_str(json.dumps(said))

    def _take_in(self, data: str) -> None:
        for target, swap, html in PARTIAL.findall(data):
            self._draw(unescape(target), swap, html.strip())

    def _draw(self, target: str, swap: str, html: str) -> None:
        if target.startswith("#transcript:not"):
            self.turns.setdefault(html.partition('id="')[2].partition('"')[0], "")
        elif re.fullmatch(r"#turn-\d+", target):
            self.turns[target[1:]] = html
            self.rough.discard(target[1:])
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
