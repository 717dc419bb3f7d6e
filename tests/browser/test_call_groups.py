"""Finished calls fold to one line; what failed or still runs stays, and what the user has opened."""

from __future__ import annotations

import threading

from playwright.sync_api import expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn, panel, record, send, todo


def test_finished_calls_fold_to_a_line(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    files = [("write_file", {"path": name, "content": "x = 1\n"}) for name in ("a.py", "b.py")]
    reads = [("read_file", {"path": name}) for name in ("a.py", "b.py", "a.py", "none.py")]
    scripted.model.script(
        todo("in_progress", "pending", text="I look."),
        Reply(tool_calls=[*files, *reads]),
        Reply(tool_calls=[("bash", {"command": "until [ -e go ]; do sleep 0.1; done"})]),
        todo("completed", "completed"),
        Reply(text="I have looked at all.", stall_after=2, gate=gate),
        Reply(text="Nothing."),
    )
    page, second = visitors.enter(scripted), visitors.enter(scripted)
    address = begin(page, "Look at them")
    calls, group = page.locator(".tool-call"), page.locator(".call-group").last
    line = group.locator(".call-group__line")

    # While the turn runs: the line, the call that failed, and the one that runs; no line for the list.
    expect(page.locator(".tool-call[data-tool=bash][data-status=running]")).to_be_visible()
    expect(line).to_have_text("Read 2 files, changed 2")
    expect(calls).to_have_count(7)
    expect(calls.locator("visible=true")).to_have_count(2)
    expect(page.locator(".tool-call[data-status=failed]")).to_be_visible()
    expect(page.locator(".todo-marker")).to_have_count(1)
    expect(page.locator(".todo-marker")).to_be_hidden()
    expect(panel(page).get_by_role("button", name="Skip", include_hidden=True)).to_have_count(2)

    # Opened by the user, it stays open while more comes, and so does a card in it.
    line.locator("summary").click()
    expect(calls.locator("visible=true")).to_have_count(7)
    expect(page.locator(".todo-marker")).to_be_visible()
    calls.first.locator("summary").click()
    expect(calls.first.locator(".tool-call__time")).to_contain_text("ms")
    expect(calls.nth(1).locator(".tool-call__time")).to_be_hidden()
    [workspace] = scripted.served.data.glob(f"workspaces/{address.split('/')[-2]}*")
    (workspace / "go").touch()
    expect(line).to_have_text("Read 2 files, changed 2, ran 1 command")
    expect(page.locator("#transcript")).to_contain_text("I have")
    second.goto(address)
    expect(second.locator(".call-group__line").last).to_have_text("Read 2 files, changed 2, ran 1 command")
    expect(second.locator(".tool-call").locator("visible=true")).to_have_count(1)
    gate.set()
    at_rest(page)
    at_rest(second)
    expect(calls.locator("visible=true")).to_have_count(7)
    expect(calls.first.locator(".tool-call__inside")).to_be_visible()
    assert record(page) == record(second)

    # A finished list does not stay in the way when the talk moves on; a link leads into the fold.
    expect(panel(page)).to_have_attribute("data-phase", "ended")
    expect(panel(page).get_by_role("button", name="Skip", include_hidden=True)).to_have_count(0)
    send(page, "And now?")
    expect(last_turn(page, "completed")).to_contain_text("Nothing.")
    at_rest(page)
    expect(panel(page)).to_have_attribute("data-phase", "past")
    expect(panel(page).locator(".todo-panel__bar")).to_be_hidden()
    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live
    expect(calls.locator("visible=true")).to_have_count(1)
    page.goto(f"{address}#{calls.nth(3).get_attribute('id')}")
    expect(calls.nth(3)).to_be_in_viewport()
    expect(calls.nth(3).locator(".tool-call__inside")).to_be_visible()
    panel(page).locator("summary").click()
    expect(panel(page).locator(".todo")).to_have_count(2)
