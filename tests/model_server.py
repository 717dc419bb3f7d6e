"""A scripted chat-completions server on a real port, for every test, and the demo model for end-to-end runs.

`python -m tests.model_server --port 8100 --demo` serves the demo's rules until it is interrupted.
"""

from __future__ import annotations

import argparse
import functools
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import uvicorn

from chat.agent.prompts import text
from chat.demo.reply import Reply, Request
from chat.demo.server import Answer, App, Message, ModelServer, Receive, Send

TITLE_OPENINGS = [text("title", language).template.split("\n")[0] for language in ("en", "zh")]
NO_TITLE = Reply(text="")
EMPTY = Reply(status=500, body={"error": {"message": "script is empty", "type": "server_error"}})


class ScriptedModel:
    """A model that gives the scripted replies, one a request, then HTTP 500 "script is empty".

    What a conversation's title is asked with is answered by `title`, and is no request of the script's.

    Also a context manager. `answer` (a function of the Request, async or not) takes over where it is given;
    it may be set at any time.
    """

    def __init__(self, *replies: Reply, answer: Answer | None = None) -> None:
        self.replies = deque(replies)
        self.answer = answer
        self.title = NO_TITLE
        self.server = ModelServer(self._answer)
        self._port: Port | None = None

    def script(self, *replies: Reply) -> None:
        """Add replies to the end of the queue."""
        self.replies.extend(replies)

    def _answer(self, request: Request) -> Reply | Awaitable[Reply]:
        if asks_title(request.body):
            return self.title
        if self.answer is not None:
            return self.answer(request)
        return self.replies.popleft() if self.replies else EMPTY

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The body of every chat-completions request but those for titles, in order."""
        return [body for body in self.server.requests if not asks_title(body)]

    @property
    def title_requests(self) -> list[dict[str, Any]]:
        """The body of every request for a title, in order."""
        return [body for body in self.server.requests if asks_title(body)]

    def take_requests(self) -> list[dict[str, Any]]:
        """The requests so far, of which the lists then know nothing more."""
        taken, count = self.requests, len(self.server.requests)
        del self.server.requests[:count]
        return taken

    @property
    def disconnects(self) -> int:
        """How many clients left before their answer was complete; see `wait_for_disconnects`."""
        return self.server.disconnects

    @property
    def base_url(self) -> str:
        """What to give as OPENAI_BASE_URL."""
        if self._port is None:
            raise RuntimeError("the scripted model is served only inside its `with` block")
        return f"http://127.0.0.1:{self._port.number}/v1"

    def wait_for_requests(self, count: int = 1, seconds: float = 5.0) -> None:
        """Return once so many requests have come; raises AssertionError when that takes too long."""
        _wait(
            lambda: len(self.requests) >= count,
            seconds,
            lambda: f"{len(self.requests)} requests, not {count}",
        )

    def wait_for_disconnects(self, count: int = 1, seconds: float = 5.0) -> None:
        """Return once so many clients have left early; raises AssertionError when that takes too long."""
        _wait(
            lambda: self.disconnects >= count, seconds, lambda: f"{self.disconnects} disconnects, not {count}"
        )

    def __enter__(self) -> ScriptedModel:
        self._port = Port(self.server)
        return self

    def __exit__(self, *_: object) -> None:
        if self._port:
            self._port.close()
            self._port = None


class Port:
    """An app on a free loopback port, served by a thread of its own until it is closed."""

    def __init__(self, app: App) -> None:
        self.socket = listening()
        self.number: int = self.socket.getsockname()[1]
        self.server = uvicorn.Server(_config(app))
        # The socket listens already: a client may connect before the server's loop has begun.
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(5)
        self.socket.close()


class _Switch:
    """An app whose inside is exchanged from test to test, so that they share one port and one thread."""

    app: App

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


@functools.cache
def _shared() -> tuple[_Switch, Port]:
    switch = _Switch()
    return switch, Port(switch)


def asks_title(body: dict[str, Any]) -> bool:
    """Whether the request is the one that names a conversation."""
    messages = body.get("messages") or [{}]
    content = messages[-1].get("content") if isinstance(messages[-1], dict) else ""
    return isinstance(content, str) and any(content.startswith(opening) for opening in TITLE_OPENINGS)


@pytest.fixture
def model_server() -> Iterator[ScriptedModel]:
    """A ScriptedModel of this test's own, served on a port that all tests of the process share."""
    model = ScriptedModel()
    switch, port = _shared()
    switch.app = model.server
    model._port = port
    yield model
    model._port = None


def listening(port: int = 0) -> socket.socket:
    """A listening loopback socket; port 0 takes a free one."""
    bound = socket.create_server(("127.0.0.1", port), backlog=128)
    bound.setblocking(False)
    return bound


def _config(app: App) -> uvicorn.Config:
    return uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_level="critical", access_log=False)


def _wait(ready: Callable[[], bool], seconds: float, describe: Callable[[], str]) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"after {seconds} seconds: {describe()}"
        time.sleep(0.005)


def main() -> None:
    """Serve the demo's rules, or an empty script, on a loopback port."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--demo", action="store_true", help="answer by the demo's rules")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between chunks")
    options = parser.parse_args()
    bound = listening(options.port)
    sys.stdout.write(f"http://127.0.0.1:{bound.getsockname()[1]}/v1\n")
    sys.stdout.flush()
    uvicorn.Server(_config(ModelServer(_chosen(options.demo), options.pace))).run(sockets=[bound])


def _chosen(demo: bool) -> Answer:
    from chat.demo.transport import answer

    return answer if demo else lambda request: EMPTY


if __name__ == "__main__":
    main()
