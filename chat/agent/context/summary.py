"""A summary of what was said, written by the model for itself."""

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


SHORTEST = 20  # characters; less says nothing of what is left out


@dataclass(frozen=True)
class Summary:
    """A summary, empty where none could be had, and what it took."""

    text: str
    usage: Usage


async def summary_of(messages: Sequence[Mapping[str, Any]], agent: Agent, room: int, longest: int) -> Summary:
    """Ask the agent's model for a summary of `longest` tokens at most, in a request of `room` tokens.

    One that fails, or says nothing, is empty; never raises for what the model does.
    """
    instructions = text("summary", agent.language).substitute(words=longest // 2)
    told = await asyncio.to_thread(telling, messages, room - text_tokens(instructions), agent.language)
    asked = [{"role": "system", "content": instructions}, {"role": "user", "content": told}]
    meter = Meter()
    for attempt in range(1, agent.retry.attempts + 1):
        assembly = Assembly()
        meter.ask(asked, [], assembly)
        try:
            await _read(agent, asked, assembly, longest)
            return Summary(_bounded(assembly.reply().text, longest), meter.settle())
        except ModelError as error:
            meter.fail()
            if not error.retryable or attempt == agent.retry.attempts:
                break
            await asyncio.sleep(agent.retry.delay(attempt, error.retry_after))
        except Exception:  # a model of any make; the turn goes on without a summary
            meter.fail()
            break
    return Summary("", meter.settle())


def carried(summary: str, todos: TodoList, language: Language) -> str:
    """What stands for all that was left out: its summary, and the todo list as it is."""
    said = phrase(language, "context.summary" if summary else "context.no_summary", summary=summary)
    if not todos.items:
        return said
    return "\n\n".join([said, phrase(language, "context.todos", todos=todos.render(keys=True))])


async def _read(agent: Agent, asked: Sequence[Mapping[str, Any]], assembly: Assembly, longest: int) -> None:
    """Read the reply, but not on and on: what is far too long is cut anyway."""
    stream = aiter(agent.model.stream(asked, [], agent.options))
    try:
        async for delta in stream:
            assembly.add(delta)
            if len(assembly.text) > 12 * longest:
                return
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _bounded(summary: str, longest: int) -> str:
    """The summary, cut to so many tokens; empty for one that says nothing."""
    summary = summary.strip()
    while (tokens := text_tokens(summary)) > longest:
        summary = summary[: int(len(summary) * longest / tokens * 0.98)].rstrip() + "…"
    return summary if len(summary) >= SHORTEST else ""


@dataclass(frozen=True)
class Bounds:
    """Characters that are told of what somebody says, of a result, and of a call's arguments."""

    said: int
    result: int
    arguments: int


_BOUNDS = (Bounds(16000, 2000, 1000), Bounds(4000, 600, 400), Bounds(1500, 200, 200), Bounds(400, 80, 80))


def telling(messages: Sequence[Mapping[str, Any]], room: int, language: Language) -> str:
    """All that was said, in `room` tokens: told shorter where it has to be, and the oldest left out."""
    told: list[str] = []
    for bounds in _BOUNDS:
        told = [line for message in messages for line in _told(message, bounds, language)]
        if sum(map(text_tokens, told)) <= room:
            break
    while len(told) > 1 and sum(map(text_tokens, told)) > room:
        # What was carried on from before stands first, and is what the rest builds on.
        del told[1 : 1 + max(1, len(told) // 10)]
    return phrase(language, "context.telling", conversation="\n\n".join(told))


def _told(message: Mapping[str, Any], bounds: Bounds, language: Language) -> Iterator[str]:
    if carried := message.get("carried"):
        yield carried
    role = str(message["role"])
    said = _short(_text(message.get("content")), bounds.result if role == "tool" else bounds.said)
    if said:
        yield f"[{phrase(language, f'context.{role}')}]\n{said}"
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


def _short(said: str, characters: int) -> str:
    if len(said) <= characters:
        return said
    half = characters // 2
    return f"{said[:half]} […] {said[-half:]}"
