"""Quotes that GitHub calls alerts: boxes with a label in the reader's language."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from chat.live.markdown import render


@pytest.mark.parametrize("name", ["Note", "Tip", "Important", "Warning", "Caution"])
@pytest.mark.parametrize("read_only", [False, True])
def test_an_alert_has_its_label(name: str, read_only: bool) -> None:
    with override("en"):
        html = render(f"> [!{name.upper()}]\n> Read *this*.\n>\n> - And that\n", read_only=read_only)
    label = f'<p class="alert__label">{name}</p>'
    assert html.startswith(
        f'<blockquote class="alert alert--{name.lower()}">\n{label}\n<p>Read <em>this</em>.'
    )
    assert "<li>And that</li>" in html
    assert "[!" not in html


@pytest.mark.parametrize("text", ["> [!note]\n> a", "> [!NOTE]  \n> a", "> [!NOTE]\n>\n> a", "> [!NOTE]\na"])
def test_its_first_line_may_look_otherwise(text: str) -> None:
    html = render(text)
    assert html.count("<p") == html.count("</p>") == 2
    assert "<p>a</p>" in html


def test_it_may_lie_in_a_list_or_a_quote() -> None:
    assert render("- > [!TIP]\n  > a").count("alert--tip") == 1
    assert render("> b\n>\n> > [!TIP]\n> > a").count("alert--tip") == 1


@pytest.mark.parametrize(
    "text",
    [
        "> [!NOTE] a",
        "> a [!NOTE]",
        "> a\n> [!NOTE]",
        "> [!OTHER]\n> a",
        "> \\[!NOTE]\n> a",
        "> `[!NOTE]`\n> a",
        "> **[!NOTE]**\n> a",
        "[!NOTE]\na",
    ],
)
def test_other_quotes_stay_quotes(text: str) -> None:
    html = render(text)
    assert "alert" not in html
    assert "!" in html
