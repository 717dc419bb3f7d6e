"""Cards of tool calls: large parts are drawn folded, and fetched whole from an address of their own."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.live.folding import FOLD_ABOVE, folded
from chat.models import Conversation, ToolCall, Turn
from tests.bodies import body

LINES = [f"line {number} <b>&" for number in range(5000)]
LARGE = "\n".join(LINES)
MIDDLE = "line 2500 &lt;b&gt;&amp;\n"
ENDS = ("<pre>line 0 &lt;b&gt;", "line 4999 &lt;b&gt;&amp;</pre>")
FETCHED = {"HX-Request": "true"}


@pytest.fixture
def call(conversation: Conversation, turn: Turn) -> ToolCall:
    """A call that has printed a lot."""
    step = turn.steps.create(number=1)
    return turn.tool_calls.create(step=step, index=0, name="bash", status="succeeded", output=LARGE)


def page(browser: Client, conversation: Conversation, more: str = "") -> str:
    return browser.get(f"/conversations/{conversation.pk}/{more}").content.decode()


def part(browser: Client, call: ToolCall, name: str, **more: Any) -> Any:
    return browser.get(f"/conversations/{call.turn.conversation_id}/calls/{call.pk}/{name}/", **more)


def change(call: ToolCall, **columns: Any) -> None:
    ToolCall.objects.filter(pk=call.pk).update(**columns)


def test_a_large_output_is_folded_and_fetched_whole(
    owners: Client, conversation: Conversation, call: ToolCall
) -> None:
    shown = page(owners, conversation)
    assert all(end in shown for end in ENDS)
    assert MIDDLE not in shown
    assert len(shown) < 60_000
    assert f'hx-get="/conversations/{conversation.pk}/calls/{call.pk}/output/"' in shown
    assert "Show all (" in shown
    fragment = part(owners, call, "output", headers=FETCHED)
    html = fragment.content.decode()
    assert html.startswith(f'<div class="tool-call__output" id="{call.dom_id}-output" hx-morph-skip>')
    assert MIDDLE in html
    assert all(end in html for end in ENDS)
    assert "<b>" not in html
    plain = part(owners, call, "output")
    assert plain.content.decode() == LARGE
    assert plain["Content-Type"] == "text/plain; charset=utf-8"
    assert plain["X-Content-Type-Options"] == "nosniff"
    assert plain["Cache-Control"] == fragment["Cache-Control"] == "private, no-store"


def test_what_is_not_large_or_being_printed_is_whole(
    owners: Client, conversation: Conversation, call: ToolCall
) -> None:
    for columns in ({"output": "x" * FOLD_ABOVE}, {"output": LARGE, "status": "running"}):
        change(call, **columns)
        shown = page(owners, conversation)
        assert "hx-get" not in shown.partition(f'id="{call.dom_id}"')[2].partition("</details>")[0]
        assert MIDDLE in shown or columns["output"] in shown
    change(call, output="x" * (FOLD_ABOVE + 1), status="failed")
    assert "x" * 1000 not in page(owners, conversation)


def test_large_arguments_are_folded_but_not_while_the_user_decides(
    owners: Client, conversation: Conversation, call: ToolCall
) -> None:
    hidden = "\u202e"
    given = {"command": f"{LARGE}{hidden}", "why": "because", "n" * 500: [1]}
    change(call, arguments=json.dumps(given), output="", status="failed")
    shown = page(owners, conversation)
    assert ENDS[0] in shown
    assert "line 4999 &lt;b&gt;&amp;&lt;U+202E&gt;</pre>" in shown
    assert MIDDLE not in shown
    assert "<pre>because</pre>" in shown
    assert "n" * 101 not in shown
    html = part(owners, call, "arguments", headers=FETCHED).content.decode()
    assert "hx-morph-skip" in html
    assert MIDDLE in html
    assert "n" * 500 in html
    plain = part(owners, call, "arguments").content.decode()
    assert plain.startswith(f"command:\n{LARGE}")
    assert "why:\nbecause" in plain
    for broken in ("[" * 5000, json.dumps({str(number): "" for number in range(5000)})):
        change(call, arguments=broken)
        assert len(page(owners, conversation)) < 60_000
    change(call, arguments=json.dumps(given), status="waiting")
    assert MIDDLE in page(owners, conversation)


def test_a_large_change_shows_its_first_lines(
    owners: Client, conversation: Conversation, call: ToolCall
) -> None:
    detail = {"before": None, "after": "\n".join(LINES[:300])}
    change(call, name="write_file", output="", detail=detail)
    shown = page(owners, conversation)
    assert shown.count('class="diff__line"') == 8
    assert "292 more changed lines are not shown." in shown
    assert ">+300</ins>" in shown
    html = part(owners, call, "arguments", headers=FETCHED).content.decode()
    assert html.count('class="diff__line"') == 300
    assert "not shown" not in html


def test_pages_that_stand_apart_show_all(owners: Client, conversation: Conversation, call: ToolCall) -> None:
    claimed = Turn.claim("worker", call.turn_id)
    assert claimed is not None
    claimed.end(Turn.Status.COMPLETED)
    for address in ("replay/", "export.html"):
        answer = owners.get(f"/conversations/{conversation.pk}/{address}")
        text = body(answer).decode()
        assert answer.status_code == 200, address
        assert "line 2500" in text, address
        assert "hx-get" not in text, address


def test_only_the_owner_is_shown_it(
    owners: Client, strangers: Client, stranger: User, conversation: Conversation, call: ToolCall
) -> None:
    own = Conversation.begin(stranger, "Mine", uuid.uuid4(), None)
    for name in ("output", "arguments"):
        assert part(owners, call, name).status_code == 200
        assert part(strangers, call, name).status_code == 404
        assert strangers.get(f"/conversations/{own.pk}/calls/{call.pk}/{name}/").status_code == 404
        assert owners.get(f"/conversations/{conversation.pk}/calls/0/{name}/").status_code == 404


def test_a_fold_leaves_out_what_it_says() -> None:
    for text in (LARGE, "x" * 10_000, "\n" * 10_000, "a\u2028b\r\nc" * 3000):
        fold = folded(text)
        assert text.startswith(fold.beginning)
        assert text.endswith(fold.end)
        assert len(fold.beginning) + fold.left_out + len(fold.end) == len(text)
        assert len(fold.beginning) + len(fold.end) <= 800
    assert folded("short") == ("short", 0, "")


def test_a_failed_call_shows_what_it_said_before_its_arguments(
    owners: Client, conversation: Conversation, call: ToolCall
) -> None:
    change(call, arguments='{"command": "make it"}', output="no rule to make it")
    shown = page(owners, conversation)
    assert shown.index(">Arguments<") < shown.index("<pre>no rule")
    change(call, status="failed")
    shown = page(owners, conversation)
    assert shown.index("<pre>no rule") < shown.index(">Arguments<")
    assert shown.count("<pre>no rule") == 1
