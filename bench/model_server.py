"""A scripted chat-completions server with minimal cost: `python -m bench.model_server [--port N]`.

It replies at once, over raw HTTP with precomputed chunks. The last user message selects the reply:

    bench text 500 50       500 tokens at 50 tokens/s, one paragraph
    bench para 500 50       the same, a paragraph every 25 tokens
    bench fast 20000        20,000 tokens, in paragraphs, as fast as they are read
    bench agent 10 400 50   a list, ten rounds of `read_file`, every second with the list, 400 tokens
    bench note              writes the file that `bench agent` reads, then three tokens

A token is 12 characters long, `t123456.789 `: the time at which it was sent, in milliseconds of
CLOCK_MONOTONIC modulo one million. All processes of a machine share that clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

CYCLE = 1_000_000.0  # milliseconds after which the tokens' clock wraps around
PARAGRAPH = 25  # tokens
BATCH = 64  # tokens per write if not paced
COMMAND = re.compile(r"bench (text|para|fast|agent|note)((?: \d+)*)")
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"
FRAME = (
    'data: {"id":"bench","object":"chat.completion.chunk","created":1700000000,"model":"bench",'
    '"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}\n\n'
)
USAGE = (
    'data: {"id":"bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[],'
    '"usage":{"prompt_tokens":1000,"completion_tokens":%d,"total_tokens":%d}}\n\ndata: [DONE]\n\n'
)


class Clock:
    """Gives each token a unique time in microseconds."""

    latest = 0

    def token(self) -> str:
        self.latest = max(self.latest + 1, time.monotonic_ns() // 1000)
        return f"t{self.latest / 1000 % CYCLE:010.3f} "


clock = Clock()


def _http_chunk(text: str) -> bytes:
    data = text.encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def _delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _http_chunk(FRAME % (json.dumps(delta), json.dumps(finish)))


FIRST = _delta({"role": "assistant", "content": ""})
BEFORE, _, AFTER = _http_chunk(FRAME % ('{"content":"@@@@@@@@@@@@"}', "null")).partition(b"@" * 12)
WITH_BREAK = _http_chunk(FRAME % (r'{"content":"@@@@@@@@@@@\n\n"}', "null"))
BEFORE_BREAK, _, AFTER_BREAK = WITH_BREAK.partition(b"@" * 11)


class Script:
    """The scripted reply to a request: tool calls, or tokens at a rate (0: as fast as they are read)."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.tokens, self.rate, self.paragraph = 2, 0.0, PARAGRAPH
        messages = body.get("messages") or [{}]
        last = max((n for n, each in enumerate(messages) if each.get("role") == "user"), default=0)
        command = COMMAND.search(_text(messages[last]))
        if command and body.get("tools") is not None:  # requests without tools are for titles or summaries
            numbers = [int(number) for number in command[2].split()]
            rounds = sum(each.get("role") == "assistant" for each in messages[last:])
            getattr(self, f"_{command[1]}")(rounds, *numbers)

    def _text(self, _rounds: int, tokens: int = 500, rate: int = 50) -> None:
        self.tokens, self.rate, self.paragraph = tokens, rate, sys.maxsize

    def _para(self, _rounds: int, tokens: int = 500, rate: int = 50) -> None:
        self.tokens, self.rate = tokens, rate

    def _fast(self, _rounds: int, tokens: int = 20_000) -> None:
        self.tokens = tokens

    def _note(self, rounds: int) -> None:
        self.tokens = 3
        if rounds == 0:
            text = "".join(f"Line {number} of the notes.\n" for number in range(40))
            self.calls = [("write_file", {"path": "notes.txt", "content": text})]

    def _agent(self, rounds: int, tools: int = 10, tokens: int = 400, rate: int = 50) -> None:
        self._para(rounds, tokens, rate)
        if rounds > tools:
            return
        if rounds:
            self.calls.append(("read_file", {"path": "notes.txt", "limit": 10 + rounds}))
        if rounds % 2 == 0:
            self.calls.append(("TodoWrite", {"items": _items(rounds, tools)}))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def _items(done: int, count: int) -> list[dict[str, str]]:
    def status(place: int) -> str:
        return "completed" if place < done else "in_progress" if place == done else "pending"

    return [
        {"content": f"Read part {n}", "status": status(n), "activeForm": f"Reading part {n}"}
        for n in range(count)
    ]


