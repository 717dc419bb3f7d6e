"""Messages and code are copied as they were written, with one click; long code is folded, long lines wrap."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn, send, unfold

CODE = "def f(x):\n    return '<b>' + x\n"
LONG = "".join(f"line {number} of {'a long line ' * (20 if number == 3 else 1)}\n" for number in range(60))
ANSWER = f"Here *it* is:\n\n```python\n{CODE}```\n\n```\n{LONG}```\n"
LOOK = Reply(text="I **look**.", tool_calls=[("read_file", {"path": "."}, "call_1")])


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_messages_and_code_are_copied_as_they_were_written(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(LOOK, Reply(text=ANSWER))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    begin(page, "Write a *function*")
    at_rest(page)
    last_turn(page, "completed")
    button = page.locator(".code-block__copy").first
    button.click()
    expect(button).to_have_text("Copied")
    assert clipboard(page) == CODE
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.turn:last-child'))")
    page.keyboard.press("Control+c")
    assert CODE.splitlines()[0] in clipboard(page)
    assert "Wrap" not in clipboard(page), "the controls of the code are not part of what is selected by hand"
    question = page.locator(".message[data-role='user']")
    heights = page.evaluate("document.querySelector('.turn').offsetHeight")
    for place, text in (
        (question, "Write a *function*"),
        (page.locator(".message[data-role='assistant']").first, "I **look**."),
        (page.locator(".turn__end"), ANSWER.strip()),
    ):
        place.hover()
        copy = place.get_by_role("button", name="Copy message")
        copy.click()
        expect(place.get_by_role("button", name="Copied")).to_be_visible()
        assert clipboard(page).strip() == text
        expect(copy).to_be_visible()
    assert page.evaluate("document.querySelector('.turn').offsetHeight") == heights, "nothing moves"
    page.mouse.move(0, 0)
    question.get_by_role("button", name="Copy message").focus()
    expect(question.get_by_role("button", name="Copy message")).to_have_css("opacity", "1")


def test_the_output_of_a_call_is_copied_whole(scripted: Site, visitors: Visitors) -> None:
    """Also where only its beginning and its end are on the page."""
    begins, prints = ("bash", {"command": "echo one; echo two"}), ("bash", {"command": "seq 6000"})
    scripted.model.script(Reply(tool_calls=[begins, prints]), Reply(text="Done."))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    is_unfolding = "hx-request"  # which has no answer here
    page.route(
        "**/output/", lambda route: None if is_unfolding in route.request.headers else route.continue_()
    )
    begin(page, "Run it")
    at_rest(page)
    unfold(page)
    for call, ends in zip(page.locator(".tool-call").all(), ("one\ntwo", "6000"), strict=True):
        call.locator("summary").click()
        button = call.get_by_role("button", name="Copy")
        button.click()
        expect(call.get_by_role("button", name="Copied")).to_be_visible()
        assert clipboard(page).strip().endswith(ends)
    assert "\n3000\n" in clipboard(page)
    assert "\n3000\n" not in page.content()


def test_an_answer_is_pasted_with_its_formats(scripted: Site, visitors: Visitors) -> None:
    listed = "- *small* [ones](https://example.org/owls)\n- [a list](owls.md)\n"
    text = f"## Owls\n\n{listed}\n```python\n{CODE}```\n"
    scripted.model.script(Reply(text=text))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    begin(page, "Owls?")
    at_rest(page)
    page.locator(".turn__end").get_by_role("button", name="Copy message").click()
    expect(page.locator(".turn__end").get_by_role("button", name="Copied")).to_be_visible()
    assert clipboard(page).strip() == text.strip()
    page.set_content("<div contenteditable>x</div>")
    page.locator("div").fill("")
    page.locator("div").press("Control+v")
    pasted = page.locator("div")
    expect(pasted.get_by_role("heading", name="Owls")).to_be_visible()
    expect(pasted.locator("li em")).to_have_text("small")
    expect(pasted.locator("li")).to_have_text(["small ones", "a list"])
    expect(pasted.locator("a")).to_have_attribute("href", "https://example.org/owls")
    expect(pasted.locator("pre")).to_have_text(CODE)
    expect(pasted.locator("button")).to_have_count(0)


def test_a_formula_that_is_selected_is_copied_as_it_was_written(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Look up $O(1)$:\n\n| a | b |\n|---|---|\n| $x^2$ | c |\n\nand so on."))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    begin(page, "explain")
    at_rest(page)
    page.evaluate(
        "getSelection().selectAllChildren(document.querySelector('.turn:last-child .message:last-of-type'))"
    )
    page.keyboard.press("Control+c")
    lines = clipboard(page).splitlines()
    assert [line for line in ("Look up O(1):", "x^2\tc", "and so on.") if line not in lines] == [], lines


def test_a_file_is_copied_as_it_is(scripted: Site, visitors: Visitors) -> None:
    content = "\n<b>not bold</b>\r\n\t你好\n"
    written = Reply(tool_calls=[("write_file", {"path": "note.txt", "content": content})])
    scripted.model.script(written, Reply(text="Written."))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    address = begin(page, "Write it")
    at_rest(page)
    page.click(".bar__files")
    page.click("#files-panel .files__link >> text=note.txt")
    panel, alone = page.locator("#files-panel"), page.locator(".files-page")
    for place in (panel, alone):
        page.evaluate("navigator.clipboard.writeText('')")
        place.get_by_role("button", name="Copy").click()
        expect(place.get_by_role("button", name="Copied")).to_be_visible()
        assert clipboard(page) == content
        page.goto(f"{address}files/file/?path=note.txt")


@pytest.mark.parametrize("encoding", ["gbk", "utf-16-le", "utf-16-be", "cp1252", "utf-8-sig"])
def test_a_file_is_copied_as_it_reads(scripted: Site, visitors: Visitors, encoding: str) -> None:
    content = "Straße, Größe, Ärger" if encoding == "cp1252" else "姓名,成绩\n张三,95\n李四,88"
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    scripted.model.script(Reply(text="Read."))
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    page.goto("/")
    file = {"name": "note.txt", "mimeType": "text/plain", "buffer": mark + content.encode(encoding)}
    page.set_input_files("#composer-files", [file])  # type: ignore[list-item]
    page.fill("#composer-text", "Read it")
    page.press("#composer-text", "Enter")
    at_rest(page)
    page.get_by_role("link", name="note.txt").click()
    button = page.locator("#files-panel").get_by_role("button", name="Copy")
    button.click()
    expect(page.locator("#files-panel").get_by_role("button", name="Copied")).to_be_visible()
    assert clipboard(page).splitlines() == content.splitlines()


def test_code_is_whole_while_it_is_written(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(Reply(text=f"```\n{LONG}{LONG}```\n", stall_after=len(LONG) // 12, gate=gate))
    page = visitors.enter(scripted)
    begin(page, "Write a function")
    pre = page.locator(".code-block > pre")
    expect(pre).to_contain_text("line 30 of")
    assert pre.evaluate("pre => pre.clientHeight === pre.scrollHeight")
    gate.set()
    at_rest(page)
    expect(page.get_by_role("button", name="Show less")).to_be_visible()
    assert pre.evaluate("pre => pre.clientHeight === pre.scrollHeight")
    page.reload()
    expect(page.get_by_role("button", name="Show all")).to_be_visible()


def test_the_button_beside_an_earlier_message_can_be_clicked(scripted: Site, visitors: Visitors) -> None:
    """Turns but the last one are painted only where they are seen."""
    scripted.model.script(LOOK, Reply(text="It is."), Reply(text="Yes."))
    page = visitors.enter(scripted)
    begin(page, "Look")
    at_rest(page)
    send(page, "And?")
    at_rest(page)
    message = page.locator(".message[data-role='assistant']").first
    message.hover()
    copy = message.get_by_role("button", name="Copy message")
    box = copy.bounding_box()
    assert box is not None
    hit = "([x, y]) => document.elementFromPoint(x, y).closest('button')?.ariaLabel"
    at = [box["x"] + box["width"] - 2, box["y"] + box["height"] / 2]
    assert page.evaluate(hit, at) == "Copy message"


def test_lines_that_wrap_go_on_wrapping_when_the_turn_ends(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    text = f"```\n{LONG}```\n\nSo far.\n\nThen\n"
    scripted.model.script(Reply(text=f"{text} It ends.", piece=len(text), stall_after=2, gate=gate))
    page = visitors.enter(scripted)
    begin(page, "Write")
    expect(page.get_by_text("So far.")).to_be_visible()
    wrap = page.get_by_role("button", name="Wrap lines")
    wrap.click()
    gate.set()
    at_rest(page)
    expect(wrap).to_have_attribute("aria-pressed", "true")


def test_long_code_is_folded_and_long_lines_wrap(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text=ANSWER))
    page = visitors.enter(scripted)
    begin(page, "Write a function")
    at_rest(page)
    last_turn(page, "completed")
    page.reload()
    short, long = page.locator(".code-block").all()
    expect(short.locator(".code-block__bar > span")).to_have_text("python")
    expect(short.get_by_role("button", name="Show all")).to_have_count(0)
    pre = long.locator("pre")
    folded = pre.evaluate("pre => pre.clientHeight")
    assert folded < pre.evaluate("pre => pre.scrollHeight") / 2
    more = long.get_by_role("button", name="Show all")
    more.press("Enter")
    less = long.get_by_role("button", name="Show less")
    expect(less).to_have_attribute("aria-expanded", "true")
    assert pre.evaluate("pre => pre.clientHeight === pre.scrollHeight")
    assert pre.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    wrap = long.get_by_role("button", name="Wrap lines")
    wrap.click()
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert pre.evaluate("pre => pre.scrollWidth === pre.clientWidth")
    wrap.click()
    assert pre.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    less.click()
    assert pre.evaluate("pre => pre.clientHeight") == folded
