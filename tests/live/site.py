"""The whole site in one event loop: sockets through communicators, a worker, a scripted model."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from html import unescape
from typing import Any

from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from chat.live.frames import END
from chat.models import Conversation, Turn

PARTIAL = re.compile(r'<hx-partial hx-target="([^"]*)" hx-swap="(\w+)">(.*?)</hx-partial>', re.DOTALL)
FRAME = re.compile(
    r"<!--(?P<answer>[=!]?)(?P<turn>\d+)\.(?P<fence>\d+)\.(?P<number>\d+)"
    r"(?: after (?P<previous>\d+)| panel (?P<panel>\d+)| text .*?)?-->"
)
STATUS = re.compile(r'<main id="conversation"[^>]* data-status="(\w+)"')
REVISION = re.compile(r'<details id="todo-panel"[^>]* data-revision="(\d+)"')
REGION = re.compile(r'data-region="(\w+)" data-v="([^"]*)"')
PATIENCE = 30.0
BEAT = 1.0  # seconds between heartbeats


class PageState:
    """What a page has, and what it makes of a frame; see static/js/connection.js."""

    def __init__(self, at: tuple[int, int, int] = (0, 0, 0)) -> None:
        self.at = self.seen = at
        self.regions: dict[str, str] = {}
        self.revision = 0  # of the todo list on show

    def have(self, kind: str = "have") -> str:
        """The message that says what the page has."""
        return json.dumps({"type": kind, "at": self.at, "regions": self.regions})

    def takes(self, data: str) -> bool | None:
        """Whether the page takes the frame in; None where it has to ask for what it lacks."""
        if data.startswith("{"):
            return None if json.loads(data)["type"] == "changed" else True
        if label := FRAME.match(data):
            position = (int(label["turn"]), int(label["fence"]), int(label["number"]))
            if label["answer"] == "!":  # the transcript shows another path
                self.at = self.seen = self.seen if position[:2] == self.seen[:2] else position
                self.regions.update(REGION.findall(data))
                return True
            self.seen = max(self.seen, position)
            if position <= self.at:
                return False
            if not label["answer"] and not self._follows(position, label["previous"]):
                if self.at[2] != END:  # a turn that runs is asked for whole
                    self.at = (self.at[0], 0, 0)
                return None
            ahead = label["answer"] and position[:2] == self.seen[:2]
            self.at = self.seen if ahead else position
            if label["panel"] and int(label["panel"]) < self.revision:
                return False  # drawn over an earlier list than the one that the user made
        self.revision = int([str(self.revision), *REVISION.findall(data)][-1])
        self.regions.update(REGION.findall(data))
        return True

    def _follows(self, position: tuple[int, int, int], previous: str | None) -> bool:
        is_next = position[2] == self.at[2] + 1
        if position[:2] == self.at[:2] and is_next:
            return True
        if previous is None or (1 < position[2] < END and not is_next):
            return False
        return position[0] == self.at[0] or (
            self.at[0] == int(previous) and (self.at[2] == END or not int(previous))
        )


def is_idle(frame: str) -> bool:
    """Whether the frame says that nothing works."""
    return STATUS.findall(frame)[-1:] == ["idle"]


class Tab:
    """An open socket, and all that came over it and was taken in."""

    def __init__(self, socket: WebsocketCommunicator) -> None:
        self.socket = socket
        self.received: list[str] = []
        self.page = PageState()
        self.asked = 0
        self.idle_since: int | None = None  # the turn that ended last, until waited for
        self.sent_turn: float = 0  # that the last message began
        self.beating: asyncio.Task[None] | None = None

    async def connect(self) -> bool:
        connected, _code = await self.socket.connect(timeout=PATIENCE)
        return bool(connected)

    async def ask(self) -> None:
        """Say what the page has, to be sent what it lacks."""
        self.asked += 1
        await self.socket.send_to(text_data=self.page.have())

    async def send(self, text: Any, **more: Any) -> str:
        # Until the answer names the turn: the end of an earlier one may still be on its way.
        self.sent_turn = math.inf
        client_id = str(uuid.uuid4())
        await self.socket.send_json_to({"text": text, "client_id": client_id, **more})
        return client_id

    async def until(self, found: Callable[[str], Any]) -> str:
        """Receive up to the first frame that `found` says yes to, and give it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                frame = await self.socket.receive_from(timeout=PATIENCE)
                taken = self.page.takes(frame)
                if taken is None:
                    await self.ask()
                elif taken:
                    self.received.append(frame)
                    self._read(frame)
                    if found(frame):
                        return frame

    def _read(self, frame: str) -> None:
        if frame.startswith("{"):
            answer = json.loads(frame)
            if answer["type"] in ("accepted", "refused", "error"):
                self.sent_turn = answer.get("turn", 0)
        elif STATUS.search(frame):
            self.idle_since = self.page.at[0] if is_idle(frame) else None

    def _has_ended(self) -> bool:
        return self.idle_since is not None and self.idle_since >= self.sent_turn

    async def has(self, text: str) -> None:
        """Receive until the text has come."""
        if not any(text in frame for frame in self.received):
            await self.until(lambda frame: text in frame)

    async def beat(self) -> None:
        """Say now and then what the page has, as pages do every few seconds."""
        while True:
            await asyncio.sleep(BEAT)
            await self.socket.send_to(text_data=self.page.have("heartbeat"))

    async def live(self) -> None:
        """Ask for everything, and go on as a page does."""
        await self.ask()
        await self.said("resynced")
        self.idle_since = None
        self.beating = asyncio.create_task(self.beat())

    async def close(self) -> None:
        if self.beating:
            self.beating.cancel()
        await self.socket.disconnect()

    async def said(self, kind: str) -> dict[str, Any]:
        """The next JSON frame of a type."""
        frame = await self.until(lambda frame: frame.startswith("{") and json.loads(frame)["type"] == kind)
        return dict(json.loads(frame))

    async def until_idle(self, turn_id: int | None = None) -> None:
        """Receive up to the state that ends a turn, unless that has come since the last such wait."""
        if not self._has_ended():
            await self.until(lambda _frame: self._has_ended())
        self.idle_since = None

    def last_turn(self) -> str:
        """The last drawing of a whole turn."""
        return self.drawn("#turn-", "outerMorph")[-1]

    def last_panel(self) -> str:
        """The last drawing of the todo panel."""
        return [html for target, _swap, html in self.partials() if "#todo-" in target][-1]

    def drawn(self, target: str, swap: str) -> list[str]:
        return [html for at, how, html in self.partials() if at.startswith(target) and how == swap]

    def partials(self) -> list[tuple[str, str, str]]:
        """Target, swap and HTML of everything that came."""
        found = [part for frame in self.received for part in PARTIAL.findall(frame)]
        return [(unescape(target), swap, html) for target, swap, html in found]


