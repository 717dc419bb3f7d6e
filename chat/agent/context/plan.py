"""What to leave out of a conversation that has become too long."""

from __future__ import annotations

from collections.abc import Sequence

from chat.agent.context.cutting import cut_for, kept_words
from chat.agent.context.marks import Message
from chat.agent.context.results import cut, latest_results, old_results, trimmed
from chat.agent.context.window import ENOUGH, GOAL
from chat.agent.prompts import Language
from chat.agent.tokens import text_tokens

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
