"""Keeps a turn's requests within the model's context window."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chat.agent.context.annotations import Message, cut_point, kept_user_messages, render_message
from chat.agent.context.summary import Summary, carried_text, summary_of
from chat.agent.events import Compacted, Summarising, Usage
from chat.agent.meter import message_tokens, text_tokens, tools_tokens
from chat.agent.model import ModelError
from chat.agent.model.errors import window_in
from chat.agent.prompts import Language, phrase
from chat.agent.todo import TodoList

if TYPE_CHECKING:
    from chat.agent.agent import Agent


# Bounds of the ratio between counted and estimated tokens: some endpoints do not count cached tokens.
_MIN_SCALE, _MAX_SCALE = 0.8, 6.0


class Context:
    """The context window during a turn, with token estimates corrected by the endpoint's counts and errors.

    The sent prefix stays unchanged to keep the endpoint's prompt cache; when too long, much is dropped at
    once.
    """

    def __init__(self, agent: Agent, todos: TodoList) -> None:
        self.agent = agent
        self.todos = todos
        self.full = FULL
        self.learned = 0  # tokens of the window, from an error
        self.scale = 1.0  # the endpoint's tokens per estimated token
        self.base = 0  # estimated tokens of system prompt and tools
        self.counts: list[int] = []  # estimated tokens of each message

    async def fit(
        self,
        messages: Sequence[Message],
        definitions: Sequence[Mapping[str, Any]],
        step: int,
        overflow: ModelError | None = None,
    ) -> AsyncGenerator[Summarising | Compacted, None]:
        """Yield what must be left out before a request; `overflow`: the endpoint rejected it as too long."""
        if not (overflow or self._window.size):
            return
        await asyncio.to_thread(self._count, messages, definitions)
        if overflow:
            self._learn(overflow)
        plan = CompactionPlan(messages, self.counts, self._space, self.agent.language)
        if not overflow and plan.total <= self.full * plan.space:
            return
        plan.build()
        summary = None
        if plan.kept_from:
            yield Summarising()
            summary = await self._summary(plan)
            if not summary.text and not overflow and plan.total <= plan.space:
                self.full = 1.0  # it still fits; a later summary may succeed
                plan.keep_all()
        plan.cut_latest_results()
        if plan.shortened or plan.kept_from or summary:
            self.counts = []
            yield self._event(plan, step, summary)

    def calibrate(self, usage: Usage) -> None:
        """Compare the endpoint's token count of the latest request with the estimate."""
        estimated = self.base + sum(self.counts)
        if self.counts and usage.input_tokens:  # there are no counts right after a compaction
            self.scale = min(max(usage.input_tokens / estimated, _MIN_SCALE), _MAX_SCALE)

    @property
    def _window(self) -> Window:
        traits = getattr(self.agent.model, "traits", None)
        known = self.agent.context_window or getattr(traits, "context_window", 0)
        replies = [self.agent.options.get(name) for name in ("max_tokens", "max_completion_tokens")]
        max_reply = max((each for each in replies if isinstance(each, int)), default=0)
        return Window(self.learned or known, max_reply)

    @property
    def _space(self) -> int:
        """Estimated tokens for the messages; a quarter of the room at least, however long the tools are."""
        room = int(self._window.room / self.scale)
        return max(room - self.base, room // 4)

    def _count(self, messages: Sequence[Message], definitions: Sequence[Mapping[str, Any]]) -> None:
        self.base = text_tokens(self.agent.system_prompt) + tools_tokens(definitions)
        new = messages[len(self.counts) :]
        self.counts += [message_tokens(render_message(message)) for message in new]

    def _learn(self, error: ModelError) -> None:
        """Learn the window's size from the error; without a number, it is smaller than the request."""
        estimated = self.base + sum(self.counts)
        stated = Overflow.of(error)
        self.learned = stated.window or self._window.size or int(estimated * self.scale)
        request = stated.request or max(self.learned, estimated * self.scale)
        self.scale = min(max(request / estimated, self.scale), _MAX_SCALE)

    async def _summary(self, plan: CompactionPlan) -> Summary:
        room = int(self._window.room / self.scale) - 2 * plan.max_summary
        return await summary_of(plan.left_out, self.agent, room, plan.max_summary)

    def _event(self, plan: CompactionPlan, step: int, summary: Summary | None) -> Compacted:
        text = summary.text if summary else ""
        return Compacted(
            step,
            len(plan.messages),
            dict(plan.shortened),
            plan.kept_from,
            carried_text(text, self.todos, self.agent.language) if plan.kept_from else "",
            text if plan.kept_from else "",
            summary.usage if summary else None,
            *self.agent.endpoint_and_model,
        )


MAX_SUMMARY = 2000  # tokens, in a large window


class CompactionPlan:
    """Trims read results, oldest first, then drops old turns; `counts` and `space` are in tokens."""

    def __init__(
        self, messages: Sequence[Message], counts: Sequence[int], space: int, language: Language
    ) -> None:
        self.messages = messages
        self.counts = list(counts)
        self.space = space
        self.language = language
        self.goal = int(GOAL * space)
        self.max_summary = min(MAX_SUMMARY, space // 8)
        self.shortened: dict[int, str] = {}
        self.kept_from = 0

    @property
    def total(self) -> int:
        user = kept_user_messages(self.messages, self.kept_from)
        return sum(self.counts[self.kept_from :]) + sum(self.counts[index] for index in user)

    @property
    def left_out(self) -> list[Message]:
        return [
            {**message, "content": self.shortened.get(index, message["content"])}
            for index, message in enumerate(self.messages[: self.kept_from])
        ]

    def build(self) -> None:
        original = list(self.counts)
        for index in old_results(self.messages):
            if self.total <= self.goal:
                return
            self._shorten(index, trimmed(self.messages, index, self.language))
        if self.total <= ENOUGH * self.space:
            return
        keep = self.goal - self.max_summary
        self.kept_from = cut_point(self.messages, self.counts, keep)
        for index in sorted(self.shortened, reverse=True):
            gained = original[index] - self.counts[index]
            if index >= self.kept_from and self.total + gained <= keep:
                self.counts[index] = original[index]
                del self.shortened[index]

    def keep_all(self) -> None:
        self.kept_from = 0

    def cut_latest_results(self) -> None:
        self.shortened = {index: text for index, text in self.shortened.items() if index >= self.kept_from}
        room = self.space - (self.max_summary if self.kept_from else 0)
        latest = latest_results(self.messages)
        excess = self.total - room
        if excess <= 0 or not latest:
            return
        share = max(64, (sum(self.counts[index] for index in latest) - excess) // len(latest))
        for index in latest:
            content, tokens = self.messages[index]["content"], self.counts[index]
            if tokens > share and isinstance(content, str):
                # What comes with the content, the note about the cut included, takes of the share too.
                own = max(1, text_tokens(content))
                around = tokens - own + text_tokens(cut(content, 0, self.language))
                characters = int(len(content) * max(0, share - around) / own * 0.95)
                self._shorten(index, cut(content, characters, self.language))

    def _shorten(self, index: int, text: str) -> None:
        self.shortened[index] = text
        self.counts[index] = message_tokens(render_message({**self.messages[index], "content": text}))


TRIMMED_LENGTH = 240  # characters kept of a trimmed result
MIN_TRIMMED = 1000  # characters; shorter results are not trimmed
MAX_SUBJECT = 200  # characters of a path or a command in a note


def trimmed(messages: Sequence[Mapping[str, Any]], index: int, language: Language) -> str:
    name, subject = _call_of(messages, index)
    note = phrase(language, "context.trimmed", name, name=name, subject=subject)
    return f"{messages[index]['content'][:TRIMMED_LENGTH].rstrip()}\n{note}"


def cut(content: str, characters: int, language: Language) -> str:
    head = characters * 2 // 3
    note = phrase(language, "context.cut", left_out=len(content) - characters, characters=len(content))
    return f"{content[:head]}\n{note}\n{content[len(content) - (characters - head) :]}"


def last_reply_index(messages: Sequence[Mapping[str, Any]]) -> int:
    replies = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    return replies[-1] if replies else len(messages)


def latest_results(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    first = last_reply_index(messages)
    return [index for index in range(first, len(messages)) if messages[index]["role"] == "tool"]


def old_results(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Indexes of results that may be trimmed, oldest first: long ones that the model has read."""
    return [
        index
        for index, message in enumerate(messages[: last_reply_index(messages)])
        if message["role"] == "tool"
        and isinstance(message["content"], str)
        and len(message["content"]) >= MIN_TRIMMED
    ]


def _call_of(messages: Sequence[Mapping[str, Any]], index: int) -> tuple[str, str]:
    call_id = messages[index]["tool_call_id"]
    for message in reversed(messages[:index]):
        for call in message.get("tool_calls") or ():
            if call["id"] == call_id:
                function = call["function"]
                return str(function["name"]), _subject(str(function["arguments"]))
    return "", ""


def _subject(arguments: str) -> str:
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(values, dict):
        return ""
    subject = next((values[name] for name in ("command", "path") if name in values), "")
    return " ".join(str(subject).split())[:MAX_SUBJECT]


RESERVE = 8192  # tokens kept free for the reply in a large window
FULL = 0.8  # of the room; the conversation is compacted above it
GOAL = 0.5  # of the room; the size after compaction. Far below FULL: each time costs the prompt cache
ENOUGH = 0.65  # of the room; no summary if trimming alone gets below this

_MAX_RATIO = 50  # of the window: no request is that long, so a larger number is something else


@dataclass(frozen=True)
class Window:
    size: int  # tokens of request and reply together; 0 if unknown
    longest_reply: int = 0

    @property
    def room(self) -> int:
        return self.size - min(self.longest_reply or RESERVE, self.size // 4)


@dataclass(frozen=True)
class Overflow:
    """The tokens of a too long request and of the window, as the error states them; 0 if it does not."""

    request: int
    window: int

    @classmethod
    def of(cls, error: ModelError) -> Overflow:
        report = getattr(error, "report", None)
        text = str(report.text if report else error.values.get("detail", "")).lower()
        window = window_in(text)
        numbers = [int(number) for number in re.findall(r"\d{3,12}", text)]
        return cls(max((each for each in numbers if window < each <= window * _MAX_RATIO), default=0), window)
