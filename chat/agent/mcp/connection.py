"""A persistent connection to a tool server that reconnects when it breaks."""

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
LIST_EVERY = 300.0  # seconds; not every server reports changes of its tools
LIST_PAUSE = 1.0  # seconds at least between two listings, however often a server reports changes
STABLE = 60.0  # seconds after which a connection's next failure counts as the first
_NO_ANSWER = "It gave no answer within {seconds:g} seconds. Whether it did its work is not known."


# The package logs text from servers, which could fill the site's log. Relevant errors become faults.
for _name in ("client", "mcp"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Connection:
    """A connection to one server: connects, lists tools, calls, and reconnects with growing delays.

    One task owns everything of the connection, because anyio's scopes must be left by the task that entered
    them. `on_change` is called when `fault` or `tools` may have changed.
    """

    def __init__(
        self,
        server: Server,
        on_change: Callable[[], None] = lambda: None,
        retry: Retry | None = None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self.server = server
        self.tools: Mapping[str, Definition] | None = None
        """The server's tools as last listed; None before the first listing."""
        self.fault: Fault | None = None
        """Why the server cannot be used at the moment."""
        self._on_change = on_change
        self._connect_seconds = connect_seconds
        self._retry = retry or Retry(first_delay=1, max_delay=60)
        self._client: Client | None = None
        self._tried = asyncio.Event()
        self._ended, self._relist = asyncio.Event(), asyncio.Event()
        self._closing = asyncio.Event()
        self._end_fault: Fault | None = None
        self._answered = 0.0
        self._attempt: asyncio.Timeout | None = None
        self._calls: set[asyncio.Task[types.CallToolResult]] = set()
        # Own context: the connection outlives the turn that may have created it.
        self._owner = asyncio.get_running_loop().create_task(self._run(), context=Context())

    @property
    def connected(self) -> bool:
        return self._client is not None

    @property
    def calls(self) -> int:
        """The number of running calls, including cancelled ones that have not ended yet."""
        return len(self._calls)

    async def tried(self) -> None:
        """Wait for the first attempt to connect."""
        await self._tried.wait()

    async def call(self, accepted: Definition, arguments: Mapping[str, Any]) -> str:
        """Call a tool as it was accepted and return its result as text.

        Raises ServerError with a sentence if the server cannot be reached, does not answer in time, has
        changed the tool, or reports a failure. Cancelling returns at once and notifies the server.
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
            task.cancel()  # if it is not done, notifies the server in the background
        if not task.done():
            self._check_for_hang(began)
            raise ServerError(_NO_ANSWER.format(seconds=seconds))
        self._answered = time.monotonic()
        return self._text(task)

    async def close(self) -> None:
        self._closing.set()
        self._end(None)
        if self._attempt and not self.connected:
            with suppress(RuntimeError):  # it has ended
                self._attempt.reschedule(asyncio.get_running_loop().time())
        for call in self._calls:
            call.cancel()
        await asyncio.wait([self._owner, *self._calls])

    async def _ready(self, seconds: float) -> Client:
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
        task = asyncio.get_running_loop().create_task(send_call(client, name, arguments), context=Context())
        self._calls.add(task)
        task.add_done_callback(self._call_done)
        return task

    def _call_done(self, task: asyncio.Task[types.CallToolResult]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it

    def _text(self, task: asyncio.Task[types.CallToolResult]) -> str:
        try:
            return result_of(task)
        except ConnectionLostError as broken:
            raise ServerError(self._connection_lost(str(broken))) from None

    def _connection_lost(self, why: str) -> str:
        fault = self._end_fault or self.fault or Fault(why)
        self._end(fault)
        return f"The connection broke off. {fault.sentence} Whether the call did its work is not known."

    def _check_for_hang(self, since: float) -> None:
        """Reconnect to a server that has answered no call since then."""
        if self._answered < since:
            self._end(Fault(f"It gave no answer within {self.server.seconds:g} seconds."))

    def _end(self, why: Fault | None) -> None:
        self._end_fault = self._end_fault or why
        self._ended.set()
        self._relist.set()

    async def _run(self) -> None:
        try:
            await self._reconnect()
        finally:
            self._client = None
            self._tried.set()

    async def _reconnect(self) -> None:
        failures = 0
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                await self._stay_connected()
            except Exception as error:  # whatever it is becomes the fault
                self._end_fault = self._end_fault or fault_of(error)
            self._client = None
            if self._closing.is_set():
                break
            self._set_fault(self._end_fault or Fault("The connection ended."))
            failures = 1 if time.monotonic() - began > STABLE else failures + 1
            self._tried.set()
            await self._wait_to_reconnect(self._retry.delay(min(failures, 16), None))

    async def _wait_to_reconnect(self, seconds: float) -> None:
        self._ended.clear()
        self._relist.clear()
        if not self._closing.is_set():
            await _within(self._ended, seconds)
        self._ended.clear()
        self._end_fault = None

    async def _stay_connected(self) -> None:
        async with AsyncExitStack() as resources:
            async with asyncio.timeout(self._connect_seconds) as self._attempt:
                client = await resources.enter_async_context(self._create_client())
                self.tools = await list_tools(client)
            self._client = client
            self._set_fault(None)
            self._tried.set()
            while not await _within(self._ended, LIST_PAUSE):
                await _within(self._relist, LIST_EVERY)
                self._relist.clear()
                if not self._ended.is_set():
                    await self._list_again(client)
            self._client = None

    def _create_client(self) -> Client:
        return Client(
            self._transport(),
            message_handler=self._on_message,
            client_info=types.Implementation(name="agentsite", version="1"),
            cache=None,
            read_timeout_seconds=None,
        )

    def _transport(self) -> Any:
        reached = self.server.reached
        if isinstance(reached, Program):
            from chat.agent.mcp.stdio import pipes

            return pipes(
                reached,
                lambda process: self._end(Fault(process.end_reason, " ".join(process.stderr_text.split()))),
            )
        from chat.agent.mcp.http import http

        return http(reached, self.server.seconds)

    async def _on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._relist.set()

    async def _list_again(self, client: Client) -> None:
        async with asyncio.timeout(self._connect_seconds):
            self.tools = await list_tools(client)
        self._on_change()

    def _set_fault(self, fault: Fault | None) -> None:
        self.fault = fault
        self._on_change()


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


class ConnectionLostError(Exception):
    pass


async def send_call(client: Client, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Send the call. Not `client.call_tool`, which runs the server's regular expressions on results."""
    params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
    return await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)


def result_of(call: asyncio.Task[types.CallToolResult]) -> str:
    """The text of a finished call; raises ServerError if it failed, ConnectionLostError if it was lost."""
    try:
        result = call.result()
    except MCPError as error:
        if error.code == types.CONNECTION_CLOSED or error.message == "Session terminated":
            raise ConnectionLostError(error.message) from None
        raise ServerError(truncated(error.message)) from None
    except (ValidationError, ValueError):
        raise ServerError("It answered in a form that the protocol does not know.") from None
    except asyncio.CancelledError:
        raise ConnectionLostError("It was closed.") from None
    if result.is_error:
        raise ServerError(result_text(result))
    return result_text(result)


PART = 24 * 1024  # bytes kept of a result's beginning, and of its end


def result_text(result: CallToolResult) -> str:
    """The result as text, truncated; structured content only if there is no text, which repeats it."""
    lines = [line for block in result.content for line in _lines(block)]
    if result.structured_content is not None and not any(block.type == "text" for block in result.content):
        lines.append(json.dumps(result.structured_content, ensure_ascii=False, default=str))
    return truncated("\n".join(lines)) or "(no output)"


def truncated(text: str) -> str:
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


async def list_tools(client: Client) -> dict[str, Definition]:
    """All tools by name, the first of duplicates; raises ServerError if there are too many."""
    tools: dict[str, Definition] = {}
    cursor: str | None = None
    for _page in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            tools.setdefault(tool.name, Definition.read(tool.name, tool.description, tool.input_schema))
        cursor = page.next_cursor
        if len(tools) > TOOLS:
            break
        if not cursor:
            return tools
    raise ServerError(f"It lists more than {TOOLS} tools, or no end of pages of them.")


_MAX_DETAIL = 400


@dataclass(frozen=True)
class Fault:
    """A sentence for the model and visitors, and a detail for the administrator only."""

    sentence: str
    detail: str = ""


def fault_of(error: BaseException) -> Fault:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    detail = " ".join(storable(str(error)).split())[:_MAX_DETAIL]
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
