"""Keeps what a turn sends within its model's window."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chat.agent.context.annotations import Message, cut_for, kept_words, sent
from chat.agent.context.summary import Summary, carried, summary_of
from chat.agent.context.window import ENOUGH, FULL, GOAL, Overflow, Window
from chat.agent.events import Compacted, Summarising, Usage
from chat.agent.meter import message_tokens, text_tokens, tools_tokens
from chat.agent.model import ModelError
from chat.agent.prompts import Language, phrase
from chat.agent.todo import TodoList

if TYPE_CHECKING:
    from chat.agent.agent import Agent


# How far an endpoint's count of a request is believed: some leave out what they had in their cache.
_LEAST_SCALE, _MOST_SCALE = 0.8, 6.0


class Context:
    """What is left of the window as a turn goes on.

    Tokens are guessed, by a measure that the endpoint's own counts and errors correct. What was sent before
    is sent again just so, but for the moments at which it has become too much: then much goes at once.
    """

    def __init__(self, agent: Agent, todos: TodoList) -> None:
        self.agent = agent
        self.todos = todos
        self.full = FULL
        self.learned = 0  # tokens of the window, by an error
        self.scale = 1.0  # the endpoint's tokens for each that is guessed
        self.base = 0  # guessed tokens of system prompt and tools
        self.counts: list[int] = []  # and of each message

    async def fit(
        self,
        messages: Sequence[Message],
        definitions: Sequence[Mapping[str, Any]],
        step: int,
        overflow: ModelError | None = None,
    ) -> AsyncGenerator[Summarising | Compacted, None]:
        """Ahead of a request: what is to be left out of the messages, told as an event; none for nothing.

        `overflow` is the endpoint's error for the same request, which is too long then in any case.
        """
        if not (overflow or self._window.size):
            return
        await asyncio.to_thread(self._count, messages, definitions)
        if overflow:
            self._learn(overflow)
        plan = Plan(messages, self.counts, self._space, self.agent.language)
        if not overflow and plan.total <= self.full * plan.space:
            return
        plan.make()
        summary = None
        if plan.kept_from:
            yield Summarising()
            summary = await self._summary(plan)
            if not summary.text and not overflow and plan.total <= plan.space:
                self.full = 1.0  # it fits yet, and the summary may come off later
                plan.keep_all()
        plan.cut_latest()
        if plan.shortened or plan.kept_from or summary:
            self.counts = []
            yield self._event(plan, step, summary)

    def calibrate(self, usage: Usage) -> None:
        """Take in what the endpoint counted for the latest request."""
        guessed = self.base + sum(self.counts)
        if self.counts and usage.input_tokens:  # there are none for what was just made shorter
            self.scale = min(max(usage.input_tokens / guessed, _LEAST_SCALE), _MOST_SCALE)

    @property
    def _window(self) -> Window:
        traits = getattr(self.agent.model, "traits", None)
        known = self.agent.context_window or getattr(traits, "context_window", 0)
        longest = [self.agent.options.get(name) for name in ("max_tokens", "max_completion_tokens")]
        return Window(
            self.learned or known, max((each for each in longest if isinstance(each, int)), default=0)
        )

    @property
    def _space(self) -> int:
        """Guessed tokens that the messages may have; some, whatever the tools leave."""
        room = int(self._window.room / self.scale)
        return max(room - self.base, room // 4)

    def _count(self, messages: Sequence[Message], definitions: Sequence[Mapping[str, Any]]) -> None:
        self.base = text_tokens(self.agent.system_prompt) + tools_tokens(definitions)
        new = messages[len(self.counts) :]
        self.counts += [message_tokens(sent(message)) for message in new]

    def _learn(self, error: ModelError) -> None:
        """What the error says of the window; where it says nothing, that it is smaller than the request."""
        guessed = self.base + sum(self.counts)
        said = Overflow.of(error)
        self.learned = said.window or self._window.size or int(guessed * self.scale)
        asked = said.asked or max(self.learned, guessed * self.scale)
        self.scale = min(max(asked / guessed, self.scale), _MOST_SCALE)

    async def _summary(self, plan: Plan) -> Summary:
        room = int(self._window.room / self.scale) - 2 * plan.longest_summary
        return await summary_of(plan.left_out, self.agent, room, plan.longest_summary)

    def _event(self, plan: Plan, step: int, summary: Summary | None) -> Compacted:
        said = summary.text if summary else ""
        return Compacted(
            step,
            len(plan.messages),
            dict(plan.shortened),
            plan.kept_from,
            carried(said, self.todos, self.agent.language) if plan.kept_from else "",
            said if plan.kept_from else "",
            summary.usage if summary else None,
            *self.agent.asked_at,
        )


LONGEST_SUMMARY = 2000  # tokens, where the window is large


class Plan:
    """First go the results that the model has read, oldest first; where that is not enough, old turns.

    `counts` are the tokens of the messages, `space` those that they may have together.
    """

    def __init__(
        self, messages: Sequence[Message], counts: Sequence[int], space: int, language: Language
    ) -> None:
        self.messages = messages
        self.counts = list(counts)
        self.space = space
        self.language = language
        self.goal = int(GOAL * space)
        self.longest_summary = min(LONGEST_SUMMARY, space // 8)
        self.shortened: dict[int, str] = {}
        self.kept_from = 0

    @property
    def total(self) -> int:
        """Tokens of what is left, without the summary."""
        words = kept_words(self.messages, self.kept_from)
        return sum(self.counts[self.kept_from :]) + sum(self.counts[place] for place in words)

    @property
    def left_out(self) -> list[Message]:
        """What a summary is to stand for."""
        return [
            {**message, "content": self.shortened.get(place, message["content"])}
            for place, message in enumerate(self.messages[: self.kept_from])
        ]

    def make(self) -> None:
        """Decide what goes."""
        whole = list(self.counts)
        for place in old_results(self.messages):
            if self.total <= self.goal:
                return
            self._shorten(place, trimmed(self.messages, place, self.language))
        if self.total <= ENOUGH * self.space:
            return
        keep = self.goal - self.longest_summary
        self.kept_from = cut_for(self.messages, self.counts, keep)
        for place in sorted(self.shortened, reverse=True):
            gained = whole[place] - self.counts[place]
            if place >= self.kept_from and self.total + gained <= keep:
                self.counts[place] = whole[place]
                del self.shortened[place]

    def keep_all(self) -> None:
        """Leave out no message after all."""
        self.kept_from = 0

    def cut_latest(self) -> None:
        """Cut the results that the model has not read yet where they do not fit otherwise."""
        self.shortened = {place: text for place, text in self.shortened.items() if place >= self.kept_from}
        room = self.space - (self.longest_summary if self.kept_from else 0)
        latest = latest_results(self.messages)
        excess = self.total - room
        if excess <= 0 or not latest:
            return
        share = max(64, (sum(self.counts[place] for place in latest) - excess) // len(latest))
        for place in latest:
            content, tokens = self.messages[place]["content"], self.counts[place]
            if tokens > share and isinstance(content, str):
                self._shorten(place, cut(content, int(len(content) * share / tokens * 0.9), self.language))

    def _shorten(self, place: int, text: str) -> None:
        self.shortened[place] = text
        self.counts[place] = text_tokens(text)


KEPT = 240  # characters of a trimmed result
WORTH = 1000  # characters that a result must have to be trimmed
SUBJECT = 200  # characters of a path or a command in a note


def trimmed(messages: Sequence[Mapping[str, Any]], place: int, language: Language) -> str:
    """What is sent in place of the old result at `place`."""
    name, subject = _called(messages, place)
    note = phrase(language, "context.trimmed", name, name=name, subject=subject)
    return f"{messages[place]['content'][:KEPT].rstrip()}\n{note}"


def cut(content: str, characters: int, language: Language) -> str:
    """The beginning and the end of a result that is too long to be sent at all."""
    head = characters * 2 // 3
    note = phrase(language, "context.cut", left_out=len(content) - characters, characters=len(content))
    return f"{content[:head]}\n{note}\n{content[len(content) - (characters - head) :]}"


def latest_step(messages: Sequence[Mapping[str, Any]]) -> int:
    """Where the last message of the model stands; at the end if there is none."""
    said = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    return said[-1] if said else len(messages)


def latest_results(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of the results that the model has not read yet."""
    first = latest_step(messages)
    return [place for place in range(first, len(messages)) if messages[place]["role"] == "tool"]


def old_results(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of results that may be trimmed, oldest first: long ones that the model has read before."""
    return [
        place
        for place, message in enumerate(messages[: latest_step(messages)])
        if message["role"] == "tool"
        and isinstance(message["content"], str)
        and len(message["content"]) >= WORTH
    ]


def _called(messages: Sequence[Mapping[str, Any]], place: int) -> tuple[str, str]:
    """Name and subject (a command, a path) of the call with the result at `place`."""
    identity = messages[place]["tool_call_id"]
    for message in reversed(messages[:place]):
        for call in message.get("tool_calls") or ():
            if call["id"] == identity:
                function = call["function"]
                return str(function["name"]), _subject(str(function["arguments"]))
    return "", ""


def _subject(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    named = [given[name] for name in ("command", "path") if name in given] if isinstance(given, dict) else []
    return " ".join(str(named[0]).split())[:SUBJECT] if named else ""
