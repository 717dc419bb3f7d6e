"""What was done for each item: on the page of the plan, in the panel, and from the transcript there."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chat.models import ToolCall
from tests.pages.test_plan import page_of, stage
from tests.plan.conftest import Work, work

__all__ = ["work"]

WRITE = '{"path": "src/a b.py", "content": "x"}'


@pytest.fixture
def done(work: Work) -> Work:
    """Of three items, one has calls, one was ticked with nothing done, and one was not begun."""
    work.write("a >", "b -", "c -").look("one").call("write_file", "succeeded", arguments=WRITE)
    work.call("bash", "denied", arguments='{"command": "rm -r /"}')
    return work.write("a x", "b >", "c -").write("a x", "b x", "c -").say().end()


def beneath(page: str, item: str) -> str:
    """What the stage shows beneath an item: its text alone."""
    row = re.search(rf'id="item-{item}".*?(?=<li class="todo plan-line"|</ol>)', stage(page), re.DOTALL)
    assert row
    html = row[0].partition('class="evidence')[2].partition(">")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def panel_of(client: Client, work: Work) -> str:
    page: str = client.get(f"/conversations/{work.conversation.pk}/").content.decode()
    start = page.index('id="todo-panel"')
    return page[start : page.index("</details>", start)]


def test_beneath_each_item(done: Work, owners: Client) -> None:
    page = page_of(owners, done)
    line, _, calls = beneath(page, "a").partition("read_file")
    assert re.fullmatch(r"3 calls 1 file 400 tokens [\d.]+ s ", line)
    assert re.search(r"one Done write_file src/a b.py Done bash rm -r / Denied", calls)
    assert "4 steps" in calls
    assert beneath(page, "b").startswith("no action recorded 100 tokens")
    assert beneath(page, "c") == ""


def test_it_leads_to_calls_and_files(done: Work, owners: Client) -> None:
    page = stage(page_of(owners, done))
    calls = ToolCall.objects.filter(turn=done.turn).exclude(name="TodoWrite").order_by("pk")
    conversation = f"/conversations/{done.conversation.pk}/"
    assert re.findall(r"/#(tool-call-\d+)\"><b>", page) == [call.dom_id for call in calls]
    assert f'href="{conversation}files/file/?path=src/a%20b.py&amp;as=change"' in page
    first = done.turn.tool_calls.order_by("pk")[0]
    assert f'href="{conversation}#{first.dom_id}">Go to where this started' in page


def test_as_it_stood_at_an_earlier_revision(done: Work, owners: Client) -> None:
    page = page_of(owners, done, "?revision=2")
    assert beneath(page, "a").startswith("3 calls")
    assert beneath(page, "b").startswith("100 tokens")
    assert "no action recorded" not in stage(page)


def test_several_items_that_share_it(work: Work, owners: Client) -> None:
    work.policy = "lean"
    work.write("a -", "b -", "c -").look("one").write("a x", "b x", "c x").end()
    assert "shared with 2 more" in beneath(page_of(owners, work), "b")


def test_an_item_that_was_removed(work: Work, owners: Client) -> None:
    work.write("a >", "b -").look("one").write("b >").end()
    assert beneath(page_of(owners, work), "a").startswith("1 call 200 tokens")


def test_a_long_list_of_calls_ends_with_their_number(work: Work, owners: Client) -> None:
    work.write("a >").look(*map(str, range(53))).end()
    page = page_of(owners, work)
    assert stage(page).count("timeline__call") == 50 + 1
    assert "3 more calls in the timeline" in beneath(page, "a")


def test_from_a_call_to_its_item(done: Work, owners: Client) -> None:
    call = done.turn.tool_calls.get(name="write_file")
    page = owners.get(f"/conversations/{done.conversation.pk}/").content.decode()
    assert f'href="/conversations/{done.conversation.pk}/plan/calls/{call.pk}/"' in page
    answer = owners.get(f"/conversations/{done.conversation.pk}/plan/calls/{call.pk}/")
    assert (
        answer["Location"] == f"/conversations/{done.conversation.pk}/plan/?revision=3&call={call.pk}#item-a"
    )
    page = stage(page_of(owners, done, f"?revision=3&call={call.pk}"))
    assert '<details class="evidence" id="evidence-a" open>' in page
    assert re.search(rf'aria-current="true"><a href="[^"]*#{call.dom_id}"', page)


def test_from_a_call_that_counts_for_no_item(work: Work, owners: Client) -> None:
    work.look("one").write("a >").end()
    call = work.turn.tool_calls.get(name="read_file")
    answer = owners.get(f"/conversations/{work.conversation.pk}/plan/calls/{call.pk}/")
    assert answer["Location"] == f"/conversations/{work.conversation.pk}/plan/#call-{call.pk}"
    assert f'id="call-{call.pk}"' in page_of(owners, work)


def test_a_call_of_another_conversation(done: Work, owners: Client, owner: Any) -> None:
    other = Work(owner).look("one")
    call = other.turn.tool_calls.get()
    assert owners.get(f"/conversations/{done.conversation.pk}/plan/calls/{call.pk}/").status_code == 404


def test_the_panel_marks_what_has_nothing_to_show_and_leads_to_the_rest(done: Work, owners: Client) -> None:
    panel = panel_of(owners, done)
    assert panel.count("no action recorded") == 1
    assert f'href="/conversations/{done.conversation.pk}/plan/#item-b"' in panel
    writes = done.turn.tool_calls.filter(name="TodoWrite").order_by("pk")
    assert re.findall(r'<a [^>]*href="#([\w-]+)"', panel) == [writes[0].dom_id, writes[1].dom_id]


def test_the_panel_says_nothing_while_the_turn_goes_on(work: Work, owners: Client) -> None:
    work.write("a >", "b -").write("a x", "b >")
    panel = panel_of(owners, work)
    assert "no action recorded" not in panel
    assert "todo__place" not in panel


def test_many_turns_take_no_more_queries_than_one(work: Work, owners: Client) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            page_of(owners, work)
            panel_of(owners, work)
        return len(queries)

    def turn() -> None:
        work.write("a >", "b -").look("a", "b").write("a x", "b >").look("c").write("a x", "b x").end()

    turn()
    page_of(owners, work)
    before = asked()
    for _ in range(4):
        work.go_on()
        turn()
    assert asked() == before
