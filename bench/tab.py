"""An open tab as far as the wire is concerned: what it is sent, when, and how many bytes that took."""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import struct
import time
import uuid
import zlib
from collections.abc import Callable
from html import unescape

import aiohttp

from bench.model_server import CYCLE

TOKEN = re.compile(r"t(\d{6}\.\d{3})")
CONNECT = re.compile(r'hx-ws:connect="([^"]+)"')
AT = re.compile(r'data-at="(\d+)\.(\d+)\.(\d+)"')
REGION = re.compile(r'<[^>]*\bdata-region="([^"]*)"[^>]*>')
VERSION = re.compile(r'\bdata-v="([^"]*)"')
POSITION = re.compile(r"<!--=?(\d+)\.(\d+)\.(\d+)")
BEAT = 8.0  # seconds between a page's heartbeats, which all pages send at the same time
NUMBERED = re.compile(r"<!--(\d+)(?: anew)?-->")
BYTES_RECEIVED = 128  # where tcp_info has the count of bytes, in the kernel's linux/tcp.h


class Page:
    """What a page says that it has, see static/js/connection.js: how far it is, and its regions' versions."""

    def __init__(self, conversation: str, html: str) -> None:
        self.conversation = conversation
        self.html = html
        found = CONNECT.search(html)
        self.socket = unescape(found[1]) if found else f"/ws/conversations/{conversation}/"
        found = AT.search(html)
        self.says = found is not None  # older sites have pages that say nothing
        self.at = [int(number) for number in found.groups()] if found else [0, 0, 0]
        self.regions: dict[str, str] = {}
        self._note_regions(html)
        self.asked = self.again = False

    @property
    def have(self) -> dict[str, object]:
        """It as a question holds it; nothing, where pages do not say."""
        return {"at": self.at, "regions": self.regions} if self.says else {}

    def hear(self, data: str) -> str:
        """Take a message in; the type of what the page answers, or nothing."""
        if data.startswith("{"):
            return self._hear_word(json.loads(data)["type"]) if self.says else ""
        if found := POSITION.match(data):
            self.at = max(self.at, [int(number) for number in found.groups()])
        self._note_regions(data)
        return ""

    def ask(self) -> str:
        """A question, unless one is open; then it is put once more after that."""
        self.again, self.asked = self.asked, True
        return "" if self.again else "have"

    def _hear_word(self, kind: str) -> str:
        if kind == "changed":
            return self.ask()
        if kind != "resynced":
            return ""
        self.asked = False
        return self.ask() if self.again else ""

    def _note_regions(self, html: str) -> None:
        for tag in REGION.finditer(html) if "data-region" in html else ():
            if version := VERSION.search(tag[0]):
                self.regions[unescape(tag[1])] = unescape(version[1])


