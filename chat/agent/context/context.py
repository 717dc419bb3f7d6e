"""Keeps what a turn sends within its model's window."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chat.agent.context.marks import Message, sent
from chat.agent.context.plan import Plan
from chat.agent.context.summary import Summary, carried, summary_of
from chat.agent.context.window import FULL, Overflow, Window
from chat.agent.events import Compacted, Summarising, Usage
from chat.agent.model import ModelError
from chat.agent.todo import TodoList
from chat.agent.tokens import message_tokens, text_tokens, tools_tokens

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

    def heard(self, usage: Usage) -> None:
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
