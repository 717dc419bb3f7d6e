"""Reasoning that a model writes between tags at the start of its answer, told apart from the answer."""

from __future__ import annotations

from collections.abc import Iterator

from chat.agent.events import Reasoning, Text, TextWasReasoning

Piece = Text | Reasoning | TextWasReasoning

# What opens a thought, and what closes it.
TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
}
END = TAGS["<think>"]
MOST_HELD = 256  # characters; a blank line that is longer is the answer's own


class ReasoningTags:
    """Reads the text of one reply piece by piece. A tag anywhere but at its start is the answer's own.

    One exception: where the request's template has opened the thought already, the model only closes it, on
    a line of its own, and all the text before was reasoning.
    """

    def __init__(self) -> None:
        self._read = self._start
        self._held = ""  # may become a tag
        self._end = ""  # closes the thought that is open
        # Of the text that was told: its last line as far as it goes, and what its whole lines had.
        self._line: list[str] = []
        self._fences = 0
        self._opened = False

    def read(self, text: str) -> Iterator[Piece]:
        """What the piece, with what was held back before it, turns out to be."""
        text, self._held = self._held + text, ""
        return self._read(text)

    def rest(self) -> Iterator[Piece]:
        """What is held back, when nothing more comes."""
        text, self._held = self._held, ""
        if self._read == self._think:
            yield from _piece(Reasoning, text)
        elif self._read == self._until_lone_end and text.strip() == END and self._closes():
            yield TextWasReasoning()
        elif self._read != self._start or text.strip():
            yield from _piece(Text, text)

    def _start(self, text: str) -> Iterator[Piece]:
        start = text.lstrip()
        for tag, end in TAGS.items():
            if start.startswith(tag):
                self._end, self._read = end, self._before_thought
                yield from self._before_thought(start[len(tag) :])
                return
        if any(tag.startswith(start) for tag in TAGS) and len(text) <= MOST_HELD:
            self._held = text
        else:
            self._read = self._until_lone_end
            yield from self._until_lone_end(text)

    def _before_thought(self, text: str) -> Iterator[Piece]:
        if thought := text.lstrip():
            self._read = self._think
            yield from self._think(thought)

    def _think(self, text: str) -> Iterator[Piece]:
        thought, end, answer = text.partition(self._end)
        if end:
            yield from _piece(Reasoning, thought)
            self._read = self._after_thought
            yield from self._after_thought(answer)
            return
        self._held = _beginning_of(self._end, text)
        yield from _piece(Reasoning, text.removesuffix(self._held))

    def _after_thought(self, text: str) -> Iterator[Piece]:
        if answer := text.lstrip():
            self._read = self._answer
            yield Text(answer)

    def _answer(self, text: str) -> Iterator[Piece]:
        yield from _piece(Text, text)

    def _until_lone_end(self, text: str) -> Iterator[Piece]:
        fresh = not self._line
        *lines, last = text.split("\n")
        for place, line in enumerate(lines):
            if line.strip() == END and (place or fresh) and self._closes():
                yield TextWasReasoning()
                yield from _piece(Reasoning, "".join(f"{each}\n" for each in lines[:place]))
                self._read = self._after_thought
                yield from self._after_thought("\n".join([*lines[place + 1 :], last]))
                return
            self._end_line(line)
        if (lines or fresh) and last and len(last) <= MOST_HELD and END.startswith(last.strip()):
            self._held = last
        elif last:
            self._line.append(last)
        yield from _piece(Text, text.removesuffix(self._held))

    def _end_line(self, end: str) -> None:
        line = "".join([*self._line, end])
        self._line = []
        self._fences += line.count("```")
        self._opened = self._opened or "<think>" in line

    def _closes(self) -> bool:
        """Whether the end of a thought is meant by it: not inside of code, and nothing there opened one."""
        return self._fences % 2 == 0 and not self._opened


def _piece(kind: type[Text] | type[Reasoning], text: str) -> Iterator[Piece]:
    if text:
        yield kind(text)


def _beginning_of(tag: str, text: str) -> str:
    """The longest end of the text that may become the tag."""
    sizes = range(min(len(tag) - 1, len(text)), 0, -1)
    return next((tag[:size] for size in sizes if text.endswith(tag[:size])), "")
