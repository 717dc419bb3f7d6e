"""HTML tags in the text of a model: a small set is shown as what it means, the rest as it is written."""

from __future__ import annotations

import pytest
from django.utils.html import escape

from chat.live.inline_tags import MAX_OPEN
from chat.live.markdown import render


@pytest.mark.parametrize("tag", ["sub", "sup", "kbd", "mark", "u", "b", "i", "strong", "em"])
def test_a_pair_is_an_element(tag: str) -> None:
    element = f"<{tag}>2</{tag}>"
    assert render(f"H{element}O") == f"<p>H{element}O</p>\n"
    assert render(f"H{element.upper()}O") == f"<p>H{element}O</p>\n"


@pytest.mark.parametrize(
    "text",
    [
        "<b>a <i>b</i></b> <u></u>",
        "<b>one</b> <b>two</b>",
        "# <b>a</b>",
        "- <b>a</b>",
    ],
)
def test_pairs_may_lie_in_each_other(text: str) -> None:
    html = render(text)
    assert text.lstrip("#- ") in html


def test_pairs_and_markdown_may_lie_in_each_other() -> None:
    assert render("*<b>a</b>* <b>*a* `b`</b>") == (
        "<p><em><b>a</b></em> <b><em>a</em> <code>b</code></b></p>\n"
    )
    assert "data-in-panel><b>a</b></a>" in render("[<b>a</b>](a.md)")
    assert render("<b>a *b</b> c*") == "<p>&lt;b&gt;a <em>b&lt;/b&gt; c</em></p>\n"


@pytest.mark.parametrize(
    "text",
    [
        "<b>a",
        "a</b>",
        "</b>a<b>",
        "<b>a</i>",
        "<b class='x'>a",
        "<b >a</b >",
        "<script>a</script>",
        "<img src=x>",
        "<br class=x>",
        "<a>b</a>",
        "<bb>a</bb>",
    ],
)
def test_all_else_stays_text(text: str) -> None:
    assert render(text) == f"<p>{escape(text).replace('&#x27;', chr(39))}</p>\n"


def test_what_is_not_closed_stays_text_within_what_is() -> None:
    assert render("<b>x<i>y</b>") == "<p><b>x&lt;i&gt;y</b></p>\n"
    assert render("`<b>a</b>`") == "<p><code>&lt;b&gt;a&lt;/b&gt;</code></p>\n"
    assert render("<b>a\n\nb</b>") == "<p>&lt;b&gt;a</p>\n<p>b&lt;/b&gt;</p>\n"


def test_depth_is_bounded() -> None:
    html = render("<b>" * 50 + "a" + "</b>" * 50)
    assert html.count("<b>") == html.count("</b>") == MAX_OPEN


@pytest.mark.parametrize("tag", ["<br>", "<br/>", "<br />", "<BR>"])
def test_a_line_break(tag: str) -> None:
    assert render(f"x{tag}y") == "<p>x<br />\ny</p>\n"
    assert "<td>x<br />\ny</td>" in render(f"| a |\n|-|\n| x{tag}y |")
