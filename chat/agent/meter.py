"""What a turn's calls of the model come to: by the endpoint's own count, or a guess where it gives none."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.agent.events import Usage
from chat.agent.model import Assembly
from chat.agent.tokens import request_tokens, text_tokens


@dataclass(frozen=True)
class Attempt:
    """A request, and what has come back of it by now."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    assembly: Assembly

    @property
    def silent(self) -> bool:
        """Whether nothing came back."""
        reply = self.assembly
        return not (reply.text or reply.reasoning or reply.calls or reply.usage != Usage())

    def usage(self) -> Usage:
        """The endpoint's count; what it leaves out is guessed, and the whole then marked as estimated."""
        counted, said = self.assembly.usage, self._said()
        if counted.input_tokens and (counted.output_tokens or not said):
            return counted
        return dataclasses.replace(
            counted,
            input_tokens=counted.input_tokens or request_tokens(self.messages, self.tools),
            output_tokens=counted.output_tokens or said,
            reasoning_tokens=counted.reasoning_tokens or text_tokens(self.assembly.reasoning),
            estimated=True,
        )

    def _said(self) -> int:
        reply = self.assembly
        calls = sum(text_tokens(call.name) + text_tokens(call.arguments) for call in reply.calls)
        return text_tokens(reply.text) + text_tokens(reply.reasoning) + calls


class Meter:
    """Follows a turn's calls of the model, so that one that is torn off is counted too.

    `total` is the usage of all that is settled.
    """

    def __init__(self) -> None:
        self.total = Usage()
        self._attempts: list[Attempt] = []

    def ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], assembly: Assembly
    ) -> None:
        """The model is asked; `assembly` takes in the reply as it comes."""
        self._attempts.append(Attempt(messages, tools, assembly))

    def fail(self) -> None:
        """The endpoint failed to reply: where nothing came, nothing is counted."""
        if self._attempts and self._attempts[-1].silent:
            self._attempts.pop()

    @property
    def is_open(self) -> bool:
        """Whether there is something to settle."""
        return bool(self._attempts)

    def outstanding(self) -> Usage:
        """The usage since it was last settled, all attempts together."""
        return sum((attempt.usage() for attempt in self._attempts), Usage())

    def settle(self) -> Usage:
        """What is outstanding, which then is not any more."""
        usage = self.outstanding()
        self._attempts = []
        self.total += usage
        return usage
