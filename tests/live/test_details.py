"""Sections that fold, as models and READMEs write them in HTML."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from chat.live.markdown import render

SECTION = "<details>\n<summary>{}</summary>\n{}</details>\n"


@pytest.mark.parametrize(
    "opening", ["<details>\n<summary>One <b>two</b></summary>", "<DETAILS> <summary>One **two**</summary>"]
)
@pytest.mark.parametrize("content", ["\n- a\n", "- a\n\n"])
def test_a_section_has_its_summary_and_content(opening: str, content: str) -> None:
    html = render(f"Before\n{opening}\n{content}</details>\nAfter")
    assert html.startswith("<p>Before</p>\n<details>\n<summary>One <")
    assert ">two</" in html
    assert html.endswith("<ul>\n<li>a</li>\n</ul>\n</details>\n<p>After</p>\n")
    assert "&lt;" not in html


def test_one_may_be_open_and_have_no_summary() -> None:
    with override("en"):
        assert render("<details open>\na\n</details>") == (
            '<details open="">\n<summary>Details</summary>\n<p>a</p>\n</details>\n'
        )


def test_sections_lie_in_each_other_in_lists_and_in_quotes() -> None:
    inner = SECTION.format("b", "c\n")
    assert render(SECTION.format("a", inner)) == SECTION.format(
        "a", "<details>\n<summary>b</summary>\n<p>c</p>\n</details>\n"
    )
    assert render("- " + inner.replace("\n", "\n  ")).count("</details>\n</li>") == 1
    assert render("> " + inner.replace("\n", "\n> ")).count("</details>\n</blockquote>") == 1
    assert render("<details>\n" * 100 + "end").count("<details>") < 20


def test_a_closing_tag_in_code_closes_nothing() -> None:
    html = render("<details>\n\n```html\n</details>\n```\n\n*b*\n</details>\n")
    assert "<em>b</em>" in html
    assert html.count("<details>") == html.count("</details>") == 1


@pytest.mark.parametrize(
    "text",
    [
        "`<details>`",
        "    <details>\n    a",
        "a <details>\nb",
        '<details onclick="x()">\na\n</details>',
        "<summary>a</summary>",
        "</details>",
        "\\<details>\na",
    ],
)
def test_anything_else_stays_text(text: str) -> None:
    html = render(text)
    assert "&lt;" in html
    assert "<details" not in html
    assert "<summary" not in html
