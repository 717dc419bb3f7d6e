"""The few HTML tags that models write within a line, as elements. Any other tag stays text."""

from __future__ import annotations

import re
from collections import deque

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

MAX_OPEN = 10  # tags that are remembered until they are closed
_TAG = re.compile(r"<(/?)(sub|sup|kbd|mark|u|b|i|strong|em)>|<br ?/?>", re.IGNORECASE)


def inline_tags(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("autolink", "inline_tag", _tag)
    parser.inline.ruler2.before("fragments_join", "inline_tag_pairs", _pair)


def _tag(state: StateInline, silent: bool) -> bool:
    match = _TAG.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        if match[2]:
            token = state.push("text", "", 0)
            token.content = match[0]
            token.meta = {"tag": match[2].lower(), "closes": bool(match[1])}
        else:
            state.push("hardbreak", "br", 0)
    state.pos = match.end()
    return True


def _pair(state: StateInline) -> None:
    """Make elements of the pairs that lie properly in each other and in the Markdown around them."""
    levels = [deque[Token](maxlen=MAX_OPEN)]
    for token in state.tokens:
        if token.nesting > 0:
            levels.append(deque(maxlen=MAX_OPEN))
        elif token.nesting < 0:
            levels.pop()
        elif "tag" in token.meta and not token.meta["closes"]:
            levels[-1].append(token)
        elif "tag" in token.meta and (opening := _opening(levels[-1], token.meta["tag"])):
            _make_element(opening, "inline_tag_open", 1)
            _make_element(token, "inline_tag_close", -1)


def _opening(unclosed: deque[Token], tag: str) -> Token | None:
    """The latest of that tag, taken out with all that is in it."""
    if all(token.meta["tag"] != tag for token in unclosed):
        return None
    while (token := unclosed.pop()).meta["tag"] != tag:
        pass
    return token


def _make_element(token: Token, kind: str, nesting: int) -> None:
    token.type, token.tag, token.content = kind, token.meta["tag"], ""
    token.nesting = nesting  # type: ignore[assignment]
