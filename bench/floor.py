"""The minimal cost of a relay: a bare Daphne and Channels consumer that forwards a model's tokens.

It stores and renders nothing and does not authenticate. `openai` reads the stream with AsyncOpenAI, `aiohttp`
parses it by hand; `python -m bench.floor KIND MODEL` serves one on a free port.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.processes import Child
from bench.site import ROOT, Counts, Person

FLOORS = ("openai", "aiohttp")
IDLE = '<main id="conversation" data-status="idle"></main>'


class Floor:
    """A running relay with the interface of Site. A context manager."""

    def __init__(self, kind: str, folder: Path, model: str) -> None:
        self.kind = kind
        self.log = folder / f"floor-{kind}.log"
        self.model = model

    def __enter__(self) -> Floor:
        command = [sys.executable, "-m", "bench.floor", self.kind, self.model]
        self.child = Child(command, ROOT, self.log, os.environ)
        self.address = f"http{self.child.line('http')}"
        return self

    def __exit__(self, *_: object) -> None:
        self.child.__exit__()

    def enrol(self, count: int) -> list[Person]:
        return [Person("")] * count

    def counts(self) -> Counts:
        return Counts()


class Relay:
    @staticmethod
    def application(kind: str, model: str) -> Any:
        from channels.generic.websocket import AsyncWebsocketConsumer

        source = {"openai": _by_openai, "aiohttp": _by_aiohttp}[kind](model)

        class Consumer(AsyncWebsocketConsumer):  # type: ignore[misc] # Channels has no types
            async def receive(self, text_data: str = "", bytes_data: bytes = b"") -> None:
                message = json.loads(text_data)
                if "text" not in message:
                    return
                reply = {"type": "accepted", "client_id": message["client_id"], "turn": 1}
                await self.send(text_data=json.dumps(reply))
                messages = [{"role": "user", "content": message["text"]}]
                while await self._step(messages):
                    pass
                await self.send(text_data=IDLE)

            async def _step(self, messages: list[dict[str, Any]]) -> bool:
                """Relay one reply; returns True if it called tools, whose results are made up."""
                calls: list[dict[str, Any]] = []
                async for text, pieces in source(messages):
                    for piece in pieces:
                        if piece.get("id"):
                            calls.append(piece)
                    if text:
                        await self.send(text_data=f"<p>{text}</p>")
                tool_calls = [
                    {"id": each["id"], "type": "function", "function": each["function"]} for each in calls
                ]
                messages.append({"role": "assistant", "content": "", "tool_calls": tool_calls})
                for call in tool_calls:
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": "done"})
                    await self.send(text_data=f"<div>{json.dumps(call)}</div>")
                return bool(tool_calls)

        return Consumer.as_asgi()


Pieces = AsyncIterator[tuple[str, list[dict[str, Any]]]]
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]


def _by_openai(model: str) -> Any:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=model, api_key="sk-bench")

    async def read(messages: list[dict[str, Any]]) -> Pieces:
        create: Any = client.chat.completions.create
        async for chunk in await create(model="bench", messages=messages, tools=TOOLS, stream=True):
            if chunk.choices:
                delta = chunk.choices[0].delta
                yield delta.content or "", [piece.model_dump() for piece in delta.tool_calls or []]

    return read


def _by_aiohttp(model: str) -> Any:
    import aiohttp

    sessions: list[aiohttp.ClientSession] = []

    async def read(messages: list[dict[str, Any]]) -> Pieces:
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        body = {"model": "bench", "messages": messages, "tools": TOOLS, "stream": True}
        async with sessions[0].post(f"{model}/chat/completions", json=body) as answer:
            async for line in answer.content:
                if not line.startswith(b"data: {"):
                    continue
                choices = json.loads(line[6:])["choices"]
                if choices:
                    delta = choices[0]["delta"]
                    yield delta.get("content") or "", delta.get("tool_calls") or []

    return read


def main() -> None:
    """Serve until interrupted; the first line of output is the URL."""
    from twisted.internet import asyncioreactor

    asyncioreactor.install()  # type: ignore[no-untyped-call]
    import django
    from django.conf import settings

    settings.configure(ALLOWED_HOSTS=["*"], INSTALLED_APPS=["channels"], LOGGING_CONFIG=None)
    django.setup()
    from daphne.server import Server

    relay = Relay.application(*sys.argv[1:])

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await relay(scope, receive, send)
            return
        start = {"type": "http.response.start", "status": 200, "headers": []}
        if scope["method"] == "POST":
            start |= {"status": 302, "headers": [(b"Location", b"/conversations/1/")]}
        await send(start)
        await send({"type": "http.response.body", "body": IDLE.encode()})

    def ready() -> None:
        sys.stdout.write(f"http://127.0.0.1:{server.listening_addresses[0][1]}\n")
        sys.stdout.flush()

    server = Server(
        application=application, endpoints=["tcp:port=0:interface=127.0.0.1"], ready_callable=ready
    )
    server.run()


if __name__ == "__main__":
    main()
