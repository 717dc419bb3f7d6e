"""A model that is down, refuses the key or talks nonsense: the page says so, and Retry works afterwards."""

from __future__ import annotations

import socket
import threading

import pytest
from playwright.sync_api import expect

from chat.demo.reply import Reply
from tests.browser.conftest import model_port
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn, record, todo, turns

REFUSED = Reply(status=401, body={"error": {"message": "Incorrect API key provided", "type": "auth"}})
HTML = Reply(
    raw=[b"<!doctype html><html><script>alert(1)</script><h1>Welcome to the proxy</h1></html>"],
    headers={"content-type": "text/html"},
)
BROKEN = Reply(text="I begin, and then", cut_after=2, broken=True)


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [(REFUSED, "Incorrect API key provided"), (HTML, "not a chat completion"), (BROKEN, "connection")],
    ids=["key refused", "HTML", "broken off"],
)
def test_it_is_told_and_retry_works(scripted: Site, visitors: Visitors, reply: Reply, sentence: str) -> None:
    scripted.model.answer = lambda _request: reply
    page = visitors.enter(scripted)
    begin(page, "Do it")
    at_rest(page)
    expect(last_turn(page, "failed").locator(".turn__sentence")).to_contain_text(sentence)
    scripted.model.answer = None
    scripted.model.script(Reply(text="Here I am."))
    expect(page.get_by_role("button", name="Run again")).to_have_count(0)
    page.get_by_text("Write your own plan").click()
    page.fill("#todo-first", "Half a thou")
    page.get_by_role("button", name="Retry").click()
    expect(last_turn(page, "completed")).to_contain_text("Here I am.")
    expect(page.locator("#todo-first")).to_have_value("Half a thou")
    page.fill("#todo-first", "")
    expect(turns(page)).to_have_count(1)
    expect(page.locator(".versions")).to_contain_text("2 of 2")
    at_rest(page)
    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live


def test_a_reply_that_was_cut_off_goes_on(scripted: Site, visitors: Visitors) -> None:
    """The way on is at the last turn alone: further up it would answer something else."""
    scripted.model.script(
        Reply(text="One, two,", finish_reason="length"),
        Reply(text="three, four.", finish_reason="length"),
        Reply(text="Five."),
    )
    page = visitors.enter(scripted)
    begin(page, "Count")
    at_rest(page)
    expect(last_turn(page, "stopped").locator(".turn__sentence")).to_contain_text("reached its length limit")
    page.get_by_role("button", name="Continue").click()
    expect(turns(page)).to_have_count(2)
    expect(last_turn(page, "stopped")).to_contain_text("three, four.")
    expect(page.get_by_role("button", name="Continue")).to_have_count(1)
    page.get_by_role("button", name="Continue").click()
    expect(last_turn(page, "completed")).to_contain_text("Five.")
    at_rest(page)
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)


def test_a_limit_amid_a_plan_offers_one_way_on(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        todo("completed", "in_progress"),
        Reply(text="One, two,", finish_reason="length"),
        Reply(text="three."),
    )
    page = visitors.enter(scripted)
    begin(page, "Count")
    at_rest(page)
    expect(page.locator("#unfinished").get_by_role("button")).to_have_text(["Dismiss"])
    page.get_by_role("button", name="Continue").click()
    expect(last_turn(page, "completed")).to_contain_text("three.")
    expect(page.locator("#unfinished").get_by_role("button")).to_have_text(["Continue", "Dismiss"])


def test_a_model_that_does_not_answer_is_told_of_and_the_seconds_count(
    scripted: Site, visitors: Visitors
) -> None:
    gate = threading.Event()
    scripted.model.script(Reply(text="Here I am.", stall_after=0, gate=gate))
    page = visitors.enter(scripted)
    begin(page, "Do it")
    busy = last_turn(page, "running").locator(".turn__busy")
    expect(busy).to_contain_text("The model has not replied yet.")
    seconds = busy.locator(".turn__doing .elapsed")
    before = seconds.inner_text()
    # By the server's clock, as far as the page knows it: a page that loads slowly is a little behind.
    assert 7 <= int(before.removesuffix(" s")) <= 30
    expect(seconds).not_to_have_text(before)
    page.reload()
    expect(busy).to_contain_text("The model has not replied yet.")
    before = seconds.inner_text()
    expect(seconds).not_to_have_text(before)
    gate.set()
    expect(last_turn(page, "completed")).to_contain_text("Here I am.")
    expect(page.locator(".turn .elapsed")).to_have_count(0)


def test_a_model_that_is_down_and_comes_back(scripted: Site, visitors: Visitors) -> None:
    scripted.way_to_model.port = nobody_there()
    scripted.way_to_model.break_off()
    page = visitors.enter(scripted)
    begin(page, "Do it")
    expect(last_turn(page, "failed").locator(".turn__sentence")).to_contain_text("cannot be reached")
    scripted.way_to_model.port = model_port(scripted.model)
    scripted.model.script(Reply(text="Here I am."))
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".versions")).to_contain_text("2 of 2")
    expect(last_turn(page, "completed")).to_contain_text("Here I am.")


def nobody_there() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_a_turn_without_an_answer_has_nothing_to_copy(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(REFUSED, Reply(text="Here it is."))
    page = visitors.enter(scripted)
    begin(page, "Do it")
    actions = last_turn(page, "failed").locator(".turn__actions")
    actions.hover()
    expect(actions.get_by_role("link", name="Delete turn")).to_be_visible()
    expect(actions.get_by_role("button", name="Copy message")).to_have_count(0)
    expect(last_turn(page).get_by_role("link", name="Connection settings")).to_be_visible()
    page.get_by_role("button", name="Retry").click()
    actions = last_turn(page, "completed").locator(".turn__actions")
    expect(actions.get_by_role("button", name="Copy message")).to_have_count(1)
