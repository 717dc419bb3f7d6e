"""A tab as far as its traffic is concerned: what it receives, when, and how many bytes."""

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
HEARTBEAT = 8.0  # seconds between heartbeats, which all pages send at the same time
NUMBERED = re.compile(r"<!--(\d+)(?: anew)?-->")
BYTES_RECEIVED = 128  # offset of tcpi_bytes_received in tcp_info (linux/tcp.h)


class Page:
    """What a page reports, as in static/js/connection.js: its position and its regions' versions."""

    def __init__(self, conversation: str, html: str) -> None:
        self.conversation = conversation
        self.html = html
        match = CONNECT.search(html)
        self.socket = unescape(match[1]) if match else f"/ws/conversations/{conversation}/"
        match = AT.search(html)
        self.reports_state = match is not None  # pages of older versions report nothing
        self.at = [int(number) for number in match.groups()] if match else [0, 0, 0]
        self.regions: dict[str, str] = {}
        self._note_regions(html)
        self.is_resyncing = self.resync_again = False

    @property
    def have(self) -> dict[str, object]:
        return {"at": self.at, "regions": self.regions} if self.reports_state else {}

    def receive(self, data: str) -> str:
        if data.startswith("{"):
            return self._receive_json(json.loads(data)["type"]) if self.reports_state else ""
        if match := POSITION.match(data):
            self.at = max(self.at, [int(number) for number in match.groups()])
        self._note_regions(data)
        return ""

    def resync(self) -> str:
        """Request the missing content. While one request is pending, another is sent after it."""
        self.resync_again, self.is_resyncing = self.is_resyncing, True
        return "" if self.resync_again else "have"

    def _receive_json(self, kind: str) -> str:
        if kind == "changed":
            return self.resync()
        if kind != "resynced":
            return ""
        self.is_resyncing = False
        return self.resync() if self.resync_again else ""

    def _note_regions(self, html: str) -> None:
        for tag in REGION.finditer(html) if "data-region" in html else ():
            if version := VERSION.search(tag[0]):
                self.regions[unescape(tag[1])] = unescape(version[1])


class Tab:
    """Speaks the page's protocol on a socket and records every message with its time."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, page: Page) -> None:
        self.socket = socket
        self.page = page
        self.messages: list[tuple[float, str]] = []
        self.news = asyncio.Event()
        self.numbered = False
        self.tasks = [asyncio.create_task(self._listen())]
        if page.reports_state:
            self.tasks.append(asyncio.create_task(self._send_heartbeats()))

    @classmethod
    async def open(
        cls, session: aiohttp.ClientSession, address: str, headers: dict[str, str], page: Page
    ) -> Tab:
        tab = cls(await session.ws_connect(address, headers=headers, compress=15, max_msg_size=0), page)
        await tab._send_state(page.resync())
        return tab

    async def close(self) -> None:
        await self.socket.close()
        for task in self.tasks[1:]:
            task.cancel()
        await asyncio.wait(self.tasks)

    @property
    def closed(self) -> bool:
        return self.tasks[0].done()

    async def _send_state(self, kind: str) -> None:
        if kind and not self.socket.closed:
            await self.socket.send_str(json.dumps({"type": kind, **self.page.have}))

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT - time.time() % HEARTBEAT + random.random() / 2)
            await self._send_state("heartbeat")

    async def _listen(self) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                self.messages.append((time.monotonic(), message.data))
                self.news.set()
                await self._send_state(self.page.receive(message.data))
                await self._acknowledge(message.data)
        self.news.set()

    async def _acknowledge(self, data: str) -> None:
        """Acknowledge messages of older versions, which number them."""
        if not self.numbered and (match := NUMBERED.match(data)):
            self.numbered = True
            await self.socket.send_str(json.dumps({"at": int(match[1])}))
        elif self.numbered and data.startswith('{"type": "mark"'):
            await self.socket.send_str(json.dumps({"at": json.loads(data)["number"]}))

    async def send(self, text: str) -> Sending:
        sending = Sending(self, str(uuid.uuid4()))
        content = {"type": "message", "text": text, "client_id": sending.client_id}
        await self.socket.send_str(json.dumps(content))
        return sending

    async def until(self, matches: Callable[[str], bool], start: int, seconds: float) -> int:
        async with asyncio.timeout(seconds):
            while True:
                self.news.clear()
                for index in range(start, len(self.messages)):
                    if matches(self.messages[index][1]):
                        return index
                start = len(self.messages)
                if self.closed:
                    raise ConnectionError("the site closed the socket")
                await self.news.wait()

    @property
    def received(self) -> int:
        tcp = self.socket.get_extra_info("socket")
        info = tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_RECEIVED + 8)
        return int(struct.unpack_from("=Q", info, BYTES_RECEIVED)[0])


class Sending:
    def __init__(self, tab: Tab, client_id: str) -> None:
        self.tab = tab
        self.client_id = client_id
        self.start = len(tab.messages)
        self.bytes_before = tab.received
        self.at = time.monotonic()
        self.end: int | None = None
        self.bytes = 0  # received on the connection; compression is offered, as by browsers

    async def finish(self, seconds: float) -> bool:
        try:
            accepted = await self.tab.until(self._accepts, self.start, seconds)
            first_text = await self.tab.until(self._shows_text, accepted, seconds)
            self.end = await self.tab.until(is_idle, first_text, seconds - (time.monotonic() - self.at)) + 1
        except TimeoutError:
            return False
        finally:
            self.bytes = self.tab.received - self.bytes_before
        return True

    def _accepts(self, data: str) -> bool:
        return data.startswith("{") and self.client_id in data and json.loads(data)["type"] == "accepted"

    def _shows_text(self, data: str) -> bool:
        now = time.monotonic()
        ages = ((now * 1000 - float(stamp)) % CYCLE / 1000 for stamp in TOKEN.findall(data))
        return any(now - age >= self.at for age in ages)

    @property
    def messages(self) -> list[tuple[float, str]]:
        return self.tab.messages[self.start : self.end]

    @property
    def accepted_ms(self) -> float:
        return 1000 * (next(at for at, data in self.messages if self._accepts(data)) - self.at)

    def arrivals(self) -> list[tuple[float, float]]:
        """For each token: milliseconds from its writing to its arrival, and its arrival time.

        A message may repeat earlier tokens: only the first arrival counts, and only in this turn.
        """
        arrivals: dict[str, tuple[float, float]] = {}
        latest = ""
        for at, data in self.messages:
            start = data.rfind(latest) + len(latest) if latest and latest in data else 0
            for match in TOKEN.finditer(data, start):
                if match[1] not in arrivals:
                    arrivals[match[1]] = ((at * 1000 - float(match[1])) % CYCLE, at)
                    latest = match[0]
        return [(latency, at) for latency, at in arrivals.values() if at - latency / 1000 >= self.at - 0.01]

    @property
    def deflated(self) -> int:
        compressor = zlib.compressobj(wbits=-15)
        for _at, data in self.tab.messages[: self.start]:  # the context so far
            compressor.compress(data.encode())
        compressor.flush(zlib.Z_SYNC_FLUSH)
        size = 0
        for _at, data in self.messages:
            compressed = compressor.compress(data.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)
            size += len(compressed) - 4 + (2 if len(compressed) < 130 else 4)
        return size


def is_idle(data: str) -> bool:
    return 'id="conversation"' in data and 'data-status="idle"' in data
