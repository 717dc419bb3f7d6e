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


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n后来 呢"])
@pytest.mark.parametrize(
    "line",
    ["``` 请告诉我 原因 和 修改办法，截止日期 周五", "~~~ 波浪线 后面 的字", "```python 第1题 请找出 错误"],
)
def test_a_fence_with_words_and_no_end_is_text(line: str, end: str) -> None:
    text = f"报错信息如下：```\nValueError: bad input\n{line}{end}"
    assert render_typed(text) == text


def test_the_words_of_a_fence_stay_above_its_code() -> None:
    html = render_typed("看\n```python 第1题 请找出 错误\nx = 1\n```\n谢谢\n~~~py\ny\n~~~", read_only=True)
    assert html.startswith('看\n```python 第1题 请找出 错误<div class="code-block">')
    assert re.findall("<span>([^<]*)</span></div>", html) == ["python", "py"]
    assert "</div>谢谢<div" in html


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
