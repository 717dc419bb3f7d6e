"""Tests an endpoint and a model step by step; each outcome says what works or how to fix it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from chat.agent.events import Reasoning, Text
from chat.agent.model.protocol import Delta, Model, ModelError, ToolCallDelta
from chat.agent.prompts import Language, phrase
from chat.agent.tool import tool

LIST_TIMEOUT = 20.0  # seconds for the list of models
ANSWER_TIMEOUT = 90.0  # seconds for one answer
COUNT = "Count from one to thirty in words, separated by commas. Write nothing else."
GREET = "Call the tool `greet` with the name Ada. Write no text."

Step = Literal["reached", "key", "models", "streams", "tools"]
STEPS: tuple[Step, ...] = ("reached", "key", "models", "streams", "tools")
# "note": not a fault, but worth knowing. "skipped": an earlier step has failed.
State = Literal["well", "note", "failed", "skipped"]
_NOT_CHAT = ("embed", "whisper", "tts", "dall-e", "image", "rerank", "moderation", "audio", "realtime")


@dataclass(frozen=True)
class StepBegun:
    step: Step


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step. `key` and `values` form a phrase; unless it went well, it names the cure."""

    step: Step
    state: State
    key: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def sentence(self, language: Language) -> str:
        return phrase(language, self.key, **self.values)


@dataclass(frozen=True)
class Candidate:
    """What is tested. `listed` returns the names of the endpoint's models, with or without sending the key.

    `model` returns the client of a model by its name. Both raise ModelError. `has_key`: a key is set.
    """

    listed: Callable[[bool], Awaitable[Sequence[str]]]
    model: Callable[[str], Awaitable[Model]]
    has_key: bool


@tool
async def greet(name: str) -> str:
    """Greet somebody by name."""
    return f"Hello, {name}!"


async def trial(candidate: Candidate, name: str = "") -> AsyncGenerator[StepBegun | Outcome, None]:
    """Yield the beginning and outcome of each step; the default model is the first listed chat model."""
    trial_run = _Trial(candidate, name)
    blocked = False
    for step in STEPS:
        yield StepBegun(step)
        outcome = Outcome(step, "skipped", "trial.skipped") if blocked else await trial_run.outcome(step)
        blocked = blocked or (outcome.state == "failed" and outcome.key != "trial.at_once")
        yield outcome


def conversational(names: Sequence[str]) -> list[str]:
    return [name for name in names if not any(word in name.lower() for word in _NOT_CHAT)] or list(names)


class _Trial:
    def __init__(self, candidate: Candidate, name: str) -> None:
        self.candidate = candidate
        self.name = name
        self.names: list[str] = []
        self.unlisted: ModelError | None = None

    async def outcome(self, step: Step) -> Outcome:
        steps: dict[Step, Callable[[], Awaitable[Outcome]]] = {
            "reached": self._reached,
            "key": self._key,
            "models": self._models,
            "streams": self._streams,
            "tools": self._tools,
        }
        try:
            return await steps[step]()
        except ModelError as error:
            return Outcome(step, "failed", f"model.{error.kind}", error.values)
        except TimeoutError:
            return Outcome(step, "failed", "trial.late", {"model": self.name, "seconds": int(ANSWER_TIMEOUT)})

    async def _reached(self) -> Outcome:
        try:
            self.names = list(await self._listed(True))
        except ModelError as error:
            if error.kind in ("unreachable", "timeout", "redirected", "address_refused"):
                raise
            self.unlisted = error
        return Outcome("reached", "well", "trial.reached")

    async def _key(self) -> Outcome:
        if self.unlisted and self.unlisted.kind == "key_refused":
            if self.candidate.has_key:
                raise self.unlisted
            return Outcome("key", "failed", "trial.key_wanted")
        if not self.candidate.has_key:
            return Outcome("key", "well", "trial.key_none")
        if self.unlisted or not await self._refuses_without():
            return Outcome("key", "note", "trial.key_unasked")
        return Outcome("key", "well", "trial.key_accepted")

    async def _refuses_without(self) -> bool:
        """Whether the list requires a key: only then a successful listing proves that ours is valid."""
        try:
            await self._listed(False)
        except ModelError as error:
            return error.kind == "key_refused"
        return False

    async def _models(self) -> Outcome:
        if not self.names:
            detail = self.unlisted.values.get("detail") if self.unlisted else ""
            return Outcome("models", "note", "trial.models_unlisted", {"detail": detail or "-"})
        values = {"count": len(self.names), "model": self.name, "names": self.names}
        if self.name and self.name not in self.names:
            return Outcome("models", "note", "trial.models_other", values)
        return Outcome("models", "well", "trial.models_listed", values)

    async def _streams(self) -> Outcome:
        self.name = self.name or next(iter(conversational(self.names)), "")
        if not self.name:
            return Outcome("streams", "failed", "trial.no_model")
        deltas = await self._answer(COUNT)
        pieces = sum(isinstance(delta, Text | Reasoning) for delta in deltas)
        state, key = ("well", "trial.streams") if pieces > 1 else ("failed", "trial.at_once")
        return Outcome("streams", cast(State, state), key, {"model": self.name, "pieces": pieces})

    async def _tools(self) -> Outcome:
        deltas = await self._answer(GREET, greet.definition())
        names = {delta.name for delta in deltas if isinstance(delta, ToolCallDelta) and delta.name}
        state, key = ("well", "trial.calls") if names == {greet.name} else ("failed", "trial.calls_none")
        return Outcome("tools", cast(State, state), key, {"model": self.name})

    async def _listed(self, with_key: bool) -> Sequence[str]:
        try:
            async with asyncio.timeout(LIST_TIMEOUT):
                return await self.candidate.listed(with_key)
        except TimeoutError:
            raise ModelError("timeout", where="/models") from None

    async def _answer(self, question: str, *tools: Mapping[str, Any]) -> list[Delta]:
        messages = [{"role": "user", "content": question}]
        model = await self.candidate.model(self.name)
        async with (
            asyncio.timeout(ANSWER_TIMEOUT),
            aclosing(cast(Any, model.stream(messages, tools, {}))) as deltas,
        ):
            return [delta async for delta in deltas]
