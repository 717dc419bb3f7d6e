"""Bounds on what the client of a socket may cost: how much it says, and how long it leaves things unread."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from django.utils.translation import gettext as _

MAX_MESSAGE = 256 * 1024  # bytes of a message from the client, and of a frame of one
MAX_QUEUED = 1024 * 1024  # bytes of messages since the application last had none to take
RATE, BURST = 20.0, 40.0  # messages a second, and at once
STALL_SECONDS = 10.0  # that a client may leave unread what was sent

CLOSE_FLOODED = 4429


class GuardedSocket(WebSocketProtocol):
    """A socket that is closed when its client floods or does not read."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = False
        self.allowance = Allowance()
        self.queued = 0
        self.heard_at = time.monotonic()  # when it last said something, or was asked to
        self.read = asyncio.Event()
        self.read.set()

    def onConnect(self, request: Any) -> Any:  # noqa: N802 (Autobahn's name)
        """Have the transport tell this socket, and no longer the HTTP channel, when its buffer is full."""
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)
        return super().onConnect(request)

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803
        """Queue a message for the application; too many end the socket."""
        if self.refused:
            return
        self.heard_at = time.monotonic()
        self.queued = len(payload) + (self.queued if self.application_queue.qsize() else 0)
        if self.allowance.take() and self.queued <= MAX_QUEUED:
            super().onMessage(payload, isBinary)
        else:
            self._refuse()

    def _refuse(self) -> None:
        self.refused = True
        sentence = _("Too many messages at once. Wait a moment, then send again.")
        self.sendMessage(json.dumps({"type": "error", "message": sentence}).encode())
        self.sendClose(code=CLOSE_FLOODED)

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802
        """Send for the application; it may not know yet that the socket is closing.

        `sendMessage` would hold what is sent to the bound on what comes in (`maxMessagePayloadSize` is one
        option for both directions); a prepared message is not checked.
        """
        if self.state in (self.STATE_CLOSING, self.STATE_CLOSED):
            return
        if self.state == self.STATE_CONNECTING:
            self.serverAccept()
        payload = content.encode() if isinstance(content, str) else content
        self.sendPreparedMessage(self.factory.prepareMessage(payload, binary, doNotCompress=True))

    def check_timeouts(self) -> None:
        """Give up a handshake, or ask a silent client for a sign of life, in time.

        Daphne goes by a clock that may be set, and asks those too whose heartbeats come all the time.
        """
        since = time.monotonic() - self.heard_at
        if self.state == self.STATE_CONNECTING and since > self.server.websocket_connect_timeout:
            self.serverReject()
        elif self.state == self.STATE_OPEN and since > self.server.ping_interval:
            self.heard_at += since
            self._sendAutoPing()

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:  # noqa: N802, N803
        """Let go of whoever waits for the client to read."""
        self.read.set()
        super().onClose(wasClean, code, reason)

    async def caught_up(self) -> None:
        """Return once the client has read what was sent, or was cut off because it did not."""
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self.read.wait()
        except TimeoutError:
            self.transport.abortConnection()

    def pauseProducing(self) -> None:  # noqa: N802 (Twisted's names)
        """The transport's buffer is full."""
        self.read.clear()

    def resumeProducing(self) -> None:  # noqa: N802
        """The transport's buffer is empty."""
        self.read.set()

    def stopProducing(self) -> None:  # noqa: N802
        """The connection is gone."""
        self.read.set()


class Allowance:
    """Messages that may still come: it fills with time, and every message takes one."""

    def __init__(self) -> None:
        self.left = BURST
        self.counted_at = time.monotonic()

    def take(self) -> bool:
        """Whether one more message is within bounds."""
        now = time.monotonic()
        self.left = min(BURST, self.left + RATE * (now - self.counted_at))
        self.counted_at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True
