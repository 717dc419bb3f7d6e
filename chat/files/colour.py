"""A file's text as coloured HTML."""

from __future__ import annotations

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

MOST_COLOURED = 64 * 1024  # characters
_FORMATTER = HtmlFormatter(nowrap=True, classprefix="hl-")
# What turns the text around it would show a program other than the one that runs.
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"<U+{code:04X}>" for code in _TURNING}


def coloured(text: str, name: str) -> SafeString:
    """The text as HTML, in colours where the name tells a language and the text is not too long for it."""
    text = text.translate(_SHOWN)
    if len(text) <= MOST_COLOURED:
        try:
            lexer = get_lexer_for_filename(name, stripnl=False, ensurenl=False)
            return mark_safe(highlight(text, lexer, _FORMATTER))  # noqa: S308 (escaped by the formatter)
        except ClassNotFound:
            pass
    return escape(text)
