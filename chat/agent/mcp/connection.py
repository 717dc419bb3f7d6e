"""A lasting connection with a tool server, brought back when it breaks."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
from mcp import Client, MCPError, types
from pydantic import ValidationError

from chat.agent.limits import Retry
from chat.agent.mcp.definition import Definition
from chat.agent.mcp.server import Program, Server, ServerError
from chat.agent.sandbox.process import Output
from chat.agent.storable import storable

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock


CONNECT_SECONDS = 30.0
LIST_EVERY = 300.0  # seconds; not every server says when its tools change
LIST_PAUSE = 1.0  # seconds at least between two listings, however often a server says so
LASTED = 60.0  # seconds that a connection must have held for the next break to count as the first
_NO_ANSWER = "It gave no answer within {seconds:g} seconds. Whether it did its work is not known."


# What the package logs, servers write: they could fill the site's log. What matters is a fault here.
for _name in ("client", "mcp"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Connection:
    """One server: connected to, listed, called, and reconnected to with growing pauses, until closed.

    A single task of its own enters and leaves everything that the connection consists of, because anyio's
    scopes must be left by the task that entered them. `on_news` is called whenever `fault` or `tools` may
    have changed.
    """

    def __init__(
        self,
        server: Server,
        on_news: Callable[[], None] = lambda: None,
        retry: Retry | None = None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self.server = server
        self.tools: Mapping[str, Definition] | None = None
        """What the server offers by its last listing; None before the first."""
        self.fault: Fault | None = None
        """What is wrong with it at the moment."""
        self._on_news = on_news
        self._connect_seconds = connect_seconds
        self._retry = retry or Retry(first_delay=1, max_delay=60)
        self._client: Client | None = None
        self._tried = asyncio.Event()
        self._over, self._stir = asyncio.Event(), asyncio.Event()
        self._closing = asyncio.Event()
        self._lost: Fault | None = None
        self._answered = 0.0
        self._attempt: asyncio.Timeout | None = None
        self._calls: set[asyncio.Task[types.CallToolResult]] = set()
        # A context of its own: the connection outlives the turn that may have asked for it.
        self._owner = asyncio.get_running_loop().create_task(self._own(), context=Context())

    @property
    def connected(self) -> bool:
        """Whether a call would reach the server, as far as is known."""
        return self._client is not None

    @property
    def calls(self) -> int:
        """How many calls are under way, those included that were let go and are not over yet."""
        return len(self._calls)

    async def tried(self) -> None:
        """Return once it is known whether the server can be reached."""
        await self._tried.wait()

    async def call(self, accepted: Definition, arguments: Mapping[str, Any]) -> str:
        """Call a tool as it was accepted, and give its result as text.

        Raises ServerError with a sentence when the server cannot be reached, does not answer in time, has
        changed the tool, or says that the call failed. Cancelling lets go at once; the server is told.
        """
        seconds = self.server.seconds
        began = time.monotonic()
        client = await self._ready(seconds)
        current = (self.tools or {}).get(accepted.name)
        if current is None or current.fingerprint != accepted.fingerprint:
            raise ServerError("This tool has changed at its server, and waits for the administrator.")
        task = self._start_call(client, accepted.name, arguments)
        try:
            await asyncio.wait([task], timeout=began + seconds - time.monotonic())
        finally:
            task.cancel()  # of no effect where it is done; else it tells the server, in its own time
        if not task.done():
            self._mind_silence(began)
            raise ServerError(_NO_ANSWER.format(seconds=seconds))
        self._answered = time.monotonic()
        return self._text(task)

    async def close(self) -> None:
        """End the connection, the server's process with it, and every call."""
        self._closing.set()
        self._end(None)
        if self._attempt and not self.connected:
            with suppress(RuntimeError):  # it is over already
                self._attempt.reschedule(asyncio.get_running_loop().time())
        for call in self._calls:
            call.cancel()
        await asyncio.wait([self._owner, *self._calls])

    async def _ready(self, seconds: float) -> Client:
        """The client, once the attempt that may be under way is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._tried.wait()
        except TimeoutError:
            raise ServerError(f"The server {self.server.name} is still starting; try again later.") from None
        if self._client is None:
            why = f" {self.fault.sentence}" if self.fault else ""
            raise ServerError(f"The server {self.server.name} cannot be used at the moment.{why}")
        return self._client

    def _start_call(
        self, client: Client, name: str, arguments: Mapping[str, Any]
    ) -> asyncio.Task[types.CallToolResult]:
        task = asyncio.get_running_loop().create_task(asked(client, name, arguments), context=Context())
        self._calls.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[types.CallToolResult]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, or asyncio complains that nobody did

    def _text(self, task: asyncio.Task[types.CallToolResult]) -> str:
        try:
            return text_of(task)
        except BrokenOffError as broken:
            raise ServerError(self._broken_off(str(broken))) from None

    def _broken_off(self, why: str) -> str:
        """The connection ended under a call: have it renewed, and say so."""
        fault = self._lost or self.fault or Fault(why)
        self._end(fault)
        return f"The connection broke off. {fault.sentence} Whether the call did its work is not known."

    def _mind_silence(self, since: float) -> None:
        """A server that has answered no call since then is taken for hung, and started anew."""
        if self._answered < since:
            self._end(Fault(f"It gave no answer within {self.server.seconds:g} seconds."))

    def _end(self, why: Fault | None) -> None:
        """Have the owner leave the connection."""
        self._lost = self._lost or why
        self._over.set()
        self._stir.set()

    async def _own(self) -> None:
        """The owner task: connects, again and again, until the connection is closed."""
        try:
            await self._keep()
        finally:
            self._client = None
            self._tried.set()

    async def _keep(self) -> None:
        failures = 0
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                await self._hold()
            except Exception as error:  # whatever it is, the site goes on and says so
                self._lost = self._lost or fault_of(error)
            self._client = None
            if self._closing.is_set():
                break
            self._tell(self._lost or Fault("The connection ended."))
            failures = 1 if time.monotonic() - began > LASTED else failures + 1
            self._tried.set()
            await self._rest(self._retry.delay(min(failures, 16), None))

    async def _rest(self, seconds: float) -> None:
        self._over.clear()
        self._stir.clear()
        if not self._closing.is_set():
            await _within(self._over, seconds)
        self._over.clear()
        self._lost = None

    async def _hold(self) -> None:
        """Connect, list, and stay until something ends the connection."""
        async with AsyncExitStack() as held:
            async with asyncio.timeout(self._connect_seconds) as self._attempt:
                client = await held.enter_async_context(self._made_client())
                self.tools = await listed(client)
            self._client = client
            self._tell(None)
            self._tried.set()
            while not await _within(self._over, LIST_PAUSE):
                await _within(self._stir, LIST_EVERY)
                self._stir.clear()
                if not self._over.is_set():
                    await self._list_again(client)
            self._client = None

    def _made_client(self) -> Client:
        return Client(
            self._transport(),
            message_handler=self._hear,
            client_info=types.Implementation(name="agentsite", version="1"),
            cache=None,
            read_timeout_seconds=None,
        )

    def _transport(self) -> Any:
        reached = self.server.reached
        if isinstance(reached, Program):
            from chat.agent.mcp.stdio import pipes

            return pipes(
                reached, lambda process: self._end(Fault(process.over, " ".join(process.said.split())))
            )
        from chat.agent.mcp.http import http

        return http(reached, self.server.seconds)

    async def _hear(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._stir.set()

    async def _list_again(self, client: Client) -> None:
        async with asyncio.timeout(self._connect_seconds):
            self.tools = await listed(client)
        self._on_news()

    def _tell(self, fault: Fault | None) -> None:
        self.fault = fault
        self._on_news()


async def _within(event: asyncio.Event, seconds: float) -> bool:
    """Whether the event happened in that time."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


