"""The whole site in one event loop: sockets through communicators, a worker, a scripted model."""

from __future__ import annotations

import asyncio
import json
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

from chat.models import Conversation, Turn

PARTIAL = re.compile(r'<hx-partial hx-target="([^"]*)" hx-swap="(\w+)">(.*?)</hx-partial>', re.DOTALL)
PATIENCE = 10.0


class Tab:
    """An open socket, and all that came over it."""

    def __init__(self, socket: WebsocketCommunicator) -> None:
        self.socket = socket
        self.received: list[str] = []

    async def connect(self) -> bool:
        connected, _code = await self.socket.connect(timeout=PATIENCE)
        return bool(connected)

    async def send(self, text: Any, **more: Any) -> str:
        client_id = str(uuid.uuid4())
        await self.socket.send_json_to({"text": text, "client_id": client_id, **more})
        return client_id

    async def until(self, found: Callable[[str], Any]) -> str:
        """Receive up to the first frame that `found` says yes to, and give it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                frame = await self.socket.receive_from(timeout=PATIENCE)
                self.received.append(frame)
                if found(frame):
                    return frame

    async def said(self, kind: str) -> dict[str, Any]:
        """The next JSON frame of a type."""
        frame = await self.until(lambda frame: frame.startswith("{") and json.loads(frame)["type"] == kind)
        return dict(json.loads(frame))

    async def until_idle(self, turn_id: int | None = None) -> None:
        """Receive up to the state that ends a turn."""
        await self.until(lambda frame: 'id="conversation"' in frame and 'data-status="idle"' in frame)

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
        await tab.until(lambda frame: 'id="conversation"' in frame)
        return tab

    async def board(self, user: User | None = None) -> Tab:
        """A socket of the user's browser on their board, which has come whole."""
        tab = await sync_to_async(self.socket_at)("/ws/board/", user)
        assert await tab.connect()
        await tab.until(lambda frame: 'id="board-running"' in frame)
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
            await tab.socket.disconnect()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again until the condition holds."""
    end = time.monotonic() + PATIENCE
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
