"""Tools at work: a program made and run under a visible plan, and output that comes as it is printed."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, is_folded, is_open, last_turn, panel, record, unfold

COUNT = 'Run `seq 1000 | xargs -I{} sh -c "echo line {} && sleep 0.1"`'


@pytest.mark.parametrize(
    "asked",
    [
        "Make a small Python program with tests in the workspace and run them",
        "在工作区写一个带测试的 Python 小程序并运行测试",
    ],
)
def test_a_program_with_tests_is_made_and_run(demo: Site, visitors: Visitors, asked: str) -> None:
    page = visitors.enter(demo)
    begin(page, asked)
    is_open(page)
    expect(panel(page)).to_have_attribute("data-total", "3")
    at_rest(page)
    is_folded(page)
    expect(panel(page)).to_have_attribute("data-done", "3")
    last_turn(page, "completed")
    written = page.locator(".tool-call[data-tool='write_file'][data-status='succeeded']")
    expect(written).to_have_count(2)
    expect(written.first.locator(".diff__count")).to_have_text("+14 −0")
    unfold(page)
    written.first.locator("summary").click()
    expect(written.first.locator(".diff__line[data-kind='added']")).to_have_count(14)
    expect(written.first.locator(".diff__sign").first).to_have_text("+")
    ran = page.locator(".tool-call[data-tool='bash'][data-status='succeeded']")
    ran.locator("summary").click()
    expect(ran.locator(".tool-call__output")).to_contain_text("Ran 3 tests")


# Notes each row that is visible before it has any content.
WATCH = """() => {
    window.bare = [];
    new MutationObserver(() => {
        for (const row of document.querySelectorAll(".tool-call:empty, .message:empty"))
            if (row.checkVisibility()) window.bare.push(row.outerHTML);
    }).observe(document.getElementById("transcript"), { subtree: true, childList: true });
}"""


def test_a_call_comes_with_its_line(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    first = Reply(text="I look.", tool_calls=[("read_file", {"path": "."})], stall_after=1, gate=gate)
    scripted.model.script(first, Reply(tool_calls=[("read_file", {"path": "."})] * 3), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page, "Look around")
    page.evaluate(WATCH)
    gate.set()
    at_rest(page)
    expect(page.locator(".tool-call")).to_have_count(4)
    assert page.evaluate("window.bare") == []


def test_output_comes_as_it_is_printed(demo: Site, visitors: Visitors) -> None:
    page, second = visitors.enter(demo), visitors.enter(demo)
    address = begin(page, COUNT)
    expect(page.locator(".tool-call__latest")).to_contain_text("line ")
    page.locator(".tool-call summary").click()
    _prints(page, "line 8\n")
    assert page.locator(".tool-call").get_attribute("data-status") == "running"
    second.goto(address)
    second.locator(".tool-call summary").click()
    _prints(second, "line 12\n")
    page.click("#stop")
    at_rest(page)
    expect(page.locator(".tool-call")).to_have_attribute("data-status", "stopped")
    _prints(page, "line 12\n")
    expect(page.locator(".tool-call__latest")).to_have_count(0)
    at_rest(second)
    page.reload()
    at_rest(page)
    assert record(page) == record(second)


def _prints(page: Page, text: str) -> None:
    expect(page.locator(".tool-call__output")).to_contain_text(text)
