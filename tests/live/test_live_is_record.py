"""A turn's last frame equals what the page renders, however the turn went and whoever watched."""

from __future__ import annotations

import asyncio
import threading

from chat.demo.reply import Reply
from chat.models import Preferences
from chat.turns.worker import pool
from tests.live.site import Site, article, panel
from tests.model_server import ScriptedModel

PLAN = [
    {"content": "Look", "status": "completed", "activeForm": "Looking"},
    {"content": "Write <b>it</b>", "status": "in_progress", "activeForm": "Writing <b>it</b>"},
    {"content": "Check", "status": "pending", "activeForm": "Checking"},
]
TODO = Reply(text="I plan.", tool_calls=[("TodoWrite", {"items": PLAN})])
WRITE = Reply(tool_calls=[("write_file", {"path": "a.txt", "content": "<script>"}), ("nonsense", {})])
ANSWER = Reply(text="# Done\n\nWith *markup* & `code`:\n\n```python\nprint(1)\n```\n\n- a\n- b\n", piece=3)


async def test_completed(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(TODO, WRITE, ANSWER)
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    turn = await site.turn(conversation)
    page = await site.page(conversation)
    assert turn.status == "completed"
    assert tab.last_turn().strip() == article(page, turn)
    assert tab.last_panel().strip() == panel(page)
    assert "open" not in panel(page).split(">")[0], "the panel collapses with items unfinished"
    assert 'data-done="1" data-total="3"' in panel(page)
    while "<span>1/3</span>" not in tab.drawn("#sidebar-list", "outerMorph")[-1]:
        await tab.until(lambda frame: "#sidebar-list" in frame)
    assert tab.drawn("#sidebar-list", "outerMorph")[-1].strip() in await site.page(conversation)
    assert "turn-usage" in tab.last_turn()
    assert "context-meter__ring" in tab.drawn("#context-meter", "outerMorph")[-1]
    assert tab.drawn("#context-meter", "outerMorph")[-1].strip() in page


async def test_failed(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(TODO, Reply(status=401, body={"error": {"message": "Incorrect API key"}}))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    turn = await site.turn(conversation)
    page = await site.page(conversation)
    assert turn.status == "failed"
    assert "Incorrect API key" in turn.status_message
    assert tab.last_turn().strip() == article(page, turn)
    assert tab.last_panel().strip() == panel(page)
    assert "data-interrupted" in panel(page)
    assert f"/turns/{turn.pk}/retry/" in article(page, turn)


async def test_stopped(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(TODO, Reply(text="I go on and on and on", piece=4, stall_after=4))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: "I go on" in frame)
    assert await site.post(conversation, "stop") == 302
    await tab.until_idle()
    turn = await site.turn(conversation)
    page = await site.page(conversation)
    assert turn.status == "stopped"
    assert tab.last_turn().strip() == article(page, turn)
    assert tab.last_panel().strip() == panel(page)
    assert "I go on" in article(page, turn), "what was said stays"
    assert tab.drawn("#context-meter", "outerMorph")[-1].strip() in page
    model_server.wait_for_disconnects(1)


async def test_stopped_more_than_once(site: Site, model_server: ScriptedModel) -> None:
    """Whatever asks again while the turn ends, its last frame comes, and nobody has to look for it."""
    model_server.script(Reply(text="I go on and on and on", piece=4, stall_after=4))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: "I go on" in frame)
    turn = await site.turn(conversation)
    before = len(tab.received)
    while turn.pk in pool().running:
        pool().stop(turn.pk)
        await asyncio.sleep(0.001)
    await tab.until_idle()
    assert not [frame for frame in tab.received[before:] if " anew-->" in frame]
    assert tab.last_turn().strip() == article(await site.page(conversation), await site.turn(conversation))


async def test_a_tab_that_joined_in_the_middle(site: Site, model_server: ScriptedModel) -> None:
    gate = threading.Event()
    text = "First paragraph.\n\nSecond paragraph.\n\nThird paragraph, long enough to be cut."
    model_server.script(TODO, Reply(text=text, piece=5, stall_after=9, gate=gate))
    conversation = await site.conversation()
    first = await site.open(conversation)
    await first.send("do it")
    await first.until(lambda frame: "Second" in frame)
    second = await site.open(conversation)
    await second.has("Second")
    gate.set()
    await first.until_idle()
    await second.until_idle()
    turn = await site.turn(conversation)
    page = await site.page(conversation)
    assert first.last_turn() == second.last_turn()
    assert second.last_turn().strip() == article(page, turn)
    assert second.last_panel().strip() == panel(page)


async def test_in_the_language_and_time_zone_of_the_owner(site: Site, model_server: ScriptedModel) -> None:
    """A worker draws for all tabs, so it asks what the owner reads, and so do the sockets."""
    await Preferences.objects.acreate(user=site.user, language="zh-hans", time_zone="Asia/Shanghai")
    model_server.script(TODO, WRITE, Reply(status=401, body={"error": {"message": "Incorrect API key"}}))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    turn = await site.turn(conversation)
    page = await site.page(conversation)
    assert tab.last_turn().strip() == article(page, turn)
    assert tab.last_panel().strip() == panel(page)
    assert "重试" in tab.last_turn()
    await tab.until(lambda frame: "#sidebar-list" in frame)
    assert "看板" in tab.drawn("#board-link", "outerMorph")[-1]
    await tab.socket.send_to(text_data="nonsense")
    assert "消息" in (await tab.said("error"))["message"], "the socket's own words too"