class BrokenOffError(Exception):
    """The connection ended under the call."""


async def asked(client: Client, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """The server's answer. Not by `client.call_tool`, which runs patterns of the server's over results."""
    params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
    return await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)


def text_of(call: asyncio.Task[types.CallToolResult]) -> str:
    """The text of a call that is over; raises ServerError if it failed, BrokenOffError if it was lost."""
    try:
        result = call.result()
    except MCPError as error:
        if error.code == types.CONNECTION_CLOSED or error.message == "Session terminated":
            raise BrokenOffError(error.message) from None
        raise ServerError(capped(error.message)) from None
    except (ValidationError, ValueError):
        raise ServerError("It answered in a form that the protocol does not know.") from None
    except asyncio.CancelledError:
        raise BrokenOffError("It was closed.") from None
    if result.is_error:
        raise ServerError(shown(result))
    return shown(result)


PART = 24 * 1024
"""Bytes kept of a result's beginning, and of its end."""


def shown(result: CallToolResult) -> str:
    """The result's text, images and the like as a line about each, and the middle of a long one left out.

    Structured content is shown where there is no text: servers send the same as text beside it.
    """
    lines = [line for block in result.content for line in _lines(block)]
    if result.structured_content is not None and not any(block.type == "text" for block in result.content):
        lines.append(json.dumps(result.structured_content, ensure_ascii=False, default=str))
    return capped("\n".join(lines)) or "(no output)"


