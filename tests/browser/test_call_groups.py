"""Finished calls fold to one line; what failed or still runs stays, and what the user has opened."""

from __future__ import annotations

import base64
import dataclasses
import re
import threading
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, WebSocketRoute, expect

from chat.demo.reply import Call, Reply
from chat.live.call_group import CallGroup
from chat.live.frames import Position, frame, row_messages
from chat.models import Conversation, Message, Step, Turn
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, last_turn, panel, record, send, todo
from tests.pictures import png


def test_finished_calls_fold_to_a_line(scripted: Site, visitors: Visitors) -> None:
    gate, later = threading.Event(), threading.Event()
    files = [("write_file", {"path": name, "content": "x = 1\n"}) for name in ("a.py", "b.py")]
    reads = [("read_file", {"path": name}) for name in ("a.py", "b.py", "a.py", "none.py")]
    scripted.model.script(
        todo("in_progress", "pending", text="I look."),
        Reply(tool_calls=[*files, *reads]),
        Reply(tool_calls=[("bash", {"command": "until [ -e go ]; do sleep 0.1; done"})]),
        todo("completed", "completed"),
        Reply(text="I have looked at all.", stall_after=2, gate=gate),
        Reply(text="Nothing.", stall_after=1, gate=later),
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

    # A finished list leaves the dock when the talk moves on, and opens from its turn; a link opens the fold.
    expect(panel(page)).to_have_attribute("data-phase", "ended")
    expect(panel(page).get_by_role("button", name="Skip", include_hidden=True)).to_have_count(0)
    opener = page.get_by_role("link", name="To-dos 2/2")
    expect(opener).to_be_hidden()
    expect(panel(page)).to_be_visible()
    send(page, "And now?")
    expect(last_turn(page, "running")).to_be_visible()
    expect(panel(page)).to_be_hidden()
    later.set()
    expect(last_turn(page, "completed")).to_contain_text("Nothing.")
    at_rest(page)
    expect(panel(page)).to_have_attribute("data-phase", "past")
    expect(panel(page)).to_be_hidden()
    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live
    expect(calls.locator("visible=true")).to_have_count(1)
    page.goto(f"{address}#{calls.nth(3).get_attribute('id')}")
    expect(calls.nth(3)).to_be_in_viewport()
    expect(calls.nth(3).locator(".tool-call__inside")).to_be_visible()
    opener.click()
    expect(panel(page).locator(".todo").locator("visible=true")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(panel(page)).not_to_have_attribute("open", "")
    expect(panel(page).locator("summary")).to_be_focused()
    page.locator("#composer-text").click()
    expect(panel(page)).to_be_hidden()
    opener.click()
    panel(page).locator("summary").click()
    expect(panel(page)).to_be_hidden()

    # Or from the dock, where the user may add to it.
    page.locator("#todo-begin > summary").click()
    expect(panel(page).locator(".todo").locator("visible=true")).to_have_count(2)
    expect(page.locator("#todo-begin")).to_be_hidden()
    page.locator("#todo-add").fill("Mine")
    page.keyboard.press("Enter")
    expect(panel(page).locator(".todo").locator("visible=true")).to_have_count(3)
    expect(panel(page)).to_have_attribute("data-phase", "ended")


def test_a_text_between_thoughts_and_calls_stays_between_them(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(
        todo("in_progress", "pending", text="I look.", reasoning="Let me think. " * 9, delay=0.02),
        Reply(
            text="Now I write.",
            reasoning="Where? " * 9,
            tool_calls=[("write_file", {"path": name, "content": "x = 1\n"}) for name in ("a.py", "b.py")],
            delay=0.02,
        ),
        Reply(text="Both are written.", stall_after=2, gate=gate),
    )
    page, second = visitors.enter(scripted), visitors.enter(scripted)
    address = begin(page, "Look at them")
    shown = ["I look.", "Now I write.", "Changed 2 files", "Both"]
    order = re.compile(".*".join(map(re.escape, shown)), re.DOTALL)
    expect(last_turn(page)).to_contain_text(order, use_inner_text=True)
    second.goto(address)
    expect(last_turn(second)).to_contain_text(order, use_inner_text=True)
    gate.set()
    for each in (page, second):
        at_rest(each)
        expect(last_turn(each)).to_contain_text(order, use_inner_text=True)
    assert record(page) == record(second)


def test_a_folder_is_no_file(scripted: Site, visitors: Visitors) -> None:
    looks = [("read_file", {"path": path}) for path in (".", "src", "src/a.py", "b.png")]
    image = base64.b64encode(png()).decode()
    scripted.model.script(
        Reply(tool_calls=[("write_file", {"path": "src/a.py", "content": "x = 1\n"})]),
        Reply(tool_calls=[("bash", {"command": f"echo {image} | base64 -d > b.png"})]),
        Reply(tool_calls=looks),
        Reply(text="Seen."),
    )
    page = visitors.enter(scripted)
    begin(page, "Look around")
    at_rest(page)
    expect(page.locator(".call-group__line")).to_have_text(
        "Read 2 files, changed 1, listed 2 folders, ran 1 command"
    )


def test_what_the_user_uploads_is_not_changed_by_the_command(scripted: Site, visitors: Visitors) -> None:
    command = "until [ -e go ]; do sleep 0.1; done; echo 1 > uploads/made; echo 1 >> uploads/a.txt"
    scripted.model.script(Reply(text="Yes?"), Reply(tool_calls=[("bash", {"command": command})]))
    scripted.model.script(Reply(text="Done."), Reply(text="Done again."))
    page = visitors.enter(scripted, viewport={"width": 1400, "height": 900})
    address = begin(page, "hello")
    at_rest(page)
    upload(page, "a.txt")
    send(page, "do it")
    expect(page.locator(".tool-call[data-status=running]")).to_be_visible()
    upload(page, "b.txt")
    page.fill("#composer-text", "and this")
    page.press("#composer-text", "Enter")
    expect(page.locator(".follow-up")).to_contain_text("b.txt")
    page.click(".bar__files")
    page.set_input_files(".files__upload input[type=file]", text_file("c.txt"))
    expect(page.locator("#files-panel .file-row", has_text="c.txt").last).to_be_visible()
    [workspace] = scripted.served.data.glob(f"workspaces/{address.split('/')[-2]}*")
    (workspace / "go").touch()
    expect(page.locator(".tool-call[data-status=succeeded]")).to_have_count(1)
    at_rest(page)
    page.click(".tool-call > summary")
    expect(page.locator(".changed-files")).to_have_text("Changed: go, uploads/a.txt, uploads/made")


def upload(page: Page, name: str) -> None:
    page.set_input_files("#composer-files", text_file(name))


def text_file(name: str) -> Any:
    return {"name": name, "mimeType": "text/plain", "buffer": b"text"}


def test_who_answers_is_said_once_above_all_of_it(scripted: Site, visitors: Visitors) -> None:
    """Also where the turn begins with calls: live, drawn anew, and on pages that are only read."""
    gate = threading.Event()
    scripted.model.script(
        Reply(tool_calls=[Call("bash", {"command": "echo one"})]),
        Reply(reasoning="What next?", tool_calls=[Call("bash", {"command": "echo two"})]),
        Reply(text="It is done.", piece=4, stall_after=2, gate=gate),
    )
    page = visitors.enter(scripted)
    begin(page, "Do it")

    def is_above() -> None:
        rows = page.locator(".turn__rows > :visible")
        expect(page.locator(".who:visible")).to_have_count(1)
        expect(rows.nth(0)).to_have_attribute("data-role", "user")
        expect(rows.nth(1)).to_have_class("who")
        expect(page.locator(".turn__rows")).to_contain_text("It")

    is_above()
    page.reload()
    is_above()
    gate.set()
    at_rest(page)
    is_above()
    address = page.url
    page.reload()
    is_above()
    page.goto(f"{address}replay/")
    page.keyboard.press("End")
    is_above()
    page.goto("about:blank")
    page.set_content(page.request.get(f"{address}export.html").text())
    is_above()


THOUGHT = Reply("It is here.", "Where is it?", piece=6, stall_after=2)
ANSWER = Reply("It is here.", "Where is it?", piece=6, stall_after=4)


@pytest.mark.parametrize(
    ("written", "drawn"), [(THOUGHT, "It is here."), (ANSWER, "")], ids=["late", "early"]
)
def test_a_message_is_not_added_where_the_page_has_it_in_another_place(
    scripted: Site, visitors: Visitors, written: Reply, drawn: str
) -> None:
    """It is drawn a moment before or after the page reads it: with the calls, and then with its words."""
    gate = threading.Event()
    scripted.model.script(dataclasses.replace(written, gate=gate))
    page = visitors.enter(scripted)
    address = begin(page, "Look for it")
    shown = page.locator("[data-role=assistant]")
    expect(shown).to_contain_text("is" if written is ANSWER else "Where", use_inner_text=False)
    routes: list[WebSocketRoute] = []
    numbers: list[int] = []  # of the frames that came

    def join(route: WebSocketRoute) -> None:
        def forward(text: str | bytes) -> None:
            numbers.extend(map(int, re.findall(r"\A<!--=?\d+\.\d+\.(\d+)", str(text))))
            route.send(text)

        route.connect_to_server().on_message(forward)
        routes.append(route)

    page.route_web_socket("**/ws/**", join)
    page.goto(address)
    page.wait_for_selector(LIVE)
    expect(shown).to_have_count(1)
    [key] = re.findall(r"\d+", shown.get_attribute("id") or "")
    [turn_key, fence, _number] = map(int, (page.get_attribute("#conversation", "data-at") or "").split("."))
    turn = Turn(pk=turn_key, conversation=Conversation(), profile_snapshot={"name": "Focused"})
    step = Step(turn=turn, number=1)
    message = Message(pk=key, turn=turn, step=step, role="assistant", reasoning="Where is it?", text=drawn)
    message.created_at = timezone.now()
    drawings = [*row_messages(message if drawn else CallGroup(message), new=True), "<title>Drawn</title>"]
    for number, html in enumerate(drawings, max(numbers) + 1):
        routes[-1].send(frame(Position(turn_key, fence, number), html))
    expect(page).to_have_title("Drawn")
    expect(shown).to_have_count(1)
    gate.set()
    at_rest(page)
    expect(shown).to_have_count(1)
