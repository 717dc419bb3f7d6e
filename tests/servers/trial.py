"""What is tried on a server: the agent's own doings, and a turn of the site."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chat.agent import Agent, End, Event, Limits, Text, ToolCallEnded, Usage, tool

ROOT = Path(__file__).parent.parent.parent
SECONDS = 120.0  # for each try
HELLO, LOOK, PLAN = "say hello", "look around", "plan it"


@dataclass(frozen=True)
class Address:
    """A server that runs; `options` go into the agent's requests, `calling` into those that want calls."""

    base_url: str
    model: str
    key: str = "sk-none"
    options: Mapping[str, Any] = field(default_factory=dict)
    calling: Mapping[str, Any] = field(default_factory=dict)


@tool
async def look(place: str = "here") -> str:
    """Look around."""
    return f"Nothing to see {place}."


async def findings(address: Address) -> dict[str, str]:
    """What came of each try: "yes", or what was seen instead."""
    found = {}
    for attempt in (streams, calls_a_tool, writes_a_plan, counts_tokens, can_be_left, takes_a_turn):
        try:
            async with asyncio.timeout(SECONDS):
                found[attempt.__name__.replace("_", " ")] = await attempt(address) or "yes"
        except Exception as error:  # one try that fails does not keep the others from being made
            found[attempt.__name__.replace("_", " ")] = f"{type(error).__name__}: {error}"
    return found


Attempt = Callable[[Address], Coroutine[Any, Any, str]]


async def streams(address: Address) -> str:
    """Text comes in pieces, and the turn completes."""
    events = await _told(address, HELLO, address.options)
    pieces = sum(isinstance(event, Text) for event in events)
    return _fault(events) or ("" if pieces > 1 else f"{pieces} piece")


async def calls_a_tool(address: Address) -> str:
    """A tool is called, whichever, and has its result."""
    events = await _told(address, LOOK, {**address.options, **address.calling})
    ended = [event for event in events if isinstance(event, ToolCallEnded)]
    return "" if ended else _fault(events) or "no call"


async def writes_a_plan(address: Address) -> str:
    """`TodoWrite` is accepted."""
    events = await _told(address, PLAN, {**address.options, **address.calling})
    answers = [event.result.text for event in events if isinstance(event, ToolCallEnded)]
    return "" if _end(events).todos else _fault(events) or "; ".join(answers) or "no list"


async def counts_tokens(address: Address) -> str:
    """The endpoint tells the tokens."""
    usage = [event for event in await _told(address, HELLO, address.options) if isinstance(event, Usage)]
    return "" if usage and usage[-1].input_tokens and usage[-1].output_tokens else f"{usage[-1:]}"


async def can_be_left(address: Address) -> str:
    """A reply is left in its middle, and the next one comes."""
    async with _agent(address, address.options) as agent:
        async with aclosing(_events(agent, HELLO)) as events:
            async for event in events:
                if isinstance(event, Text):
                    break
        return _fault([event async for event in _events(agent, HELLO)])


async def takes_a_turn(address: Address) -> str:
    """A turn of the site, with its rows, in the terminal."""
    with tempfile.TemporaryDirectory(prefix="agentsite-servers-") as folder:
        surroundings = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")},
            "DATA_DIR": folder,
            "OPENAI_BASE_URL": address.base_url,
            "OPENAI_MODEL": address.model,
            "OPENAI_API_KEY": address.key,
        }
        await _run(surroundings, "migrate", "-v", "0")
        return await _run(surroundings, "chat", HELLO)


async def _run(surroundings: Mapping[str, str], *words: str) -> str:
    """What a command of the site ended with; empty if all went well."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "manage.py"),
        *words,
        env=dict(surroundings),
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _nothing = await process.communicate()
    return "" if process.returncode == 0 else " ".join(said.decode(errors="replace").split())[-200:]


def _agent(address: Address, options: Mapping[str, Any]) -> Agent:
    endpoint = {"model": address.model, "base_url": address.base_url, "api_key": address.key}
    # Two steps: a model that is made to call tools calls them for ever.
    return Agent(**endpoint, tools=[look], limits=Limits(steps=2), **dict(options))


def _events(agent: Agent, text: str) -> Any:
    return agent.run([{"role": "user", "content": text}])


async def _told(address: Address, text: str, options: Mapping[str, Any]) -> Sequence[Event]:
    async with _agent(address, options) as agent:
        return [event async for event in _events(agent, text)]


def _end(events: Sequence[Event]) -> End:
    last = events[-1]
    assert isinstance(last, End)
    return last


def _fault(events: Sequence[Event]) -> str:
    """What the turn failed of; one that a limit ended did not."""
    end = _end(events)
    return end.sentence if end.reason == "failed" else ""
