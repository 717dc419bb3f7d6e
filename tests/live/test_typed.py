"""A user's message: as it was typed, except that fenced code is shown as code."""

from __future__ import annotations

import re

import pytest

from chat.live.markdown import MAX_BLOCK, render_typed


def test_fenced_code_is_code_and_the_rest_stays_as_typed() -> None:
    text = "Why *this* & <b>?\n\n  so:\n```py\nx = 1 < 2\n```\nAnd\n\n~~~\n\n y\n~~~"
    html = render_typed(text, read_only=True)
    assert html.startswith("Why *this* &amp; &lt;b&gt;?\n\n  so:<div")
    assert '<span>py</span></div><pre tabindex="0">' in html
    assert "</code></pre></div>And<div" in html
    assert html.endswith("<code>\n y\n</code></pre></div>")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_code_may_end_the_message_or_lack_its_end(end: str) -> None:
    for text in (f"a\r\n```\r\nb\r\n```{end}", f"a\n```\nb{end}"):
        html = render_typed(text, read_only=True)
        assert html.startswith("a<div")
        assert html.endswith("</code></pre></div>")


@pytest.mark.parametrize("text", ["a ``` b", "`a`", "# a\n\n- b\n\n    c\n", "- ```\n  a\n  ```", "\n a \n"])
def test_anything_else_is_plain(text: str) -> None:
    assert render_typed(text) == text


def test_the_code_can_be_copied_unless_it_is_only_read() -> None:
    assert "data-copy" in render_typed("```\na\n```")
    assert "data-copy" not in render_typed("```\na\n```", read_only=True)


def test_a_very_long_message_stays_plain() -> None:
    text = "```\n" + "a" * MAX_BLOCK
    assert render_typed(text) == text


def test_addresses_are_links() -> None:
    html = render_typed(
        "看https://a.cn/b?c=1&d=<2>。(http://b.org/x_(y)), ftp://c.org xhttp://d.org http://\n```\nhttp://e.org\n```"
    )
    links = re.findall(
        r'<a href="([^"]*)" target="_blank" rel="noopener noreferrer nofollow">([^<]*)</a>', html
    )
    addresses = ["https://a.cn/b?c=1&amp;d=", "http://b.org/x_(y)"]
    assert links == [(each, each) for each in addresses]
    assert html.count("<a ") == 2
    assert "&lt;2&gt;。(" in html
