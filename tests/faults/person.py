"""A user with a browser, as far as the wire is concerned: cookies, forms, and sockets that come back."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import uuid
from collections.abc import Coroutine
from typing import Any, TypeVar

import aiohttp
from yarl import URL

from tests.live.site import PARTIAL, PageState
from tests.serving import until

Got = TypeVar("Got")
AWAY = (aiohttp.ClientError, ConnectionError, TimeoutError)
BETWEEN = re.compile(r"<[^>]*>|\s+")
TIMEOUT = aiohttp.ClientTimeout(total=20)


class Person:
    """Signs in by a site's link. A context manager; a thread of its own does what happens on the wire."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.tabs: list[Tab] = []

    def sign_in(self, link: str) -> None:
        """Follow a sign-in link; raises AssertionError when it leads nowhere."""
        status, page = self._wait(self._get(link))
        assert status == 200, page

    def get(self, address: str) -> str:
        """The page at an address; raises one of AWAY when the site is away."""
        status, page = self._wait(self._get(address))
        assert status == 200, f"{address}: {status}\n{page[:2000]}"
        return page

    def post(self, address: str, **fields: str) -> str:
        """Where the answer to a form leads; raises one of AWAY when the site is away."""
        return self._wait(self._post(address, fields))

    def act(self, address: str, **fields: str) -> str:
        """What the page's script is answered, which asks for a text alone; raises as `post` does."""
        return self._wait(self._act(address, fields))

    def begin(self, address: str, text: str, client_id: uuid.UUID) -> uuid.UUID | None:
        """The conversation that `text` begins; None if the site went away before it said so."""
        try:
            return uuid.UUID(self.post(f"{address}/", text=text, client_id=str(client_id)).split("/")[-2])
        except AWAY:
            return None

    def open(self, address: str, conversation: uuid.UUID) -> Tab:
        """A tab on a conversation, which connects as soon as it can."""
        self.tabs.append(Tab(self, f"{address}/ws/conversations/{conversation}/", address))
        return self.tabs[-1]

    def close(self, tab: Tab) -> None:
        """Close a tab for good."""
        self.loop.call_soon_threadsafe(tab.living.cancel)
        self.tabs.remove(tab)

    def __enter__(self) -> Person:
        self.thread.start()
        self.session = self._wait(self._session())
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._leave())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    async def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), timeout=TIMEOUT)

    async def _get(self, address: str) -> tuple[int, str]:
        async with self.session.get(address) as answer:
            return answer.status, await answer.text()

    async def _act(self, address: str, fields: dict[str, str]) -> str:
        headers = self._token(address) | {"HX-Request": "true"}
        async with self.session.post(address, data=fields, headers=headers) as answer:
            assert answer.status in (200, 204), f"{address}: {answer.status}"
            return await answer.text()

    def _token(self, address: str) -> dict[str, str]:
        jar = self.session.cookie_jar.filter_cookies(URL(address))
        return {"X-CSRFToken": jar["csrftoken"].value}

    async def _post(self, address: str, fields: dict[str, str]) -> str:
        headers = self._token(address)
        posting = self.session.post(address, data=fields, headers=headers, allow_redirects=False)
        async with posting as answer:
            assert answer.status == 302, f"{address}: {answer.status}\n{(await answer.text())[:2000]}"
            return answer.headers["Location"]

    async def _leave(self) -> None:
        for tab in self.tabs:
            tab.living.cancel()
        await asyncio.gather(*(tab.living for tab in self.tabs), return_exceptions=True)
        await self.session.close()

    def _wait(self, work: Coroutine[Any, Any, Got]) -> Got:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)


class Tab:
    """A page as the wire sees it: a socket that is opened again whenever it ends, and all that was taken in.

    It says what it has as static/js/connection.js does.
    """

    beat = 8.0  # seconds between heartbeats

    def __init__(self, person: Person, address: str, origin: str) -> None:
        self.person = person
        self.address = address
        self.origin = origin
        self.received: list[str] = []
        self.page = PageState()
        self.words = ""  # all that came, without what is between words
        self.openings = self.asked = 0
        self.asking = self.again = False
        self.socket: aiohttp.ClientWebSocketResponse | None = None
        self.living = person._wait(self._begin())

    def send(self, text: str, client_id: uuid.UUID | None = None) -> uuid.UUID:
        """Send a message; raises one of AWAY when the socket is gone."""
        client_id = client_id or uuid.uuid4()
        if self.socket is None:
            raise ConnectionError("no socket is open")
        self.person._wait(self.socket.send_str(json.dumps({"text": text, "client_id": str(client_id)})))
        return client_id

    def accepted(self, client_id: uuid.UUID) -> bool:
        """Whether the site has said that it took the message in."""
        return any('"accepted"' in frame and str(client_id) in frame for frame in self._told())

    def until(self, text: str, seconds: float = 30.0) -> None:
        """Return once `text` has come, in pieces perhaps; raises AssertionError when that takes too long."""
        sought = BETWEEN.sub("", text)
        until(
            lambda: sought in self.words or any(text in each for each in self.received),
            lambda: f"no {text!r}",
            seconds,
        )

    def shown(self, turn_id: int) -> str:
        """The turn as it was last drawn whole; empty if it never was."""
        place = (f"#turn-{turn_id}", "outerMorph")
        target = 'hx-target="{}" hx-swap="{}"'.format(*place)
        frame = next((frame for frame in reversed(self.received) if target in frame), "")
        drawn = [content for *where, content in PARTIAL.findall(frame) if tuple(where) == place]
        return drawn[-1].strip() if drawn else ""

    def _told(self) -> list[str]:
        return [frame for frame in list(self.received) if frame.startswith("{")]

    async def _begin(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._live())

    async def _live(self) -> None:
        while True:
            try:
                await self._listen()
            except AWAY:
                self.socket = None
            await asyncio.sleep(0.1)  # as a browser waits before it tries again

    async def _listen(self) -> None:
        connecting = self.person.session.ws_connect(self.address, headers={"Origin": self.origin})
        async with connecting as self.socket:
            self.openings += 1
            self.asking = False
            await self._ask()
            beating = asyncio.create_task(self._beat())
            try:
                async for message in self.socket:
                    if message.type is aiohttp.WSMsgType.TEXT:
                        await self._hear(message.data)
            finally:
                beating.cancel()
        self.socket = None

    async def _hear(self, data: str) -> None:
        taken = self.page.takes(data)
        if taken:
            self.received.append(data)
            self.words += BETWEEN.sub("", data)
            self._take_in(data)
        elif taken is None:
            await self._ask()
        if data.startswith("{") and json.loads(data)["type"] == "resynced":
            self.asking = False
            if self.again:
                await self._ask()

    def _take_in(self, data: str) -> None:
        """Show what came."""

    async def _ask(self) -> None:
        self.again = self.asking
        if not self.asking:
            self.asking = True
            self.asked += 1
            await self._tell(self.page.have())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.beat)
            self.asking = False  # an answer that has not come by now is asked for again
            await self._tell(self.page.have("heartbeat"))

    async def _tell(self, said: str) -> None:
        if self.socket and not self.socket.closed:
            await self.socket.send_str(said)
