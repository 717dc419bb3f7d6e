"""The protocol's messages over a process's standard input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter

from chat.agent.mcp.process import ServerProcess
from chat.agent.mcp.server import Program

# Of what a server says unasked; the rest (its log, its progress) would only cost time.
_HEEDED = {"notifications/tools/list_changed"}

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def pipes(
    program: Program, on_end: Callable[[ServerProcess], None]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start the program and give the streams that the protocol's client takes.

    `on_end` is called when the program says nothing more. At the end it is ended with all its kin.
    """
    process = await ServerProcess.start(program)
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_say = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        await process.let_go()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, process, heard, on_end)
            tasks.start_soon(_speak, process, to_say)
            try:
                yield incoming, outgoing
            finally:
                tasks.cancel_scope.cancel()
    finally:
        for stream in (heard, incoming, outgoing, to_say):
            stream.close()
        with anyio.CancelScope(shield=True):
            await process.close()


async def _listen(
    process: ServerProcess,
    heard: MemoryObjectSendStream[SessionMessage | Exception],
    on_end: Callable[[ServerProcess], None],
) -> None:
    async with heard:
        async for line in process.lines():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:  # a banner, a stray print: many servers write such
                continue
            if isinstance(message, JSONRPCNotification) and message.method not in _HEEDED:
                continue
            try:
                await heard.send(SessionMessage(message))
            except anyio.BrokenResourceError:
                return
    on_end(process)


async def _speak(process: ServerProcess, to_say: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with to_say:
        async for said in to_say:
            line = said.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await process.write(line.encode() + b"\n")
            except OSError:  # it has ended, which whoever listens to it finds out
                return
