"""Separates reasoning in tags at the start of a reply from the answer."""

from __future__ import annotations

from collections.abc import Iterator

from chat.agent.events import Reasoning, Text, TextWasReasoning

Piece = Text | Reasoning | TextWasReasoning

# Opening and closing tags.
TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
}
END = TAGS["<think>"]
MAX_HELD = 256  # characters; longer whitespace belongs to the answer


class ReasoningTags:
    """Parses the text of one reply piece by piece. Tags only count at its start.

    One exception: if the chat template has opened the reasoning already, the model only closes it, on a
    separate line, and all text before was reasoning.
    """

    def __init__(self) -> None:
        self._read = self._start
        self._held = ""  # may become a tag
        self._end = ""  # the closing tag of the open reasoning
        # Of the emitted text: its unfinished last line, and what the complete lines contained.
        self._line: list[str] = []
        self._fences = 0
        self._opened = False

    def read(self, text: str) -> Iterator[Piece]:
        text, self._held = self._held + text, ""
        return self._read(text)

    def rest(self) -> Iterator[Piece]:
        text, self._held = self._held, ""
        if self._read == self._in_thought:
            yield from _event(Reasoning, text)
        elif self._read == self._until_lone_end and text.strip() == END and self._closes():
            yield TextWasReasoning()
        elif self._read != self._start or text.strip():
            yield from _event(Text, text)

    def _start(self, text: str) -> Iterator[Piece]:
        start = text.lstrip()
        for tag, end in TAGS.items():
            if start.startswith(tag):
                self._end, self._read = end, self._before_thought
                yield from self._before_thought(start[len(tag) :])
                return
        if any(tag.startswith(start) for tag in TAGS) and len(text) <= MAX_HELD:
            self._held = text
        else:
            self._read = self._until_lone_end
            yield from self._until_lone_end(text)

    def _before_thought(self, text: str) -> Iterator[Piece]:
        if thought := text.lstrip():
            self._read = self._in_thought
            yield from self._in_thought(thought)

    def _in_thought(self, text: str) -> Iterator[Piece]:
        thought, end, answer = text.partition(self._end)
        if end:
            yield from _event(Reasoning, thought)
            self._read = self._after_thought
            yield from self._after_thought(answer)
            return
        self._held = _partial_tag(self._end, text)
        yield from _event(Reasoning, text.removesuffix(self._held))

    def _after_thought(self, text: str) -> Iterator[Piece]:
        if answer := text.lstrip():
            self._read = self._in_answer
            yield Text(answer)

    def _in_answer(self, text: str) -> Iterator[Piece]:
        yield from _event(Text, text)

    def _until_lone_end(self, text: str) -> Iterator[Piece]:
        fresh = not self._line
        *lines, last = text.split("\n")
        for place, line in enumerate(lines):
            if line.strip() == END and (place or fresh) and self._closes():
                yield TextWasReasoning()
                yield from _event(Reasoning, "".join(f"{each}\n" for each in lines[:place]))
                self._read = self._after_thought
                yield from self._after_thought("\n".join([*lines[place + 1 :], last]))
                return
            self._end_line(line)
        if (lines or fresh) and last and len(last) <= MAX_HELD and END.startswith(last.strip()):
            self._held = last
        elif last:
            self._line.append(last)
        yield from _event(Text, text.removesuffix(self._held))

    def _end_line(self, end: str) -> None:
        line = "".join([*self._line, end])
        self._line = []
        self._fences += line.count("```")
        self._opened = self._opened or "<think>" in line

    def _closes(self) -> bool:
        """Whether an end tag closes reasoning: not inside a code block, and not opened in the text."""
        return self._fences % 2 == 0 and not self._opened


def _event(kind: type[Text] | type[Reasoning], text: str) -> Iterator[Piece]:
    if text:
        yield kind(text)


def _partial_tag(tag: str, text: str) -> str:
    sizes = range(min(len(tag) - 1, len(text)), 0, -1)
    return next((tag[:size] for size in sizes if text.endswith(tag[:size])), "")