class Site:
    """What tests do with it."""

    def __init__(self, application: Any, user: User) -> None:
        self.application = application
        self.user = user
        self.tabs: list[Tab] = []

    async def conversation(self) -> Conversation:
        return await sync_to_async(Conversation.objects.create)(owner=self.user, title="Test")

    def socket(
        self, conversation_id: object, user: User | None = None, origin: str = "http://testserver"
    ) -> Tab:
        """A socket of the user's browser on a conversation, not yet connected."""
        return self.socket_at(f"/ws/conversations/{conversation_id}/", user, origin)

    def socket_at(self, path: str, user: User | None = None, origin: str = "http://testserver") -> Tab:
        """A socket of the user's browser at an address, not yet connected."""
        headers = [(b"host", b"testserver"), (b"origin", origin.encode())]
        if user := user or self.user:
            client = Client()
            client.force_login(user)
            session = client.cookies[settings.SESSION_COOKIE_NAME].value
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
        tab = Tab(WebsocketCommunicator(self.application, path, headers=headers))
        self.tabs.append(tab)
        return tab

    async def open(self, conversation: Conversation, user: User | None = None) -> Tab:
        tab = await sync_to_async(self.socket)(conversation.pk, user)
        assert await tab.connect()
        await tab.live()
        return tab

    async def board(self, user: User | None = None) -> Tab:
        """A socket of the user's browser on their board, which has come whole."""
        tab = await sync_to_async(self.socket_at)("/ws/board/", user)
        assert await tab.connect()
        await tab.live()
        return tab

    async def page(self, conversation: Conversation) -> str:
        """The conversation's page as a fresh load gives it."""
        return await self.page_at(f"/conversations/{conversation.pk}/")

    async def page_at(self, address: str) -> str:
        """A page as a fresh load gives it."""

        def load() -> str:
            client = Client()
            client.force_login(self.user)
            return client.get(address).content.decode()

        return await sync_to_async(load)()

    async def post(self, conversation: Conversation, action: str, **data: str) -> int:
        def send() -> int:
            client = Client()
            client.force_login(self.user)
            return client.post(f"/conversations/{conversation.pk}/{action}/", data).status_code

        return await sync_to_async(send)()

    async def turn(self, conversation: Conversation) -> Turn:
        """The latest turn, as its row tells it."""
        turn = await conversation.turns.order_by("pk").alast()
        assert turn is not None
        return turn

    async def close(self) -> None:
        for tab in self.tabs:
            await tab.close()


async def until(condition: Callable[[], Awaitable[bool]], patience: float = PATIENCE) -> None:
    """Look again and again until the condition holds."""
    end = time.monotonic() + patience
    while not await condition():
        assert time.monotonic() < end, "it did not come to pass"
        await asyncio.sleep(0)


def article(page: str, turn: Turn) -> str:
    """The turn as the page has it."""
    start = page.index(f'<article class="turn" id="turn-{turn.pk}"')
    return page[start : page.index("</article>", start) + len("</article>")]


def panel(page: str) -> str:
    """The todo panel as the page has it; empty for none."""
    start = page.find('<details id="todo-panel"')
    return page[start : page.index("</details>", start) + len("</details>")] if start >= 0 else ""
