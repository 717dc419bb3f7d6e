"""Turns whose worker died or left are resumed from their rows."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import uuid
from contextlib import closing
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from chat.demo.reply import Reply
from chat.models import Conversation, Message, Turn
from chat.turns.recorder import Recorder
from chat.turns.worker import close_pool, pool
from tests.live.site import Site, article, until
from tests.model_server import ScriptedModel

DEAD = "a worker that is no more"


@sync_to_async
def left_behind(conversation: Conversation) -> Turn:
    """A turn that a worker began and left, and that nobody has a lease on."""
    conversation.start_turn("do it", uuid.uuid4())
    turn = Turn.claim(DEAD)
    assert turn is not None
    Turn.objects.update(lease_until=None)
    return turn


async def ended(site: Site, conversation: Conversation, status: str = "completed") -> Turn:
    await site.open(conversation)
    await until(lambda: conversation.turns.filter(status=status).aexists())
    return await site.turn(conversation)


async def test_a_cut_reply_is_asked_for_again(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="The whole answer."))
    conversation = await site.conversation()
    left = await left_behind(conversation)
    step = await left.steps.acreate(number=1)
    cut = await left.messages.acreate(step=step, role="assistant", text="The whole an", complete=False)
    turn = await ended(site, conversation)
    assert [message["role"] for message in model_server.requests[0]["messages"]] == ["system", "user"]
    message = await Message.objects.aget(turn=turn, role="assistant")
    assert (message.pk, message.text, message.cut_off) == (cut.pk, "The whole answer.", False)
    assert (turn.crash_count, await turn.steps.acount()) == (1, 1)


async def test_a_cut_text_goes_when_the_new_reply_has_none(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(tool_calls=[("read_file", {"path": "."})]), Reply(text="Done."))
    conversation = await site.conversation()
    left = await left_behind(conversation)
    step = await left.steps.acreate(number=1)
    await left.messages.acreate(step=step, role="assistant", text="I will lo", complete=False)
    turn = await ended(site, conversation)
    texts = [message.text async for message in turn.messages.filter(role="assistant")]
    assert texts == ["Done."]
    assert "I will lo" not in article(await site.page(conversation), turn)


async def test_finished_calls_are_not_run_again(site: Site, model_server: ScriptedModel) -> None:
    """What ran has its result, what was running is unknown, what waited was not run; the model reads so."""
    model_server.script(Reply(text="I looked, and go on."))
    conversation = await site.conversation()
    left = await left_behind(conversation)
    step = await left.steps.acreate(number=1, ended_at="2026-01-01T00:00Z")
    for index, status in enumerate(["succeeded", "running", "pending"]):
        await left.tool_calls.acreate(
            step=step, index=index, call_id=f"c{index}", name="bash", status=status, output="made",
            arguments='{"command": "touch ran"}', started_at="2026-01-01T00:00Z" if index < 2 else None,
        )  # fmt: skip
    turn = await ended(site, conversation)
    sent = model_server.requests[0]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool", "tool"]
    results = [message["content"] for message in sent if message["role"] == "tool"]
    assert results[0] == "made"
    assert "outcome is unknown" in results[1]
    assert results[2] == "Error: this call was not run.", "nobody stopped it: its worker died"
    assert [call.status async for call in turn.tool_calls.all()] == ["succeeded", "unknown", "stopped"]


async def test_a_call_whose_turn_failed_in_its_middle_is_unknown(site: Site) -> None:
    left = await left_behind(await site.conversation())
    step = await left.steps.acreate(number=1, ended_at="2026-01-01T00:00Z")
    call = await left.tool_calls.acreate(step=step, index=0, call_id="c0", name="bash", status="running")
    await sync_to_async(Recorder(left).end)(Turn.Status.FAILED, "Something went wrong.")
    await call.arefresh_from_db()
    assert call.status == "unknown"


async def test_what_is_held_is_read_ahead_of_the_first_request(
    site: Site, model_server: ScriptedModel
) -> None:
    """The turn goes on after results, which is where held messages are read; not a step later."""
    model_server.script(Reply(text="I go on."))
    conversation = await site.conversation()
    left = await left_behind(conversation)
    step = await left.steps.acreate(number=1, ended_at="2026-01-01T00:00Z")
    await left.tool_calls.acreate(
        step=step, index=0, call_id="c0", name="read_file", status="succeeded", output="text"
    )
    await conversation.follow_ups.acreate(client_id=uuid.uuid4(), text="And this")
    turn = await ended(site, conversation)
    assert [message["content"] for message in model_server.requests[0]["messages"][-2:]] == [
        "text",
        "And this",
    ]
    assert await conversation.turns.acount() == 1
    page = article(await site.page(conversation), turn)
    assert page.index("read_file") < page.index("And this") < page.index("I go on.")


async def test_only_the_end_was_missing(site: Site, model_server: ScriptedModel) -> None:
    conversation = await site.conversation()
    left = await left_behind(conversation)
    step = await left.steps.acreate(number=1, ended_at="2026-01-01T00:00Z")
    await left.messages.acreate(step=step, role="assistant", text="All said.")
    turn = await ended(site, conversation)
    assert turn.crash_count == 1
    assert model_server.requests == []


async def test_limits_and_reminders_count_on(site: Site, model_server: ScriptedModel, settings: Any) -> None:
    """Eleven rounds without a list before the death: the reminder rides on the first request after it."""
    model_server.script(Reply(text="Done."))
    conversation = await site.conversation()
    left = await left_behind(conversation)
    for number in range(1, 12):
        step = await left.steps.acreate(number=number, ended_at="2026-01-01T00:00Z")
        await left.tool_calls.acreate(
            step=step, index=0, call_id=f"c{number}", name="read_file", status="succeeded", output="text"
        )
    turn = await ended(site, conversation)
    assert model_server.requests[0]["messages"][-1]["content"].startswith("<reminder>11+ turns")
    assert await turn.steps.acount() == 12


async def test_a_worker_that_leaves_hands_its_turns_over(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="One two three four five", piece=4, stall_after=3), Reply(text="Anew."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: "One" in frame)
    await close_pool()
    waiting = await site.turn(conversation)
    assert (waiting.status, waiting.worker) == ("queued", "")
    await tab.until(lambda frame: "Cut off here" in frame)
    pool().open()
    await tab.until(lambda frame: "Anew." in frame)
    await tab.until_idle()
    turn = await site.turn(conversation)
    assert (turn.status, turn.crash_count) == ("completed", 0)
    assert tab.last_turn().strip() == article(await site.page(conversation), turn)
    assert "Cut off here" not in tab.last_turn()


async def test_a_turn_claimed_while_the_worker_leaves_is_handed_over(site: Site) -> None:
    """Another process writes, so the claim under way ends after the worker has begun to leave."""
    conversation = await site.conversation()
    await site.open(conversation)
    writer = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    with closing(writer):
        await sync_to_async(conversation.start_turn)("do it", uuid.uuid4())
        writer.execute("BEGIN IMMEDIATE")
        claiming = asyncio.create_task(pool().kick())
        await asyncio.sleep(0)  # to its claim, which waits for the other's write
        leaving = asyncio.create_task(close_pool())
        await asyncio.sleep(0)  # it has begun
        writer.execute("ROLLBACK")
        await asyncio.gather(claiming, leaving)
    turn = await site.turn(conversation)
    assert (turn.status, turn.worker, turn.crash_count) == ("queued", "", 0)


async def test_text_is_saved_though_the_model_falls_silent(site: Site, model_server: ScriptedModel) -> None:
    """A burst of text, then silence: within a second or so the row has all of it, for a crash to find."""
    gate = threading.Event()
    text = "A burst of text that came at once."
    model_server.script(Reply(text=text + " And more.", piece=len(text) // 4, stall_after=5, gate=gate))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    told = Message.objects.filter(role="assistant", text__startswith=text[: len(text) // 4 * 4])
    await until(told.aexists)
    assert not (await told.aget()).complete
    gate.set()
    await tab.until_idle()
