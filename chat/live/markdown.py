"""Markdown to HTML, the same for a page and for text that still streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from chat.files.colour import coloured_fence

MAX_BLOCK = 32 * 1024  # characters; a parser's bad cases grow with the square
_SAFE_LINKS = ("http://", "https://", "mailto:")


def render(text: str) -> str:
    """A whole text as HTML that holds no markup of the text's own."""
    if len(text) <= MAX_BLOCK:
        return str(_MARKDOWN.render(text))
    growing, html = Settling(), []
    for start in range(0, len(text), MAX_BLOCK // 4):
        growing.text = text[: start + MAX_BLOCK // 4]
        html.append(growing.settle())
    return "".join([*html, growing.open_end()])


def render_open(text: str) -> tuple[str, str]:
    """A text that is still being written: the HTML of its settled blocks, and that of its open end."""
    return Settling(text).advance()


class Settling:
    """A text that grows. Blocks that can change no more are given once; the open end each time."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.settled = 0

    def advance(self) -> tuple[str, str]:
        """The HTML of the blocks settled since the last call, and that of the open end."""
        return self.settle(), self.open_end()

    def settle(self) -> str:
        """The HTML of the blocks settled since the last call."""
        open_text = self.text[self.settled :]
        end = _settled_length(open_text) if len(open_text) <= MAX_BLOCK else 0
        self.settled += end
        return str(_MARKDOWN.render(open_text[:end])) if end else ""

    def open_end(self) -> str:
        """The HTML of what is not settled."""
        open_text = self.text[self.settled :]
        if len(open_text) > MAX_BLOCK:
            return f"<pre>{escape(open_text)}</pre>"
        return str(_MARKDOWN.render(open_text))


def _settled_length(text: str) -> int:
    """How much of the text stands before its last block whose first line is complete."""
    lines = text.splitlines(keepends=True)
    starts = [token.map[0] for token in _BLOCKS.parse(text) if token.map and token.level == 0]
    begun = [start for start in starts if start < len(lines) and lines[start].endswith("\n")]
    return sum(map(len, lines[: begun[-1]])) if begun else 0


def _highlight(code: str, language: str, _attributes: str) -> str:
    return coloured_fence(code, language)


def _image(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
    # An image address would tell its server what was said here, so only its description is shown.
    return f'<span class="image-left-out">[{escape(tokens[place].content or "image")}]</span>'


def _link_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("target", "_blank")
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, place, options, env)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: url.lower().startswith(_SAFE_LINKS)  # type: ignore[method-assign]
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    return parser


_MARKDOWN = _parser()
_BLOCKS = _parser()  # finds where blocks begin, without a look at what is in them
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
