"""What is corrected in Daphne 4.2.3, each because no option of it, of Twisted or of Autobahn does.

- It has no option for its protocol classes: `GuardedServer.guard` sets them.
- It reads a request's whole body, of any size, before it calls the application: `GuardedChannel` limits it.
- `http_timeout` begins after the body and also ends running downloads, and Twisted's idle timeout restarts
  whenever data arrives: `GuardedChannel` and `GuardedRequest` have deadlines for headers, body and response.
- It measures time with the wall clock, which may be set: both `check_timeouts` use the monotonic one.
- It sends without backpressure: `GuardedServer.handle_reply` waits for the client.
- It queues messages of sockets without bound: `GuardedSocket` refuses a flood.
- One option limits messages of both directions: `GuardedSocket.serverSend` avoids it.
- It offers no compression of messages: `accept_compression`.
- It trusts the header Daphne-Root-Path from any client: `REMOVED_HEADERS`.
- Twisted parses forms on the event loop: `GuardedRequest` switches that off.
- It stops with tasks pending, which may crash CPython 3.11 at exit: `GuardedServer.run` cancels them.

With another version of Daphne, check each, then name that version here; a test compares.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from typing import Any, ClassVar

from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from daphne.http_protocol import WebRequest
from daphne.server import Server, twisted_loop
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings
from django.utils.translation import gettext as _
from twisted.web import http

from chat.agent.token_bucket import TokenBucket

MAX_BODY = 1024 * 1024  # bytes of a request
UPLOAD_PATHS = re.compile(rb"/(?:conversations/(?:import|[0-9a-f-]{36}/(?:messages|files/upload))/)?")
MAX_UPLOADS = 4  # concurrent bodies above MAX_BODY, each up to MAX_UPLOAD_BYTES and in memory once complete
UPLOAD_PACE = 32 * 1024  # minimum average bytes per second of an upload
HEADER_SECONDS = 10.0  # from the first byte to the last header
BODY_SECONDS = 60.0  # from there to the end of the body
RESPONSE_SECONDS = 30.0  # from there to the start of the response
LINGER_SECONDS = 2.0  # for a refused client to read the response
DOWNLOAD_STALL_SECONDS = 60.0  # for which a client may read nothing

# The site uses neither. Daphne trusts the first from any client and has no option against it, and it decodes
# both as ASCII: other bytes cause a traceback in the log.
REMOVED_HEADERS = (b"daphne-root-path", b"sec-websocket-protocol")

TOO_LARGE = "This is larger than %d MiB.\n"
TOO_MANY = "Too many files are being sent at the moment. Try again in a minute.\n"


HTTPChannel: Any = http.HTTPChannel  # only partly annotated


class GuardedServer(Server):
    """Daphne with limits. Call `guard` once the factories exist, before connections are accepted."""

    def __init__(self, **options: Any) -> None:
        bounds = {"websocket_max_message_size": MAX_MESSAGE, "websocket_max_frame_size": MAX_MESSAGE}
        super().__init__(**bounds, **options)

    def run(self) -> None:
        """Serve until stopped.

        Daphne stops the reactor with tasks still pending, and CPython 3.11 may crash when it destroys them at
        exit; asyncio.Runner cancels them first. Daphne has no hook after the reactor.
        """
        with asyncio.Runner(loop_factory=lambda: twisted_loop) as runner:
            runner.get_loop()
            super().run()

    def guard(self) -> None:
        self.http_factory.protocol = GuardedChannel
        self.ws_factory.protocol = GuardedSocket
        # Null origins are refused by the application; this option would be reset.
        self.ws_factory.setProtocolOptions(
            perMessageCompressionAccept=accept_compression, allowNullOrigin=True
        )

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Wait until the client has caught up: its buffer would grow without bound."""
        await super().handle_reply(protocol, message)
        if isinstance(protocol, GuardedSocket):
            await protocol.drained()
        elif message.get("more_body") and (channel := getattr(protocol, "channel", None)):
            await channel.drained()


