"""Stop: while text streams, and while a command runs."""

from __future__ import annotations

import random
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, is_folded, last_turn, record, todo, until


def running(words: str) -> list[int]:
    """The processes of this machine whose command line holds `words`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended as we looked
            continue
        if words in line:
            found.append(int(entry.name))
    return found


def stop(page: Page) -> None:
    expect(page.locator("#stop")).to_be_visible()
    page.click("#stop")
    expect(page.locator("article.turn").last).to_have_attribute("data-status", "stopped", timeout=3000)
    expect(page.locator("#stop")).to_be_hidden()
    at_rest(page)


def test_while_text_streams(scripted: Site, visitors: Visitors) -> None:
    endless = Reply(text="I go on and on. " * 9, piece=8, stall_after=9)
    scripted.model.script(todo("in_progress", "pending"), endless)
    before = scripted.model.disconnects
    page = visitors.enter(scripted)
    begin(page, "Go on")
    expect(page.locator("#transcript")).to_contain_text("I go on")
    stop(page)
    scripted.model.wait_for_disconnects(before + 1)
    expect(last_turn(page)).to_contain_text("I go on")
    expect(last_turn(page).locator(".turn__sentence")).to_have_text("Stopped")
    is_folded(page)
    expect(page.locator("#todo-panel .todo[data-interrupted]")).to_have_count(1)
    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live


def test_what_is_pressed_shows_that_it_is_on_its_way(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="I go on and on. " * 9, piece=8, stall_after=9))
    page = visitors.enter(scripted)
    begin(page, "Go on")
    expect(page.locator("#transcript")).to_contain_text("I go on")
    held: list[Route] = []
    page.route("**/organise/", lambda route: held.append(route), times=1)
    page.locator("#sidebar .row-more").first.click()
    menu = page.locator("#row-menu")
    menu.get_by_role("button", name="Pin", exact=True).click()
    expect(menu).to_have_css("opacity", "0.6")
    until(page, lambda: held)
    held.pop().continue_()
    expect(menu).to_be_hidden()
    page.route("**/stop/", lambda route: held.append(route), times=1)
    page.click("#stop")
    expect(page.locator("#stop")).to_have_css("opacity", "0.6")
    until(page, lambda: held)
    held.pop().continue_()
    at_rest(page)


def test_without_a_connection_it_says_so(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="I go on and on. " * 9, piece=8, stall_after=9))
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch"]
    page = visitors.enter(scripted)
    begin(page, "Go on")
    expect(page.locator("#transcript")).to_contain_text("I go on")
    page.context.set_offline(True)
    page.click("#stop")
    expect(page.get_by_role("alert")).to_have_text("Could not reach the server. Try again.")
    page.context.set_offline(False)
    expect(page.get_by_role("alert")).to_have_count(0)
    stop(page)


def test_while_a_command_runs(scripted: Site, visitors: Visitors) -> None:
    command = f"sleep {random.randrange(6000, 9000)}.5"
    scripted.model.script(Reply(tool_calls=[("bash", {"command": command})]), Reply(text="Never said."))
    page = visitors.enter(scripted)
    begin(page, "Sleep")
    page.wait_for_selector(".tool-call[data-tool='bash'][data-status='running']")
    until(page, lambda: running(command))
    stop(page)
    page.wait_for_selector(".tool-call[data-tool='bash'][data-status='stopped']")
    until(page, lambda: not running(command))
    assert len(scripted.model.requests) == 1, "the model is not asked again"


def test_the_conversation_goes_on_after_it(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Too long a story", stall_after=2), Reply(text="A short one."))
    page = visitors.enter(scripted)
    begin(page, "Tell")
    expect(page.locator("#transcript")).to_contain_text("Too long")
    stop(page)
    page.fill("#composer-text", "shorter, please")
    page.press("#composer-text", "Enter")
    expect(page.locator("#transcript")).to_contain_text("A short one.")
    last_turn(page, "completed")
