"""Bounds on what a client may cost the server, where Daphne 4.2.3 has none.

Daphne reads a request's body whole before the application hears of it, queues socket messages without end,
and sends without asking whether anybody reads; its timeouts begin only after the headers.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from typing import Any, ClassVar

from daphne.http_protocol import WebRequest
from daphne.server import Server, twisted_loop
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings
from django.utils.translation import gettext as _
from twisted.web import http

MAX_BODY = 1024 * 1024  # bytes of a request
# What may bring files.
UPLOADS = re.compile(rb"/(?:conversations/(?:import|[0-9a-f-]{36}/(?:messages|files/upload))/)?")
MAX_UPLOADS = 4  # larger bodies at a time, each of up to MAX_UPLOAD_BYTES and in memory once it is whole
UPLOAD_PACE = 32 * 1024  # bytes a second that an upload must come with, on the whole
HEADER_SECONDS = 10.0  # from the first byte to the last header
BODY_SECONDS = 60.0  # from there to the body's end
ANSWER_SECONDS = 30.0  # from there to the answer's beginning
LINGER_SECONDS = 2.0  # in which a refused client may read why
DOWNLOAD_STALL_SECONDS = 60.0  # that a client may leave unread what was sent

# Daphne obeys the first whoever sent it, and decodes both as ASCII: other bytes are a traceback in the log.
# The site has no use for either.
REMOVED_HEADERS = (b"daphne-root-path", b"sec-websocket-protocol")

TOO_LARGE = "This is larger than %d MiB.\n"
TOO_MANY = "Too many files are being sent at the moment. Try again in a minute.\n"


HTTPChannel: Any = http.HTTPChannel  # half annotated, and so of no use to a type checker


class GuardedServer(Server):
    """Daphne with bounds. Call `guard` when it is ready, before it takes connections."""

    def __init__(self, **options: Any) -> None:
        bounds = {"websocket_max_message_size": MAX_MESSAGE, "websocket_max_frame_size": MAX_MESSAGE}
        super().__init__(**bounds, **options)

    def run(self) -> None:
        """Serve until told to stop.

        Daphne leaves tasks pending when it stops, and CPython 3.11 may crash as it tears them down at its
        exit; the runner ends them in order before.
        """
        with asyncio.Runner(loop_factory=lambda: twisted_loop) as runner:
            runner.get_loop()
            super().run()

    def guard(self) -> None:
        """Have every new connection spoken with by the guarded protocols."""
        self.http_factory.protocol = GuardedChannel
        self.ws_factory.protocol = GuardedSocket

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Pass on what the application sends; a socket's next message waits until this one is on its way."""
        await super().handle_reply(protocol, message)
        if isinstance(protocol, GuardedSocket):
            await protocol.caught_up()
        elif message.get("more_body") and (channel := getattr(protocol, "channel", None)):
            await channel.caught_up()


class GuardedChannel(HTTPChannel):
    """A connection whose headers and body must come in time, and in bounds."""

    refused = False
    _deadline: Any = None
    _uploading: ClassVar[set[GuardedChannel]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.read = asyncio.Event()
        self.read.set()

    def connectionMade(self) -> None:  # noqa: N802 (Twisted's name)
        """Begin with the deadline running, for whoever connects and says nothing."""
        super().connectionMade()
        self.requestFactory = GuardedRequest  # Daphne sets its own on each connection
        self._arm(HEADER_SECONDS)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Take what came; a later request on the same connection starts the clock with its first byte."""
        if self.refused:
            return
        if self._deadline is None and self.line_mode:
            self._arm(HEADER_SECONDS)
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802
        """Refuse a body that is announced as too large; another has its own time to come."""
        length = self.length or 0
        if length > (most := self._most()):
            self.refuse("413 Content Too Large", TOO_LARGE % (most // 2**20))
            return
        if length > MAX_BODY:
            if len(self._uploading) >= MAX_UPLOADS:
                self.refuse("503 Service Unavailable", TOO_MANY)
                return
            self._uploading.add(self)
        self._arm(BODY_SECONDS + max(0, length - MAX_BODY) / UPLOAD_PACE)
        super().allHeadersReceived()

    def _most(self) -> int:
        """Bytes that the request's body may have: a form with files may have more, if it says how many."""
        request = self.requests[-1]
        kind = request.requestHeaders.getRawHeaders(b"content-type", [b""])[0]
        path = self._path.partition(b"?")[0]
        brings_files = self._command == b"POST" and kind.lower().startswith(b"multipart/form-data")
        if brings_files and UPLOADS.fullmatch(path):
            return MAX_BODY + int(settings.MAX_UPLOAD_BYTES)
        return MAX_BODY

    def allContentReceived(self) -> None:  # noqa: N802
        """The request is whole: from here on the application takes its time."""
        if not self.refused:
            self._disarm()
            super().allContentReceived()
        self._uploading.discard(self)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802
        """Nothing is waited for any more."""
        self._disarm()
        self._uploading.discard(self)
        self.read.set()
        super().connectionLost(reason)

    def refuse(self, status: str, sentence: str) -> None:
        """Answer so and read no more of it. Closed at once, the client would lose the answer."""
        self.refused = True
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(sentence)}"
        body = "" if self._command == b"HEAD" else sentence
        self.transport.write(f"{head}\r\nContent-Type: text/plain\r\n\r\n{body}".encode())
        self.transport.loseWriteConnection()
        self._arm(LINGER_SECONDS)

    async def caught_up(self) -> None:
        """Return once the client has read what was sent, or was cut off because it did not."""
        try:
            async with asyncio.timeout(DOWNLOAD_STALL_SECONDS):
                await self.read.wait()
        except TimeoutError:
            self.transport.abortConnection()

    def pauseProducing(self) -> None:  # noqa: N802 (Twisted's names)
        """The transport's buffer is full."""
        self.read.clear()
        super().pauseProducing()

    def resumeProducing(self) -> None:  # noqa: N802
        """The transport's buffer is empty."""
        self.read.set()
        super().resumeProducing()

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._deadline = self.callLater(seconds, self._too_late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        self.transport.abortConnection()


class GuardedRequest(WebRequest):
    """A request that is answered in time, whatever the application waits for.

    Its body is counted as it comes, for one that comes in chunks announces no length.
    """

    asked_at = math.inf

    def process(self) -> None:
        """The request is whole."""
        self.asked_at = time.monotonic()
        for name in REMOVED_HEADERS:
            self.requestHeaders.removeHeader(name)
        super().process()

    def check_timeouts(self) -> None:
        """Say that no answer comes, where none has begun for so long."""
        waits = self.application_queue is not None and not self._response_started  # and is no socket by now
        if waits and time.monotonic() - self.asked_at > ANSWER_SECONDS:
            sentence = _("The site is not responding. Try again in a moment.")
            self.basic_error(503, b"Service Unavailable", sentence)

    def __init__(self, *args: Any) -> None:
        # Twisted would parse a form for itself, in this loop and in ten times the form's size of memory.
        super().__init__(*args, parsePOSTFormSubmission=False)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 (Twisted's name)
        """Keep a piece of the body, unless it is one too many."""
        if self.channel.refused:
            return
        announced = self.channel in self.channel._uploading
        if self.content.tell() + len(data) > MAX_BODY and not announced:
            self.channel.refuse("413 Content Too Large", TOO_LARGE % (MAX_BODY // 2**20))
        else:
            super().handleContentChunk(data)


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
