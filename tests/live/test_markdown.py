"""Markdown as messages show it: what models write beyond CommonMark, and nothing that could act."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from django.utils.translation import override

from chat.agent.workspace import Workspace
from chat.live import markdown
from chat.live.markdown import MAX_BLOCK, MAX_NAMED, Place, Settling, render, render_grown, render_typed
from chat.live.mathematics import MAX_FORMULA, math_html

LINK = 'target="_blank" rel="noopener noreferrer nofollow"'


def test_task_lists() -> None:
    html = render("- [x] Read\n- [ ] Write\n- [plain](https://a.example/)\n\n1. [X] Test\n")
    assert '<li class="task">☑ Read</li>' in html
    assert '<li class="task">☐ Write</li>' in html
    assert '<li class="task">☑ Test</li>' in html
    assert html.count("task") == 3


def test_text_that_begins_on_the_right_turns_its_sides_around() -> None:
    table = "| אחד | שתיים |\n|---|---|\n| א | 2 |"
    html = render(f"שלום\n\n- אחד\n  > שתיים\n\n1. שלוש\n\n{table}")
    assert re.findall(r"<(?:ul|ol|blockquote|table|p)\b[^>]*>", html) == [
        "<p>",
        '<ul dir="auto">',
        '<blockquote dir="auto">',
        "<p>",
        '<ol dir="auto">',
        '<table dir="auto">',
    ]
    assert "dir=" not in render("- one\n\n> two\n\n| a |\n|---|\n| b |")


def test_code_tells_its_language_and_can_be_copied() -> None:
    html = render("```python x\nprint(1)\n```\n\n```\n<b>\n```\n\n```<i>\n\n```\n")
    assert html.count('<div class="code-block"><div class="code-block__bar"><span>') == 3
    assert "<span>python</span><button" in html
    assert "<span></span><button" in html
    assert "<span>&lt;i&gt;</span><button" in html
    assert html.count('<pre tabindex="0"><code') == 3
    assert "<button" not in render("```python\nprint(1)\n```\n", read_only=True)
    assert "<button" not in render("```python\nprint(1)\n```\n" + "word\n\n" * 20_000, read_only=True)


@pytest.mark.parametrize(
    ("text", "address", "rest"),
    [
        ("See https://a.example/b.", "https://a.example/b", ".</p>"),
        ("(https://a.example/b_(c))", "https://a.example/b_(c)", ")</p>"),
        ("打开https://a.example/b，然后", "https://a.example/b", "，然后</p>"),
        ("**http://a.example:80/x?y=1#z**", "http://a.example:80/x?y=1#z", "</strong></p>"),
        ("- https://a.example", "https://a.example", "</li>"),
    ],
)
def test_bare_addresses_are_links(text: str, address: str, rest: str) -> None:
    assert f'<a href="{address}" {LINK}>{address}</a>{rest}' in render(text)


@pytest.mark.parametrize("drawn", [render, render_typed])
@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("在 https://a.example/item/分数 ，", "https://a.example/item/分数"),
        ("https://a.example/小数?from=课本#第二节-一。", "https://a.example/小数?from=课本#第二节-一"),
        ("网址：https://a.example/语文，还有", "https://a.example/语文"),
        ("（https://a.example/语文）", "https://a.example/语文"),
        ("**https://a.example/语文**", "https://a.example/语文"),
        ("「https://a.example/列奥纳多·达·芬奇」", "https://a.example/列奥纳多·达·芬奇"),
        ("https://a.example/Việt_Nam và", "https://a.example/Việt_Nam"),
        ("https://a.example/हिन्दी।", "https://a.example/हिन्दी"),
        ("https://a.example/x这个", "https://a.example/x"),
        ("https://a.example/语文1的", "https://a.example/语文1"),
        ("官网https://a.example/可以下载", "https://a.example/"),
        ("官网https://www.a.example可以下载", "https://www.a.example"),
    ],
)
def test_a_bare_address_has_letters_beyond_ascii_where_it_stands_alone(
    drawn: Callable[[str], str], text: str, address: str
) -> None:
    [(url, shown)] = re.findall(f'<a href="([^"]*)" {LINK}>([^<]*)</a>', drawn(text))
    assert shown == address
    assert url.isascii()
    assert unquote(url) == address


@pytest.mark.parametrize("drawn", [render, render_typed])
@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://www.例子.中国/路径", "www.xn--fsqu00a.xn--fiqs8s"),
        ("https://例子.a.example:80/", "xn--fsqu00a.a.example"),
        ("https://www.bücher.example/", "www.xn--bcher-kva.example"),
    ],
)
def test_a_host_has_them_too(drawn: Callable[[str], str], address: str, host: str) -> None:
    html = drawn(f"见 {address} 。")
    [(url, shown)] = re.findall(f'<a href="([^"]*)" {LINK}>([^<]*)</a>', html)
    assert (shown, urlsplit(url).hostname) == (address, host)
    assert ("link-host" in html) == (drawn is render)
    assert (f" ({host})</span>" in html) == (drawn is render)


@pytest.mark.parametrize("drawn", [render, render_typed])
@pytest.mark.parametrize(
    "text", ["官网https://www.例子.中国/路径", "https://58同城.example/", "看https://例子.中国"]
)
def test_no_address_leads_to_a_part_of_its_host(drawn: Callable[[str], str], text: str) -> None:
    assert "<a " not in drawn(text)


@pytest.mark.parametrize(
    "text", ["`https://a.example`", "xhttps://a.example", "https:// a", "ftp://a.example"]
)
def test_other_texts_are_not(text: str) -> None:
    assert "<a " not in render(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://bank.com/login", "http://k.com/x"),
        ("https://www.paypal.example/signin", "http://l.example"),
        ("bank.com/k.com", "http://k.com"),
        ("bank.com", "https://bank.com.k.example/"),
        ("sign in at bank.com, not at k.com", "https://k.com"),
    ],
)
def test_another_host_in_the_text_hides_none(text: str, address: str) -> None:
    assert "link-host" in render(f"[{text}]({address})")


@pytest.mark.parametrize(
    "address", ["http:///evil.example/login", "https://", "http://?x", "https:evil.example"]
)
def test_an_address_without_a_host_is_no_link(address: str) -> None:
    assert "<a" not in render(f"[the bank]({address})")


def test_a_link_tells_its_host_where_its_text_does_not() -> None:
    assert render("[here](https://a.example/b)").endswith(
        '</a><span class="link-host"> (a.example)</span></p>\n'
    )
    assert "(evil.example)" in render("[https://good.example](https://evil.example/)")
    for told in ("<https://a.example/>", "[a.example](https://www.a.example/)", "[mail](mailto:a@b.example)"):
        assert "link-host" not in render(told)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_remote_image_is_a_link_and_tells_its_host(read_only: bool) -> None:
    html = render('![a <b>](https://a.example/x.png?y&z "title")', read_only=read_only)
    link = f'<a href="https://a.example/x.png?y&amp;z" {LINK}>a &lt;b&gt;</a>'
    assert html == f'<p>{link}<span class="link-host"> (a.example)</span></p>\n'
    without_description = render("![](https://a.example/x.png)", read_only=read_only)
    assert f"{LINK}>https://a.example/x.png</a></p>" in without_description
    badge = render("[![built](https://a.example/x.svg)](https://b.example/)", read_only=read_only)
    assert badge.count("<a ") == 1
    assert "[built]" in badge
    assert "<img" not in html + without_description + badge


def test_footnotes_stand_at_the_end_with_no_ids() -> None:
    html = render("One[^a] and two[^b].\n\n[^b]: Second *note*\n[^a]: First\n\nEnd.\n")
    assert 'One<sup class="footnote-ref">[1]</sup> and two<sup class="footnote-ref">[2]</sup>.' in html
    assert html.index("End.") < html.index("First") < html.index("Second <em>note</em>")
    assert " id=" not in html


NOTES = "One[^a], two[^b] and one[^a].\n\n[^b]: Second\n[^a]: First\n"


@pytest.mark.parametrize("read_only", [False, True])
def test_a_footnote_and_its_references_lead_to_each_other(read_only: bool) -> None:
    html = render(NOTES, Place(name="message-7"), read_only=read_only)
    ids = re.findall(r' id="([^"]+)"', html)
    links = re.findall(r' href="#([^"]+)"', html)
    first, second = "message-7-note-1", "message-7-note-2"
    assert ids == [f"{first}-ref-1", f"{second}-ref-1", f"{first}-ref-2", first, second]
    assert links == [first, second, first, f"{first}-ref-1", f"{first}-ref-2", f"{second}-ref-1"]


def test_a_growing_text_has_no_ids_that_would_change() -> None:
    growing = Settling(NOTES, Place(name="message-7"))
    blocks, tail = growing.advance()
    assert " id=" not in "".join(block.html for block in blocks) + tail


def test_a_footnote_lies_in_no_link() -> None:
    html = render("[a[^1]](https://a.example/)\n\n[^1]: b\n", Place(name="message-7"))
    assert re.findall("<a |</a>", html) == ["<a ", "</a>"] * 3


@pytest.mark.parametrize(
    "text",
    ["$x^2$", r"\(x^2\)", "$$x^2$$", "a $$x^2$$ b", r"\[x^2\]", "$$\nx^2\n$$", "\\[\nx^2\n\\]", "- $x^2$"],
)
def test_formulas_are_mathml(text: str) -> None:
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in render(text)


def test_a_formula_of_several_lines_is_no_list() -> None:
    assert "<ul>" not in render("$$\na\n- b\n+ c\n$$\n\n\\[\na\n- b\n\\]\n")


@pytest.mark.parametrize("text", ["It costs $5 or $10.", r"\$5 and \$6", "`$x$`", "$ x $", r"\( \)"])
def test_prices_and_code_are_no_formulas(text: str) -> None:
    assert "<math" not in render(text)


@pytest.mark.parametrize("price", ["$10", "$1,299.50", "$3"])
def test_a_formula_may_follow_a_price_in_chinese(price: str) -> None:
    html = render(f"它卖{price}，即$x$的值，或{price}亿。")
    assert html.count("<math") == 1
    assert 'alttext="x"' in html
    assert html.count(price) == 2
    assert render("$2π$，$10$、$2x$").count("<math") == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**注意：**请先看", "<strong>注意：</strong>请先看"),
        ("请看**（第一章）**再写", "请看<strong>（第一章）</strong>再写"),
        ("他说**“你好”**然后走了", "他说<strong>“你好”</strong>然后走了"),
        ("写成**`f(x)`**即可", "写成<strong><code>f(x)</code></strong>即可"),
        ("~~旧的。~~新的", "<s>旧的。</s>新的"),
        ("**Anmerkung:**bitte", "**Anmerkung:**bitte"),
        ("これは**強調（きょうちょう）**です", "これは<strong>強調（きょうちょう）</strong>です"),
        ("이것은 **강조(強調)**입니다", "이것은 <strong>강조(強調)</strong>입니다"),
        ("** 不是 **重点", "** 不是 **重点"),
        ("变量 snake_中_case 和 a_b", "变量 snake_中_case 和 a_b"),
        ("2*3*4 = 24", "2<em>3</em>4 = 24"),
        ("很好👍**“是的”**👍", "很好👍<strong>“是的”</strong>👍"),
    ],
)
def test_emphasis_in_chinese_needs_no_spaces(text: str, expected: str) -> None:
    assert render(text) == f"<p>{expected}</p>\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("第一行，\n第二行", "第一行，第二行"),
        ("日本語\nです", "日本語です"),
        ("한국어\n문장", "한국어\n문장"),
        ("English\n中文", "English\n中文"),
        ("two\nlines", "two\nlines"),
        ("**重点**\n第二行", "<strong>重点</strong>\n第二行"),
        ("很好👍\n谢谢", "很好👍\n谢谢"),
    ],
)
def test_lines_of_chinese_have_no_space_between(text: str, expected: str) -> None:
    assert render(text) == f"<p>{expected}</p>\n"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"a \pm b", "<mi>a</mi><mo>±</mo><mi>b</mi>"),
        (r"a \sim b", "<mi>a</mi><mo>∼</mo><mi>b</mi>"),
        ("a : b", "<mi>a</mi><mo>:</mo><mi>b</mi>"),
        ("b = -3", '<mi>b</mi><mo>=</mo><mo form="prefix">−</mo><mn>3</mn>'),
        (r"\left( -3 \right.", '<mo form="prefix">−</mo><mn>3</mn>'),
        (r"\left( 3 + \right.", '<mo stretchy="true" fence="true" form="postfix"></mo>'),
        ("(a) - 3", '<mo stretchy="false">)</mo><mo>−</mo><mn>3</mn>'),
        ("a - 3", "<mi>a</mi><mo>−</mo><mn>3</mn>"),
        (r"\lim_{x} a", "<munder><mo>lim</mo><mi>x</mi></munder>"),
        (r"\sqrt{\frac{a \pm b}{2}}", "<mo>±</mo>"),
    ],
)
def test_operators_have_the_room_that_they_have_in_latex(formula: str, expected: str) -> None:
    assert expected in math_html(formula, True).replace("<mrow><mi>x</mi></mrow>", "<mi>x</mi>")


RIGHT, LEFT = '<mtd columnalign="right">', '<mtd columnalign="left">'
A, B = "<mi>a</mi>", "<mi>b</mi>"


@pytest.mark.parametrize("name", ["aligned", "align", "split", "alignedat}{2", "aligned}[t"])
def test_lines_are_aligned(name: str) -> None:
    begin, end = f"\\begin{{{name}" + ("]" if "[" in name else "}"), name.partition("}")[0]
    html = math_html(f"{begin} a &= b \\\\ &= c \\end{{{end}}}", True)
    assert f"{RIGHT}{A}</mtd>{LEFT}<mi></mi><mo>=</mo>{B}</mtd></mtr><mtr>{RIGHT}</mtd>{LEFT}" in html
    assert "&amp;" not in html.partition(">")[2]


@pytest.mark.parametrize("name", ["gather", "gathered", "gather*", "multline"])
def test_lines_stand_beneath_each_other(name: str) -> None:
    html = math_html(rf"\begin{{{name}}} a \\ b \end{{{name}}}", True)
    assert f"<mtr><mtd>{A}</mtd></mtr><mtr><mtd>{B}</mtd></mtr>" in html


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"\left\{\begin{aligned}a&=b\\b&=c\end{aligned}\right.", f"{RIGHT}{A}</mtd>{LEFT}"),
        (
            r"\begin{eqnarray}a&=&b\end{eqnarray}",
            f'{RIGHT}{A}</mtd><mtd columnalign="center"><mo>=</mo></mtd>',
        ),
        (r"\arg\max_x a", "<mo>arg</mo><munder><mo>max</mo>"),
        (r"\operatorname*{argmin}_x a", '<munder><mo movablelimits="true">argmin</mo>'),
        (r"a \tag{1}", f'{A}<mspace width="2em"></mspace><mtext>(1)</mtext>'),
        (r"a \label{eq:a} \nonumber", f"<mrow>{A}</mrow></math>"),
        (r"\boxed{a}", f'<menclose notation="box"><mrow>{A}</mrow></menclose>'),
        (
            r"\begin{array}{c|c} a & b \\ \hline b & c \end{array}",
            'columnalign="center" columnlines="solid" rowlines="solid">',
        ),
    ],
)
def test_what_models_write_is_understood(formula: str, expected: str) -> None:
    assert expected in math_html(formula, True)


def test_in_a_line_a_limit_stands_beside_its_name() -> None:
    assert "<msub><mo>lim</mo>" in math_html(r"\lim_x a", False)


def test_a_formula_holds_no_markup_of_its_own() -> None:
    html = math_html(
        r"\text{<script>alert(1)</script> & <b>} \href{javascript:x}{y} \style{color:red}{z}", True
    )
    element = re.fullmatch(r'<math display="block" alttext="([^"<>]*)">(<mrow>.*</mrow>)</math>', html)
    assert element, html
    assert unescape(element[1]).startswith(r"\text{<script>")
    assert not re.search("<script|<b|href|style", element[2])


@pytest.mark.parametrize(
    "formula", [r"\frac", "{" * 1000, "x" * (MAX_FORMULA + 1), r"\newcommand{\a}{\b\b}\a"]
)
def test_what_is_no_formula_is_shown_as_it_is_written(formula: str) -> None:
    assert math_html(formula, False) == f"<code>{formula}</code>"


def test_a_formula_that_doubles_itself_costs_nothing() -> None:
    names = [f"\\x{chr(97 + number)}" for number in range(26)]
    doubling = "".join(f"\\def{a}{{{b}{b}}}" for a, b in itertools.pairwise(names))
    began = time.thread_time()
    assert "<code>" in render(f"${doubling}{names[0]}$")
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "```py\nx = 1\ny\n```\n\n- [x] a\n- [ ] b\n\nSee https://a.example/ now.\n\n"
        "在 https://www.例子.中国/路径?a=课本 。\n\n"
        "$$\nx\n$$\n\n\\[\ny\n\\]\n\nThe $z$ end.\n",
        "> [!NOTE]\n> One\n>\n> Two\n\nAfter.\n\n> [!TIP]\n>\n> Three\n\nEnd.\n",
        "One\n\n<details>\n<summary>Two</summary>\n\nThree\n\n- four\n</details>\nAfter.\n\nEnd.\n",
    ],
)
def test_it_settles_as_the_whole_is_rendered(text: str) -> None:
    growing, settled, tail = Settling(), "", ""
    for length in range(1, len(text) + 1):
        growing.text = text[:length]
        blocks, tail = growing.advance()
        settled += "".join(block.html for block in blocks)
    assert settled + tail == render(text)


@pytest.mark.parametrize(
    "reference", ["", "See [it] and [^1].\n\n[it]: https://a.example/\n\n[^1]: A note.\n\n"]
)
def test_a_large_text_that_has_grown_is_rendered_as_at_once(reference: str) -> None:
    part = "A word with **weight**.\n\n- one\n- two\n\n```py\nx = 1\n\ny\n```\n\n> quoted\n\n"
    text = "[it] is defined below.\n\n" + part * (2 * MAX_BLOCK // len(part)) + reference + part * 300
    growing = Settling()
    for length in range(0, len(text), 997):
        growing.text = text[:length]
        growing.advance()
    growing.text = text
    after_growth = render_grown(growing)
    markdown._large_cache.clear()
    assert after_growth == render(text)
    assert ("link-host" in after_growth or "href" in after_growth) == bool(reference)


def test_a_large_text_has_buttons_in_the_language_of_its_reader() -> None:
    text = "```py\nx\n```\n\n" + "word\n\n" * MAX_BLOCK
    with override("en"):
        assert ">Copy<" in render(text)
    with override("zh-hans"):
        assert ">Copy<" not in render(text)


def test_cells_are_aligned_without_styles() -> None:
    html = render("| a | b |\n|:---:|---:|\n| 1 | 2 |")
    assert '<th class="cell--center">a</th>' in html
    assert '<td class="cell--right">2</td>' in html
    assert "style" not in html


@pytest.mark.parametrize(
    ("cell", "stays"),
    [
        ("891 km²", True),
        ("$ 1 200", True),
        ("2026-11-29", True),
        ("12", False),
        ("two of 3", False),
        ("3 of the many that came", False),
        ("", False),
    ],
)
def test_a_number_and_its_unit_stay_in_one_line(cell: str, stays: bool) -> None:
    assert ("cell--figure" in render(f"| a | b |\n|---|---|\n| {cell} | c |")) == stays


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[it](report.md)", "report.md"),
        ("[it](./a%20b/c.csv#rows)", "a%20b/c.csv"),
        ("[it](<数据/a b.py>)", "%E6%95%B0%E6%8D%AE/a%20b.py"),
        ("![it](report.pdf)", "report.pdf"),
        ('[it](a".md)', "a%22.md"),
    ],
)
def test_a_relative_path_leads_to_the_file(text: str, path: str) -> None:
    assert render(text) == f'<p><a href="files/file/?path={path}" data-in-panel>it</a></p>\n'
    assert "href" not in render(text, read_only=True)
    assert "it" in render(text, read_only=True)


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("report.md", "report.md"),
        ("./report.md:12", "report.md"),
        ("report.md:12-20", "report.md"),
        ("/workspace/数据/a b.py:3:7", "%E6%95%B0%E6%8D%AE/a%20b.py"),
        ("sandbox:/mnt/data/Makefile", "Makefile"),
        ("Makefile", "Makefile"),
    ],
)
def test_code_that_names_a_file_leads_to_it(tmp_path: Path, code: str, path: str) -> None:
    place = Place(workspace=a_workspace(tmp_path))
    link = f'<a href="files/file/?path={path}" data-in-panel><code>{code}</code></a>'
    assert render(f"`{code}`", place) == f"<p>{link}</p>\n"
    assert render(f"`{code}`") == f"<p><code>{code}</code></p>\n"


@pytest.mark.parametrize(
    "code",
    [
        "lost.md",
        "数据",
        "数据/",
        "../outside.md",
        "/outside.md",
        "out/outside.md",
        "pipe",
        "x" * 5000,
        "a\0b",
        ".",
    ],
)
def test_other_code_is_no_link(tmp_path: Path, code: str) -> None:
    assert "<a" not in render(f"`{code}`", Place(workspace=a_workspace(tmp_path)))


def test_so_much_code_is_looked_up_and_no_more(tmp_path: Path) -> None:
    place = Place(workspace=a_workspace(tmp_path))
    others = "".join(f"`{number}` " for number in range(MAX_NAMED - 1))
    assert render(f"{others}`report.md` `report.md`", place).count("<a ") == 2
    assert "<a " not in render(f"{others}`one` `report.md`", place)


def test_code_within_a_link_has_the_links_address(tmp_path: Path) -> None:
    html = render("[`report.md`](https://a.example/)", Place(workspace=a_workspace(tmp_path)))
    assert html.count("<a") == 1
    assert 'href="https://a.example/"' in html


def a_workspace(folder: Path) -> Workspace:
    workspace = Workspace.create(folder / "workspace")
    for path in ("report.md", "Makefile", "数据/a b.py"):
        workspace.write(path, b"x")
    (folder / "outside.md").write_text("x")
    (workspace.path / "out").symlink_to(folder)
    os.mkfifo(workspace.path / "pipe")
    return workspace


@pytest.mark.parametrize(
    "top", ["/workspace/", "sandbox:/workspace/", "sandbox:/", "sandbox:/mnt/data/", "sandbox:/workspace/./"]
)
def test_so_does_a_path_from_the_top_of_the_workspace(top: str) -> None:
    place = Place(folder="docs/")
    assert '<a href="files/file/?path=a/b.md" data-in-panel>it</a>' in render(f"[it]({top}a/b.md#c)", place)
    assert 'src="files/image/?path=a/b.png"' in render(f"![it]({top}a/b.png)", place)
    assert "href" not in render(f"[it]({top}a/b.md)", read_only=True)


@pytest.mark.parametrize(
    "address",
    ["/etc/passwd", "/workspace", "/workspace/", "/workspaces/a.md", "sandbox:a.md", "sandbox://etc/a.md"],
)
def test_other_absolute_paths_stay_text(address: str) -> None:
    assert render(f"[it]({address})") == f"<p>[it]({address})</p>\n"


@pytest.mark.parametrize(
    "address", ["b", "/etc/a.md", "//a.example/b.md", "www.a.example", "javascript:a.b", "a.md?b=c", "#a.md"]
)
def test_other_addresses_are_no_files(address: str) -> None:
    assert "href" not in render(f"[it]({address})")


def test_an_image_in_a_link_is_no_second_link() -> None:
    for image in ("chart.png", "chart.pdf"):
        html = render(f"[![it]({image})](report.md)")
        assert html.count("<a ") == html.count("</a>") == 1
        assert html.count("<img ") == (image == "chart.png")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "b/a.JPEG", "a.gif", "a.webp", "a.svg"])
def test_an_image_of_the_workspace_is_shown(name: str) -> None:
    shown = f'<img class="picture" src="files/image/?path={name}" alt="it" loading="lazy">'
    assert render(f"![it]({name})") == f'<p><a href="files/file/?path={name}" data-in-panel>{shown}</a></p>\n'
    assert f'alt="{name}"' in render(f"![]({name})")
    assert render(f"![it]({name})", read_only=True) == '<p><span class="image-left-out">[it]</span></p>\n'


def test_an_image_s_description_is_no_markup() -> None:
    assert 'alt="&quot; onerror=&quot;x &lt;b&gt;"' in render('![" onerror="x <b>](a.png)')
    assert 'src="files/image/?path=a%22%20onerror.png"' in render('![x](<a" onerror.png>)')


@pytest.mark.parametrize("name", ["/a.png", "//a.example/a.png", "data:image/png;base64,x", "a.png?b", "b"])
def test_no_other_image_is_loaded(name: str) -> None:
    assert "<img" not in render(f"![it]({name})")


def test_paths_begin_at_the_folder_of_the_place() -> None:
    html = render("[it](b.md) ![it](c.png) [it](#x)", Place("/file/", "/image/", "docs/", "12"))
    assert 'href="/file/?path=docs/b.md"' in html
    assert 'src="/image/?path=docs/c.png&amp;at=12"' in html
    assert html.endswith("[it](#x)</p>\n")


def test_a_large_text_is_kept_for_each_place() -> None:
    text = "![it](a.png)\n\n" + "word\n\n" * MAX_BLOCK
    assert "at=message-1" in render(text, Place(version="message-1"))
    assert "at=message-2" in render(text, Place(version="message-2"))
