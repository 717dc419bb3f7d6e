"""An open tab as far as the wire is concerned: what it is sent, when, and how many bytes that took."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import time
import uuid
import zlib
from collections.abc import Callable

import aiohttp

from bench.model_server import CYCLE

TOKEN = re.compile(r"t(\d{6}\.\d{3})")
NUMBERED = re.compile(r"<!--(\d+)(?: anew)?-->")
BYTES_RECEIVED = 128  # where tcp_info has the count of bytes, in the kernel's linux/tcp.h


class Tab:
    """Speaks the page's protocol on a socket, and notes every message with its time of arrival."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.messages: list[tuple[float, str]] = []
        self.news = asyncio.Event()
        self.numbered = False
        self.listening = asyncio.create_task(self._listen())

    @classmethod
    async def open(cls, session: aiohttp.ClientSession, address: str, headers: dict[str, str]) -> Tab:
        """A tab on the socket at an address; it says that it has nothing yet."""
        made = await session.ws_connect(address, headers=headers, compress=15, max_msg_size=0)
        tab = cls(made)
        await made.send_str('{"type": "have"}')
        return tab

    async def close(self) -> None:
        """Close the socket."""
        await self.socket.close()
        await self.listening

    async def _listen(self) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                self.messages.append((time.monotonic(), message.data))
                self.news.set()
                await self._acknowledge(message.data)
        self.news.set()

    async def _acknowledge(self, data: str) -> None:
        """Where a site numbers what it sends over a socket, tell it what has come, as its page does."""
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
                if self.listening.done():
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
            begun = await self.tab.until(lambda data: bool(TOKEN.search(data)), accepted, seconds)
            self.end = await self.tab.until(_is_idle, begun, seconds - (time.monotonic() - self.at)) + 1
        except TimeoutError:
            return False
        finally:
            self.bytes = self.tab.received - self.bytes_before
        return True

    def _accepts(self, data: str) -> bool:
        return data.startswith("{") and self.client_id in data and json.loads(data)["type"] == "accepted"

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


def _is_idle(data: str) -> bool:
    return 'id="conversation"' in data and 'data-status="idle"' in data
