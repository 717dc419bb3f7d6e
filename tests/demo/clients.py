"""The real `openai` client on the in-process transport or a port, and the parsed stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from openai import AsyncOpenAI

from chat.demo.server import App
from chat.demo.transport import AppTransport


def in_process(app: App, **options: Any) -> AsyncOpenAI:
    """A client that talks to the app with no port in between."""
    http = httpx2.AsyncClient(transport=AppTransport(app))
    return AsyncOpenAI(api_key="none", base_url="http://demo/v1", http_client=http, max_retries=0, **options)


def over_http(base_url: str, **options: Any) -> AsyncOpenAI:
    """A client for a real port, by default without retries."""
    return AsyncOpenAI(api_key="none", base_url=base_url, **{"max_retries": 0, **options})


@dataclass
class Heard:
    """A streamed answer, put together."""

    text: str = ""
    reasoning: str = ""
    pieces: int = 0
    role: str | None = None
    finish: str | None = None
    usage: Any = None
    calls: list[dict[str, str]] = field(default_factory=list)

    def message(self) -> dict[str, Any]:
        """The answer as the next request's assistant message."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in self.calls
            ]
        return message


async def listen(
    client: AsyncOpenAI, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = ()
) -> Heard:
    """Ask with `stream=True` and put the chunks together as an agent would."""
    asked = {"messages": list(messages), **({"tools": list(tools)} if tools else {})}
    # As extra body the messages travel as they are; the client's own copying takes most of a test's time.
    stream: Any = await client.chat.completions.create(
        model="demo", messages=[], stream=True, stream_options={"include_usage": True}, extra_body=asked
    )
    heard = Heard()
    async for chunk in stream:
        heard.usage = chunk.usage or heard.usage
        for choice in chunk.choices:
            _add(heard, choice)
    return heard


def _add(heard: Heard, choice: Any) -> None:
    delta = choice.delta
    heard.role = delta.role or heard.role
    heard.finish = choice.finish_reason or heard.finish
    heard.reasoning += getattr(delta, "reasoning_content", None) or ""
    if delta.content:
        heard.text += delta.content
        heard.pieces += 1
    for call in delta.tool_calls or ():
        if call.id:
            heard.calls.append({"id": call.id, "name": call.function.name, "arguments": ""})
        heard.calls[call.index]["arguments"] += call.function.arguments or ""
