"""Quotes that begin with `[!NOTE]` or the like, as boxes with that label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext_lazy
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

LABELS = {
    "note": gettext_lazy("Note"),
    "tip": gettext_lazy("Tip"),
    "important": gettext_lazy("Important"),
    "warning": gettext_lazy("Warning"),
    "caution": gettext_lazy("Caution"),
}
_FIRST_LINE = re.compile(rf"\[!({'|'.join(LABELS)})\]\s*", re.IGNORECASE)


def alerts(parser: MarkdownIt) -> None:
    parser.core.ruler.after("inline", "alerts", _mark)
    parser.add_render_rule("blockquote_open", _open)


def _mark(state: StateCore) -> None:
    """Mark the quotes that are alerts, and take their first line away."""
    tokens = state.tokens
    for quote, opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if (quote.type, opening.type, inline.type) != ("blockquote_open", "paragraph_open", "inline"):
            continue
        first, *rest = inline.children or [Token("text", "", 0)]
        named = _FIRST_LINE.fullmatch(first.content) if first.type == "text" else None
        if named is None or (rest and rest[0].type not in ("softbreak", "hardbreak")):
            continue
        quote.meta["alert"] = named[1].lower()
        inline.children = rest[1:]
        opening.hidden = closing.hidden = not rest


def _open(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    name = tokens[index].meta.get("alert")
    if name is None:
        return self.renderToken(tokens, index, options, env)
    label = escape(LABELS[name])
    return f'<blockquote class="alert alert--{name}">\n<p class="alert__label">{label}</p>\n'
