"""Markdown to HTML, the same for a page and for text that still streams."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.utils.html import escape
from markdown_it import MarkdownIt, helpers
from markdown_it.helpers import parseLinkLabel
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chat.files.colour import coloured_fence

MAX_BLOCK = 32 * 1024  # characters; a parser's bad cases grow with the square
MOST_KEPT = 3 * 1024 * 1024  # characters of large texts whose HTML is kept, for the next page or frame
_NEWLINE = re.compile(r"\r\n|\r|\n")  # what the parser takes for the end of a line
_FENCE = re.compile(r"(?:[ \t]*\r?\n)* {0,3}(`{3,}|~{3,})")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_SAFE_LINKS = ("http://", "https://", "mailto:")


def render(text: str) -> str:
    """A whole text as HTML that holds no markup of the text's own."""
    if len(text) <= MAX_BLOCK:
        return str(_MARKDOWN.render(text))
    html = _large.get(text)
    return _render_large(text) if html is None else html


def _render_large(text: str) -> str:
    """Render one large text at a time: two would only take the interpreter from each other."""
    with _rendering:
        if text not in _large:
            blocks, tail = Settling(text).advance()
            _large[text] = "".join(block.html for block in blocks) + tail
            while len(_large) > 1 and sum(map(len, _large)) > MOST_KEPT:
                del _large[next(iter(_large))]
        return _large[text]


class Block(NamedTuple):
    """A block of a text at the top level: its place in the text, and its HTML."""

    start: int
    html: str


class Settling:
    """A text that grows. Blocks that can change no more are returned once; the open end each time.

    `settled` is the length of the settled blocks' text.
    """

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.settled = 0
        self._searched = 0  # how far a block above MAX_BLOCK has been searched for its end

    def advance(self) -> tuple[list[Block], str]:
        """The blocks settled since the last call, and the HTML of the open end. One parse of the open text.

        A block above MAX_BLOCK is shown as it is written: code up to its closing fence, others up to a
        blank line.
        """
        found: list[Block] = []
        while True:
            if self._searched:
                end = self._end_of_large_block()
                large = f"<pre>{escape(self.text[self.settled : end])}</pre>"
                if end is None:
                    return found, large
                found.append(Block(self.settled, large))
                self.settled, self._searched = end, 0
            open_text = self.text[self.settled : self.settled + MAX_BLOCK]
            blocks = _blocks(open_text)
            last = blocks.pop() if blocks else Block(0, "")
            found += [Block(self.settled + start, html) for start, html in blocks]
            rest = len(self.text) - self.settled - len(open_text)
            self.settled += last.start
            if not rest:
                return found, last.html
            if not last.start:
                self._searched = self.settled + MAX_BLOCK

    def _end_of_large_block(self) -> int | None:
        fence = _FENCE.match(self.text, self.settled)
        closing = re.compile(rf"(?m)^ {{0,3}}{fence[1]}+[ \t]*\r?\n") if fence else _BLANK_LINE
        latest_line = self.text.rfind("\n", self.settled, self._searched)
        end = closing.search(self.text, max(latest_line, self.settled))
        self._searched = len(self.text)
        return end.end() if end else None


def _blocks(text: str) -> list[Block]:
    """The blocks of a text; what follows the last block whose first line is complete belongs to that one."""
    env: dict[str, Any] = {}
    tokens = _MARKDOWN.parse(text, env)
    lines = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    places = [
        (index, lines[token.map[0]])
        for index, token in enumerate(tokens)
        if token.level == 0 and token.nesting >= 0 and token.map and token.map[0] + 1 < len(lines)
    ]
    begins = [0, *(index for index, _start in places[1:])]
    ends = [*begins[1:], len(tokens)]
    starts = [0, *(start for _index, start in places[1:])]
    render = _MARKDOWN.renderer.render
    return [
        Block(start, str(render(tokens[begin:end], _MARKDOWN.options, env)))
        for start, begin, end in zip(starts, begins, ends, strict=True)
    ]


def _highlight(code: str, language: str, _attributes: str) -> str:
    return coloured_fence(code, language)


def _image(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
    # An image address would tell its server what was said here, so only its description is shown.
    return f'<span class="image-left-out">[{escape(tokens[place].content or "image")}]</span>'


def _link_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("target", "_blank")
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, place, options, env)


def _label_end(state: StateInline, start: int, disable_nested: bool = False) -> int:
    """Where a link's label ends, or -1. The package reads on to the end of the text for each open bracket."""
    closed = state.src.find("]", start, state.posMax) >= 0
    return parseLinkLabel(state, start, disable_nested) if closed else -1


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight})
    own = vars(helpers) | {"parseLinkLabel": _label_end}
    parser.helpers = SimpleNamespace(**own)  # type: ignore[assignment]
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: url.lower().startswith(_SAFE_LINKS)  # type: ignore[method-assign]
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    return parser


_MARKDOWN = _parser()
_large: dict[str, str] = {}
_rendering = threading.Lock()
