"""What the loop needs of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from chat.agent.events import Reasoning, Text, TextWasReasoning, Usage


@dataclass(frozen=True)
class ToolCallDelta:
    """A piece of a tool call. `key` tells which call it belongs to; None means the one that was open last."""

    key: int | str | None
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finish:
    """The endpoint says that its reply is complete, and why."""

    reason: str


@dataclass(frozen=True)
class MessageFields:
    """The provider's own fields of the message, as one chunk has them: `reasoning_details`, and what comes
    beside it. They go back to the provider unchanged, once the chunks' are joined."""

    fields: Mapping[str, Any]


Delta = Text | Reasoning | TextWasReasoning | ToolCallDelta | MessageFields | Usage | Finish


class ModelError(Exception):
    """The model gave no complete reply.

    `kind` names a phrase of the group "model" and `values` fill it; `retryable` says that asking again may
    help, and `retry_after` is the wait in seconds that the endpoint wishes for.
    """

    def __init__(
        self, kind: str, *, retryable: bool = False, retry_after: float | None = None, **values: Any
    ) -> None:
        super().__init__(f"{kind}: {values}")
        self.kind = kind
        self.values = values
        self.retryable = retryable
        self.retry_after = retry_after


class Model(Protocol):
    """Anything that can answer a conversation piece by piece."""

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        """The reply to `messages` as it is written; raises ModelError.

        Messages and tools are in the chat-completions form; `options` are further request parameters.
        """
        ...
