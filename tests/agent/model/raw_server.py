"""A server on a real port that answers every request with given bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Respond = Callable[["Exchange"], Awaitable[None]]

HELLO = b'data: {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


class Exchange:
    """One request and the stream for its response."""

    def __init__(self, head: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.head, self.body, self.writer = head, body, writer

    @property
    def line(self) -> str:
        return self.head.split("\r\n", 1)[0]

    @property
    def headers(self) -> dict[str, str]:
        """The headers, names in lower case."""
        lines = [line.partition(": ") for line in self.head.split("\r\n")[1:] if line]
        return {name.lower(): value for name, _, value in lines}

    @property
    def asked(self) -> dict[str, object]:
        return dict(json.loads(self.body))

    async def write(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()


class RawServer:
    """The server's responses and the requests it received."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.exchanges: list[Exchange] = []
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (line.split(":")[1] for line in head.lower().split("\r\n") if "content-length" in line), "0"
            )
            exchange = Exchange(head, await reader.readexactly(int(length)), writer)
            self.exchanges.append(exchange)
            await self.respond(exchange)
        writer.close()


def response(body: bytes = HELLO, status: str = "200 OK", **headers: str) -> bytes:
    given = {"content_type": "text/event-stream", "content_length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}connection: close\r\n\r\n".encode() + body


@asynccontextmanager
async def raw_server(*answers: bytes | Respond) -> AsyncIterator[RawServer]:
    """Serve one response per request, repeating the last one."""

    async def respond(exchange: Exchange) -> None:
        answer = answers[min(len(served.exchanges), len(answers)) - 1]
        if isinstance(answer, bytes):
            await exchange.write(answer)
        else:
            await answer(exchange)

    served = RawServer(respond)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    async with server:
        yield served