class Tab:
    """Speaks the page's protocol on a socket, and notes every message with its time of arrival."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, page: Page) -> None:
        self.socket = socket
        self.page = page
        self.messages: list[tuple[float, str]] = []
        self.news = asyncio.Event()
        self.numbered = False
        self.tasks = [asyncio.create_task(self._listen())]
        if page.says:
            self.tasks.append(asyncio.create_task(self._beat()))

    @classmethod
    async def open(
        cls, session: aiohttp.ClientSession, address: str, headers: dict[str, str], page: Page
    ) -> Tab:
        """A tab on the socket at an address; it says what its page has."""
        tab = cls(await session.ws_connect(address, headers=headers, compress=15, max_msg_size=0), page)
        await tab._say(page.ask())
        return tab

    async def close(self) -> None:
        """Close the socket."""
        await self.socket.close()
        for task in self.tasks[1:]:
            task.cancel()
        await asyncio.wait(self.tasks)

    @property
    def closed(self) -> bool:
        """Whether nothing more can come."""
        return self.tasks[0].done()

    async def _say(self, kind: str) -> None:
        if kind and not self.socket.closed:
            await self.socket.send_str(json.dumps({"type": kind, **self.page.have}))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT - time.time() % BEAT + random.random() / 2)
            await self._say("heartbeat")

    async def _listen(self) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                self.messages.append((time.monotonic(), message.data))
                self.news.set()
                await self._say(self.page.hear(message.data))
                await self._acknowledge(message.data)
        self.news.set()

    async def _acknowledge(self, data: str) -> None:
        """Where a site numbers what it sends over each socket, tell it what has come, as its page does."""
        if not self.numbered and (found := NUMBERED.match(data)):
            self.numbered = True
            await self.socket.send_str(json.dumps({"at": int(found[1])}))
        elif self.numbered and data.startswith('{"type": "mark"'):
            await self.socket.send_str(json.dumps({"at": json.loads(data)["number"]}))

    async def send(self, text: str) -> Sending:
        """Send a message of the user's."""
        sending = Sending(self, str(uuid.uuid4()))
        content = {"type": "message", "text": text, "client_id": sending.client_id}
        await self.socket.send_str(json.dumps(content))
        return sending

    async def until(self, found: Callable[[str], bool], start: int, seconds: float) -> int:
        """The place of the first message from `start` on that `found` is true of; raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while True:
                self.news.clear()
                for place in range(start, len(self.messages)):
                    if found(self.messages[place][1]):
                        return place
                start = len(self.messages)
                if self.closed:
                    raise ConnectionError("the site closed the socket")
                await self.news.wait()

    @property
    def received(self) -> int:
        """Bytes that came over the connection so far."""
        tcp = self.socket.get_extra_info("socket")
        info = tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_RECEIVED + 8)
        return int(struct.unpack_from("=Q", info, BYTES_RECEIVED)[0])


class Sending:
    """A message that was sent, and what came over the tab from then on."""

    def __init__(self, tab: Tab, client_id: str) -> None:
        self.tab = tab
        self.client_id = client_id
        self.start = len(tab.messages)
        self.bytes_before = tab.received
        self.at = time.monotonic()
        self.end: int | None = None
        self.bytes = 0  # that came over the connection, of what was offered to be compressed as browsers do

    async def finish(self, seconds: float) -> bool:
        """Return once the turn has ended, as the page shows it; False if that takes longer."""
        try:
            accepted = await self.tab.until(self._accepts, self.start, seconds)
            begun = await self.tab.until(self._shows_text, accepted, seconds)
            self.end = await self.tab.until(is_idle, begun, seconds - (time.monotonic() - self.at)) + 1
        except TimeoutError:
            return False
        finally:
            self.bytes = self.tab.received - self.bytes_before
        return True

    def _accepts(self, data: str) -> bool:
        return data.startswith("{") and self.client_id in data and json.loads(data)["type"] == "accepted"

    def _shows_text(self, data: str) -> bool:
        """Whether it holds a token that was written since."""
        now = time.monotonic()
        ages = ((now * 1000 - float(stamp)) % CYCLE / 1000 for stamp in TOKEN.findall(data))
        return any(now - age >= self.at for age in ages)

    @property
    def messages(self) -> list[tuple[float, str]]:
        """What came, up to the turn's end."""
        return self.tab.messages[self.start : self.end]

    @property
    def accepted_ms(self) -> float:
        """Milliseconds from sending to the word that the message was taken in."""
        return 1000 * (next(at for at, data in self.messages if self._accepts(data)) - self.at)

    def arrivals(self) -> list[tuple[float, float]]:
        """Of each token: milliseconds from its writing to its arrival; and its arrival by the clock.

        A drawing may hold tokens that came before: only the first arrival counts, and only in this turn.
        """
        found: dict[str, tuple[float, float]] = {}
        latest = ""
        for at, data in self.messages:
            start = data.rfind(latest) + len(latest) if latest and latest in data else 0
            for match in TOKEN.finditer(data, start):
                if match[1] not in found:
                    found[match[1]] = ((at * 1000 - float(match[1])) % CYCLE, at)
                    latest = match[0]
        return [(late, at) for late, at in found.values() if at - late / 1000 >= self.at - 0.01]

    @property
    def deflated(self) -> int:
        """Bytes that the messages take in permessage-deflate, with a context that is kept."""
        packer = zlib.compressobj(wbits=-15)
        for _at, data in self.tab.messages[: self.start]:  # what the context knows already
            packer.compress(data.encode())
        packer.flush(zlib.Z_SYNC_FLUSH)
        size = 0
        for _at, data in self.messages:
            packed = packer.compress(data.encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
            size += len(packed) - 4 + (2 if len(packed) < 130 else 4)
        return size


def is_idle(data: str) -> bool:
    """Whether a message, or a page, shows that no turn is active."""
    return 'id="conversation"' in data and 'data-status="idle"' in data