class GuardedChannel(HTTPChannel):
    """A connection with deadlines for headers and body, and a limit on the body.

    Daphne reads bodies of any length before it calls the application (`request_buffer_size` only sizes the
    chunks passed on), and none of its timeouts covers a slow request.
    """

    refused = False
    _deadline: Any = None
    _uploading: ClassVar[set[GuardedChannel]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.drain_event = asyncio.Event()
        self.drain_event.set()

    def connectionMade(self) -> None:  # noqa: N802 (Twisted's name)
        """Start the deadline at once, for clients that connect and send nothing."""
        super().connectionMade()
        self.requestFactory = GuardedRequest  # Daphne sets its own on each connection
        self._arm(HEADER_SECONDS)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Restart the deadline with the first byte of each further request on the connection."""
        if self.refused:
            return
        if self._deadline is None and self.line_mode:
            self._arm(HEADER_SECONDS)
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802
        """Refuse a body that is announced as too large; the deadline grows with its length."""
        length = self.length or 0
        if length > (max_body := self._max_body()):
            self.refuse("413 Content Too Large", TOO_LARGE % (max_body // 2**20))
            return
        if length > MAX_BODY:
            if len(self._uploading) >= MAX_UPLOADS:
                self.refuse("503 Service Unavailable", TOO_MANY)
                return
            self._uploading.add(self)
        self._arm(BODY_SECONDS + max(0, length - MAX_BODY) / UPLOAD_PACE)
        super().allHeadersReceived()

    def _max_body(self) -> int:
        request = self.requests[-1]
        content_type = request.requestHeaders.getRawHeaders(b"content-type", [b""])[0]
        path = self._path.partition(b"?")[0]
        is_upload = self._command == b"POST" and content_type.lower().startswith(b"multipart/form-data")
        if is_upload and UPLOAD_PATHS.fullmatch(path):
            return MAX_BODY + int(settings.MAX_UPLOAD_BYTES)
        return MAX_BODY

    def allContentReceived(self) -> None:  # noqa: N802
        if not self.refused:
            self._disarm()
            super().allContentReceived()
        self._uploading.discard(self)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802
        self._disarm()
        self._uploading.discard(self)
        self.drain_event.set()
        super().connectionLost(reason)

    def refuse(self, status: str, sentence: str) -> None:
        """Send an error and read no more. Half-closes first, or the client could lose the response."""
        self.refused = True
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(sentence)}"
        body = "" if self._command == b"HEAD" else sentence
        self.transport.write(f"{head}\r\nContent-Type: text/plain\r\n\r\n{body}".encode())
        self.transport.loseWriteConnection()
        self._arm(LINGER_SECONDS)

    async def drained(self) -> None:
        try:
            async with asyncio.timeout(DOWNLOAD_STALL_SECONDS):
                await self.drain_event.wait()
        except TimeoutError:
            self.transport.abortConnection()

    def pauseProducing(self) -> None:  # noqa: N802 (Twisted's names)
        self.drain_event.clear()
        super().pauseProducing()

    def resumeProducing(self) -> None:  # noqa: N802
        self.drain_event.set()
        super().resumeProducing()

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._deadline = self.callLater(seconds, self._abort)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort(self) -> None:
        self._deadline = None
        self.transport.abortConnection()


class GuardedRequest(WebRequest):
    """A request whose response must start in time and whose body is limited as it arrives.

    Daphne's `http_timeout` also ends responses that are being sent, so it would cut long downloads. The body
    is counted here as well because a chunked one announces no length.
    """

    received_at = math.inf

    def process(self) -> None:
        self.received_at = time.monotonic()
        for name in REMOVED_HEADERS:
            self.requestHeaders.removeHeader(name)
        super().process()

    def check_timeouts(self) -> None:
        """Send 503 if no response has started in time. Replaces Daphne's check, which uses the wall clock."""
        # The request of a socket has no queue.
        is_waiting = self.application_queue is not None and not self._response_started
        if is_waiting and time.monotonic() - self.received_at > RESPONSE_SECONDS:
            sentence = _("The site is not responding. Try again in a moment.")
            self.basic_error(503, b"Service Unavailable", sentence)

    def __init__(self, *args: Any) -> None:
        # Parsing forms takes ten times their size in memory.
        super().__init__(*args, parsePOSTFormSubmission=False)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 (Twisted's name)
        if self.channel.refused:
            return
        announced = self.channel in self.channel._uploading
        if self.content.tell() + len(data) > MAX_BODY and not announced:
            self.channel.refuse("413 Content Too Large", TOO_LARGE % (MAX_BODY // 2**20))
        else:
            super().handleContentChunk(data)


def accept_compression(offers: list[Any]) -> PerMessageDeflateOfferAccept | None:
    """Accept permessage-deflate.

    The window is small: 40 KB of memory per socket instead of 256, and the paragraph being written, which is
    sent repeatedly, still fits in it. An idle socket allocates none.
    """
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            return PerMessageDeflateOfferAccept(  # type: ignore[no-untyped-call]
                offer,
                request_max_window_bits=CLIENT_WINDOW if offer.accept_max_window_bits else 0,
                window_bits=min(SERVER_WINDOW, offer.request_max_window_bits or SERVER_WINDOW),
                mem_level=COMPRESSION_MEMORY,
                max_message_size=MAX_MESSAGE,
            )
    return None


SERVER_WINDOW, CLIENT_WINDOW = 13, 9  # base-2 logarithms of bytes
MIN_COMPRESSED = 64  # bytes; answers to heartbeats are smaller
COMPRESSION_MEMORY = 4  # zlib's memLevel: 2**(4 + 9) bytes
MAX_MESSAGE = 256 * 1024  # bytes of a message from the client, and of a frame of one
MAX_QUEUED = 1024 * 1024  # bytes of messages since the application last emptied its queue
RATE, BURST = 20.0, 40.0  # messages per second, and at once
STALL_SECONDS = 10.0  # for which a client may read nothing

CLOSE_FLOODED = 4429


class GuardedSocket(WebSocketProtocol):
    """A socket that is closed if its client floods or stops reading.

    Daphne puts every message into an unbounded queue and limits only the size of each one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refused = False
        self.rate_limit = TokenBucket(BURST, RATE)
        self.queued = 0
        self.last_heard_at = time.monotonic()  # last message from the client, or ping to it
        self.drain_event = asyncio.Event()
        self.drain_event.set()

    def onConnect(self, request: Any) -> Any:  # noqa: N802 (Autobahn's name)
        """Register for backpressure; after the upgrade Daphne leaves the HTTP channel registered."""
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)
        return super().onConnect(request)

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803
        if self.refused:
            return
        self.last_heard_at = time.monotonic()
        self.queued = len(payload) + (self.queued if self.application_queue.qsize() else 0)
        if self.rate_limit.take() and self.queued <= MAX_QUEUED:
            super().onMessage(payload, isBinary)
        else:
            self._refuse()

    def _refuse(self) -> None:
        self.refused = True
        sentence = _("Too many messages at once. Wait a moment, then send again.")
        self.sendMessage(json.dumps({"type": "error", "message": sentence}).encode())
        self.sendClose(code=CLOSE_FLOODED)

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802
        """Send, unless the socket is closing, which the application may not know yet.

        Daphne calls `sendMessage`, which applies the incoming limit: `maxMessagePayloadSize` is one option
        for both directions. An uncompressed prepared message is not checked.
        """
        if self.state in (self.STATE_CLOSING, self.STATE_CLOSED):
            return
        if self.state == self.STATE_CONNECTING:
            self.serverAccept()
        payload = content.encode() if isinstance(content, str) else content
        plain = not MIN_COMPRESSED <= len(payload) <= MAX_MESSAGE
        self.sendPreparedMessage(self.factory.prepareMessage(payload, binary, doNotCompress=plain))

    def check_timeouts(self) -> None:
        """Reject a slow handshake, or ping a silent client.

        Daphne measures with the wall clock, which may be set. Its `websocket_timeout` is not applied: sockets
        may stay open.
        """
        since = time.monotonic() - self.last_heard_at
        if self.state == self.STATE_CONNECTING and since > self.server.websocket_connect_timeout:
            self.serverReject()
        elif self.state == self.STATE_OPEN and since > self.server.ping_interval:
            self.last_heard_at += since
            self._sendAutoPing()

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:  # noqa: N802, N803
        self.drain_event.set()
        super().onClose(wasClean, code, reason)

    async def drained(self) -> None:
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self.drain_event.wait()
        except TimeoutError:
            self.transport.abortConnection()

    def pauseProducing(self) -> None:  # noqa: N802 (Twisted's names)
        self.drain_event.clear()

    def resumeProducing(self) -> None:  # noqa: N802
        self.drain_event.set()

    def stopProducing(self) -> None:  # noqa: N802
        self.drain_event.set()
