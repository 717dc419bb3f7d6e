"""What the loop requires of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from chat.agent.events import Reasoning, Text, TextWasReasoning, Usage


@dataclass(frozen=True)
class ToolCallDelta:
    """A piece of a tool call. `key` identifies the call; None is the one opened last."""

    key: int | str | None
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finish:
    reason: str


@dataclass(frozen=True)
class MessageFields:
    """Provider-specific fields of one chunk, such as `reasoning_details`; sent back once joined."""

    fields: Mapping[str, Any]


Delta = Text | Reasoning | TextWasReasoning | ToolCallDelta | MessageFields | Usage | Finish


class ModelError(Exception):
    """The model gave no complete reply.

    `kind` names a phrase in the group "model", which `values` fill; `retry_after` is in seconds.
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
    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        """Stream the reply; raises ModelError. Messages and tools are in chat-completions form."""
        ...