class Connection(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self) -> None:
        self.received = b""
        self.timer: asyncio.TimerHandle | None = None
        self.unpaced: Iterator[bytes] | None = None
        self.paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.unpaced = None
        if self.timer:
            self.timer.cancel()

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self._send_unpaced()

    def data_received(self, data: bytes) -> None:
        """Answer each complete request. Clients do not pipeline."""
        self.received += data
        head, end, rest = self.received.partition(b"\r\n\r\n")
        match = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        size = int(match[1]) if match else 0
        if end and len(rest) >= size:
            self.received = rest[size:]
            self._answer(head.partition(b"\r\n")[0], rest[:size])

    def _answer(self, line: bytes, body: bytes) -> None:
        request = json.loads(body) if line.startswith(b"POST") and b"/chat/completions" in line else None
        if request is None:
            self._json({"object": "list", "data": [{"id": "bench", "object": "model"}]})
        elif not request.get("stream"):
            message = {"role": "assistant", "content": "A benchmark"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._json({"id": "bench", "object": "chat.completion", "model": "bench", "choices": [choice]})
        else:
            self._stream(Script(request))

    def _json(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(data) + data)

    def _stream(self, script: Script) -> None:
        self.transport.write(HEAD + FIRST)
        if script.calls:
            self.transport.write(_call_chunks(script.calls) + _ending("tool_calls", 50))
        elif script.rate:
            self.started, self.sent = asyncio.get_running_loop().time(), 0
            self._tick(script)
        else:
            self.unpaced = _unpaced_chunks(script)
            self._send_unpaced()

    def _tick(self, script: Script) -> None:
        loop = asyncio.get_running_loop()
        due = min(int((loop.time() - self.started) * script.rate + 1e-6) + 1, script.tokens)
        self.transport.write(b"".join(_token(script, number) for number in range(self.sent, due)))
        self.sent = due
        if due == script.tokens:
            self.transport.write(_ending("stop", due))
        else:
            self.timer = loop.call_at(self.started + due / script.rate, self._tick, script)

    def _send_unpaced(self) -> None:
        while self.unpaced and not self.paused:
            if data := next(self.unpaced, None):
                self.transport.write(data)
            else:
                self.unpaced = None


def _token(script: Script, number: int) -> bytes:
    token = clock.token().encode()
    if (number + 1) % script.paragraph:
        return BEFORE + token + AFTER
    return BEFORE_BREAK + token[:-1] + AFTER_BREAK


def _unpaced_chunks(script: Script) -> Iterator[bytes]:
    for start in range(0, script.tokens, BATCH):
        numbers = range(start, min(start + BATCH, script.tokens))
        yield b"".join(_token(script, number) for number in numbers)
    yield _ending("stop", script.tokens)


def _call_chunks(calls: list[tuple[str, dict[str, Any]]]) -> bytes:
    pieces = []
    for index, (name, arguments) in enumerate(calls):
        call_id = f"call_{time.monotonic_ns()}_{index}"
        function = {"name": name, "arguments": ""}
        pieces.append({"index": index, "id": call_id, "type": "function", "function": function})
        text = json.dumps(arguments)
        for start in range(0, len(text), 16):
            pieces.append({"index": index, "function": {"arguments": text[start : start + 16]}})
    return b"".join(_delta({"tool_calls": [piece]}) for piece in pieces)


def _ending(reason: str, tokens: int) -> bytes:
    return _delta({}, reason) + _http_chunk(USAGE % (tokens, tokens + 1000)) + END


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port, backlog=1024)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    asyncio.run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