def capped(text: str) -> str:
    """The beginning and the end of a long text, with a line between them that counts what is left out."""
    kept = Output(PART, PART)
    kept.feed(text.encode(errors="replace"))
    return kept.text()


def _lines(block: ContentBlock) -> Iterator[str]:
    match block.type:
        case "text":
            yield block.text
        case "image" | "audio":
            yield f"[{block.type}, {block.mime_type}, {_size(block.data)}, not shown]"
        case "resource_link":
            about = ", ".join(filter(None, [block.name, block.mime_type, block.description]))
            yield f"[resource {block.uri} ({about})]"
        case "resource":
            resource = block.resource
            kind = resource.mime_type or "unknown type"
            if hasattr(resource, "text"):
                yield f"[resource {resource.uri}, {kind}]"
                yield resource.text
            else:
                yield f"[resource {resource.uri}, {kind}, {_size(resource.blob)}, not shown]"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 / 4 / 1024:.1f} KiB"


PAGES = 20
TOOLS = 200


async def listed(client: Client) -> dict[str, Definition]:
    """All of the server's tools by name; raises ServerError when there is no end of them.

    Of two with the same name the first counts.
    """
    found: dict[str, Definition] = {}
    cursor: str | None = None
    for _page in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            found.setdefault(tool.name, Definition.read(tool.name, tool.description, tool.input_schema))
        cursor = page.next_cursor
        if len(found) > TOOLS:
            break
        if not cursor:
            return found
    raise ServerError(f"It lists more than {TOOLS} tools, or no end of pages of them.")


_LONGEST = 400


@dataclass(frozen=True)
class Fault:
    """A sentence that model and visitors may read, and a detail for the administrator alone."""

    sentence: str
    detail: str = ""


def fault_of(error: BaseException) -> Fault:
    """The fault behind an exception that ended a connection, whatever it was wrapped in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    detail = " ".join(storable(str(error)).split())[:_LONGEST]
    match error:
        case ServerError():
            return Fault(detail)
        case TimeoutError() | httpx2.TimeoutException():
            return Fault("It did not answer in time.", detail)
        case httpx2.HTTPError() | httpx2.StreamError() | OSError():
            return Fault("It cannot be reached.", detail)
        case MCPError():
            return Fault("It answered with an error of the protocol.", detail)
        case ValidationError() | ValueError():
            return Fault("It answered in a form that the protocol does not know.", detail)
        case _:
            return Fault("The connection failed.", f"{type(error).__name__}: {detail}")
