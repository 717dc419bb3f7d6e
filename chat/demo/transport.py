"""The demo model as an httpx2 transport: it answers in this process, whatever the URL."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator

import httpx2

from chat.demo.demo_request import DemoRequest, play
from chat.demo.reply import Reply, Request, stream
from chat.demo.scenarios import script

MODELS = {"object": "list", "data": [{"id": "demo", "object": "model", "created": 0, "owned_by": "demo"}]}


class DemoTransport(httpx2.AsyncBaseTransport):
    def __init__(self, pace: float) -> None:
        self.pace = pace

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, json=MODELS, request=request)
        asked = Request(json.loads(await request.aread()))
        body = _PacedBody(stream(asked, answer(asked)), self.pace)
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=body, request=request)


class _PacedBody(httpx2.AsyncByteStream):
    def __init__(self, chunks: Iterator[bytes], pace: float) -> None:
        self.chunks = chunks
        self.pace = pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for index, chunk in enumerate(self.chunks):
            if index:
                await asyncio.sleep(self.pace)
            yield chunk


def demo_transport(pace: float | None = None) -> httpx2.AsyncBaseTransport:
    """The demo model behind any URL.

    `pace` is the time between chunks in seconds, by default DEMO_PACE or 0.02. Raises ValueError if DEMO_PACE
    is invalid.
    """
    return DemoTransport(_pace() if pace is None else pace)


def _pace() -> float:
    text = os.environ.get("DEMO_PACE", "0.02")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 60:
        raise ValueError(f"DEMO_PACE is {text!r}; allowed are seconds between chunks, from 0 to 60")
    return seconds


def answer(request: Request) -> Reply:
    demo_request = DemoRequest.read(request)
    return play(script(demo_request), demo_request)
