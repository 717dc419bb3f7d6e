"""Syntax highlighting in linear time for any input.

The patterns are our own. Most lexers of Pygments, among them those for Python, JavaScript, C and Java, take
quadratic time or worse on crafted input, and `re` holds the GIL while it matches: a kilobyte can stop the
whole process. Highlighting in a separate process would delay pages, or let them differ from one load to the
next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from django.utils.safestring import SafeString, mark_safe

from chat.files.languages import EMBEDDED, Language, language_called, language_of_file

MAX_LENGTH = 64 * 1024  # characters
# Bidirectional controls can display a program other than the one that runs, so they are made visible.
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_VISIBLE = {code: f"&lt;U+{code:04X}&gt;" for code in _BIDI}
_IMPORTS = {"import", "from", "include", "require", "package", "use", "using"}
_IN_TAG = re.compile(
    r"(?P<k></?[\w:.-]++)|(?P<s>\"[^\"]*+\"?|'[^']*+'?)|(?P<nf>[\w:@.-]++)|(?P<rest>.)", re.DOTALL
)
_ELEMENT = re.compile(r"(<(script|style)(?=[\s>])[^<>]*+>)([\s\S]*?)(?=</(?:script|style)|\Z)", re.IGNORECASE)


def coloured_file(text: str, name: str) -> SafeString:
    """The text with each line in a span, which the style sheet numbers."""
    lines = _html(text, language_of_file(name)).translate(_VISIBLE).removesuffix("\n").split("\n")
    return mark_safe("".join(f"<span>{line}\n</span>" for line in lines))  # noqa: S308 (each part is escaped)


def coloured_fence(code: str, language: str) -> SafeString:
    return _html(code, language_called(language))


def _html(text: str, language: Language | None) -> SafeString:
    if language is None or len(text) > MAX_LENGTH:
        return mark_safe(escape(text))  # noqa: S308
    parts = _with_elements(text, language) if language.is_markup else _tokens(text, language)
    return mark_safe("".join(parts))  # noqa: S308 (each part is escaped)


def _with_elements(text: str, language: Language) -> Iterator[str]:
    end = 0
    for element in _ELEMENT.finditer(text):
        yield from _tokens(text[end : element.end(1)], language)
        yield from _tokens(element[3], EMBEDDED[element[2].lower()])
        end = element.end()
    yield from _tokens(text[end:], language)


def _tokens(text: str, language: Language) -> Iterator[str]:
    end = 0
    for token in language.pattern.finditer(text):
        if token.start() > end:
            yield escape(text[end : token.start()])
        end = token.end()
        kind = str(token.lastgroup).partition("_")[0]
        if kind == "tag":
            yield _IN_TAG.sub(_part_of_tag, token[0])
        elif kind == "word":
            yield _span(_kind_of_word(token[0], text[end : end + 1], language), token[0])
        else:
            yield _span(kind, token[0])
    yield escape(text[end:])


def _part_of_tag(part: re.Match[str]) -> str:
    return _span("" if part.lastgroup == "rest" else str(part.lastgroup), part[0])


def _kind_of_word(word: str, next_character: str, language: Language) -> str:
    if (word.lower() if language.ignores_case else word) in language.words:
        return "kn" if word in _IMPORTS else "k"
    return "nf" if next_character == "(" else ""


def _span(kind: str, text: str) -> str:
    """No span crosses lines, so that each line can be numbered."""
    if not kind:
        return escape(text)
    return "\n".join(line and f'<span class="hl-{kind}">{line}</span>' for line in escape(text).split("\n"))
