"""Summarises the part of a conversation that is left out, by asking the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chat.agent.events import Usage
from chat.agent.meter import Meter, text_tokens
from chat.agent.model import Assembly, ModelError
from chat.agent.prompts import Language, phrase, text
from chat.agent.todo import TodoList

if TYPE_CHECKING:
    from chat.agent.agent import Agent


MIN_LENGTH = 20  # characters; a shorter summary is useless


@dataclass(frozen=True)
class Summary:
    text: str
    usage: Usage


async def summary_of(
    messages: Sequence[Mapping[str, Any]], agent: Agent, room: int, max_tokens: int
) -> Summary:
    """Ask the model for a summary in at most `room` tokens; returns an empty one if the model fails."""
    instructions = text("summary", agent.language).substitute(words=max_tokens // 2)
    limit = room - text_tokens(instructions)
    conversation = await asyncio.to_thread(render_for_summary, messages, limit, agent.language)
    request = [{"role": "system", "content": instructions}, {"role": "user", "content": conversation}]
    meter = Meter()
    for attempt in range(1, agent.retry.attempts + 1):
        assembly = Assembly()
        meter.ask(request, [], assembly)
        try:
            await _read(agent, request, assembly, max_tokens)
            return Summary(_bounded(assembly.reply().text, max_tokens), meter.settle())
        except ModelError as error:
            meter.fail()
            if not error.retryable or attempt == agent.retry.attempts:
                break
            await asyncio.sleep(agent.retry.delay(attempt, error.retry_after))
        except Exception:  # a custom model may raise anything; the turn continues without a summary
            meter.fail()
            break
    return Summary("", meter.settle())


def carried_text(summary: str, todos: TodoList, language: Language) -> str:
    text = phrase(language, "context.summary" if summary else "context.no_summary", summary=summary)
    if not todos.items:
        return text
    return "\n\n".join([text, phrase(language, "context.todos", todos=todos.render(keys=True))])


async def _read(
    agent: Agent, request: Sequence[Mapping[str, Any]], assembly: Assembly, max_tokens: int
) -> None:
    """Read the reply, but stop when it is far too long."""
    stream = aiter(agent.model.stream(request, [], agent.options))
    try:
        async for delta in stream:
            assembly.add(delta)
            if len(assembly.text) > 12 * max_tokens:
                return
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _bounded(summary: str, max_tokens: int) -> str:
    summary = summary.strip()
    while (tokens := text_tokens(summary)) > max_tokens:
        summary = summary[: int(len(summary) * max_tokens / tokens * 0.98)].rstrip() + "…"
    return summary if len(summary) >= MIN_LENGTH else ""


@dataclass(frozen=True)
class Bounds:
    """Characters shown of a message's text, of a result, and of a call's arguments."""

    text: int
    result: int
    arguments: int


_BOUNDS = (Bounds(16000, 2000, 1000), Bounds(4000, 600, 400), Bounds(1500, 200, 200), Bounds(400, 80, 80))


def render_for_summary(messages: Sequence[Mapping[str, Any]], room: int, language: Language) -> str:
    """The conversation in at most `room` tokens: texts are cut first, then the oldest blocks dropped."""
    blocks: list[str] = []
    for bounds in _BOUNDS:
        blocks = [block for message in messages for block in _rendered(message, bounds, language)]
        if sum(map(text_tokens, blocks)) <= room:
            break
    while len(blocks) > 1 and sum(map(text_tokens, blocks)) > room:
        # The first block stays: it is the previous summary, which the rest builds on.
        del blocks[1 : 1 + max(1, len(blocks) // 10)]
    return phrase(language, "context.telling", conversation="\n\n".join(blocks))


def _rendered(message: Mapping[str, Any], bounds: Bounds, language: Language) -> Iterator[str]:
    if carried := message.get("carried"):
        yield carried
    role = str(message["role"])
    content = _short(_text(message.get("content")), bounds.result if role == "tool" else bounds.text)
    if content:
        yield f"[{phrase(language, f'context.{role}')}]\n{content}"
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield f"[{phrase(language, 'context.call')}] {function['name']} " + _short(
            str(function["arguments"]), bounds.arguments
        )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    parts = [part.get("text") or f"({part.get('type')})" for part in content or ()]
    return "\n".join(map(str, parts))


def _short(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]} […] {text[-half:]}"
