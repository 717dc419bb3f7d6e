"""LaTeX formulas as MathML, which browsers draw by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import Element

from django.utils.html import escape

MAX_FORMULA = 2000  # characters; a longer one is shown as it is written

# A formula's own commands may double with each use: a few lines of them would never end.
_MACROS = (r"\newcommand", r"\newenvironment", r"\def", r"\DeclareMathOperator")
# The package passes on attributes that a formula sets itself, such as \href and \style.
_ELEMENT = re.compile(
    "math|menclose|mfenced|mfrac|mi|mlabeledtr|mmultiscripts|mn|mo|mover|mpadded|mphantom|mprescripts|mroot|mrow"
    "|ms|mspace|msqrt|mstyle|msub|msubsup|msup|mtable|mtd|mtext|mtr|munder|munderover|none"
)
_ATTRIBUTE = re.compile(
    "accent|accentunder|align|columnalign|columnlines|columnspacing|depth|displaystyle|fence|form|height|largeop"
    "|linethickness|lspace|mathvariant|maxsize|minsize|movablelimits|notation|rowalign|rowlines|rowspacing|rspace"
    "|scriptlevel|separator|stretchy|symmetric|voffset|width"
)

# What the package does not know, in words that it does.
_ENVIRONMENTS = {
    **dict.fromkeys(
        ["align", "aligned", "alignedat", "alignat", "alignat*", "flalign", "flalign*"], ("align*", "align*")
    ),
    **dict.fromkeys(["gather", "gather*", "gathered", "multline", "multline*"], ("matrix", "matrix")),
    **dict.fromkeys(["eqnarray", "eqnarray*"], ("array}{rcl", "array")),
}
_ENVIRONMENT = re.compile(r"\\(begin|end)\{([a-z]+\*?)\}(?:\{\d+\}|\[[tbc]\])?")
_WORDS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"\\(?:nonumber|notag)(?![A-Za-z])|\\label\{[^{}]*\}"), ""),
    (re.compile(r"\\tag\*?\{([^{}]*)\}"), r"\\qquad\\text{(\1)}"),
    (re.compile(r"\\arg(?![A-Za-z])"), r"\\operatorname{arg}"),
]
_OPERATORS = {"±": "±", ":": ":", "~": "∼"}  # that the package takes for variables, without room around them
_SIGNS = frozenset("+−±∓")
_CLOSING = frozenset(")]}|‖⟩⌉⌋!′")
_LIMITS = ("lim", "max", "min", "sup", "inf", "liminf", "limsup", "argmax", "argmin")


@lru_cache(maxsize=512)
def math_html(formula: str, display: bool) -> str:
    """The formula as a `<math>` element that has it as `alttext`, too; as code if too long or unreadable."""
    try:
        if len(formula) <= MAX_FORMULA and not any(name in formula for name in _MACROS):
            from latex2mathml.converter import convert_to_element  # 11 MB, and most sites show no formula

            kind = "block" if display else "inline"
            converted = convert_to_element(_in_known_words(formula), display=kind)
            _improve(converted, display)
            children = "".join(map(_markup, converted))
            shown = ' display="block"' if display else ""
            return f'<math{shown} alttext="{escape(formula)}">{children}</math>'
    except Exception:  # noqa: S110  the package raises many kinds of errors, RecursionError among them
        pass
    return f"<code>{escape(formula)}</code>"


def _in_known_words(formula: str) -> str:
    def known(match: re.Match[str]) -> str:
        names = _ENVIRONMENTS.get(match[2])
        return f"\\{match[1]}{{{names[match[1] == 'end']}}}" if names else match[0]

    formula = _ENVIRONMENT.sub(known, formula)
    for pattern, words in _WORDS:
        formula = pattern.sub(words, formula)
    return formula


def _improve(parent: Element, display: bool) -> None:
    """Set the spaces around operators, what is beneath a limit, and the rules of a table, as LaTeX does."""
    previous = None
    for element in parent:
        text = unescape(element.text or "")
        if element.tag == "mi" and text in _OPERATORS:
            element.tag, element.text = "mo", _OPERATORS[text]
        elif element.tag == "mo" and text in _SIGNS and previous is not None and previous.tag == "mo":
            if unescape(previous.text or "") not in _CLOSING:
                element.set("form", "prefix")  # as in "b = −3"
        elif element.tag == "msub" and display and _has_limits(element[0]):
            element.tag = "munder"
        elif element.tag == "mtable":
            _rule(element)
        _improve(element, display)
        previous = element


def _has_limits(operator: Element) -> bool:
    return (operator.text or "") in _LIMITS or operator.get("movablelimits") == "true"


def _rule(table: Element) -> None:
    """Give each cell the rules at its end; browsers know them no other way."""
    beside, beneath = table.get("columnlines", "").split(), table.get("rowlines", "").split()
    for number, row in enumerate(table):
        for cell, line in zip(row, beside, strict=False):
            cell.set("columnlines", line)
        for cell in row if number < len(beneath) else ():
            cell.set("rowlines", beneath[number])


def _markup(element: Element) -> str:
    return "".join(_pieces(element))


def _pieces(element: Element) -> Iterator[str]:
    known = _ELEMENT.fullmatch(element.tag)
    if known:
        attributes = "".join(
            f' {name}="{escape(value)}"' for name, value in element.items() if _ATTRIBUTE.fullmatch(name)
        )
        yield f"<{element.tag}{attributes}>"
    # The package writes symbols as character references, and leaves resolving them to a later step.
    yield escape(unescape(element.text or ""))
    for child in element:
        yield from _pieces(child)
        yield escape(unescape(child.tail or ""))
    if known:
        yield f"</{element.tag}>"
