"""The socket: what it accepts and refuses, whom it admits, and how it recovers."""

from __future__ import annotations

import json
import threading
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.demo.reply import Reply
from chat.live import broadcast
from chat.models import Message, Turn
from tests.live.site import Site, Tab, article, panel, until
from tests.model_server import ScriptedModel

TODO = [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]


async def test_a_message_is_accepted_once_it_is_stored(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Hello."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    client_id = await tab.send("  Hi\r\nthere  ")
    accepted = await tab.said("accepted")
    assert accepted["client_id"] == client_id
    message = await Message.objects.aget(turn_id=accepted["turn"], role="user")
    assert message.text == "Hi\nthere"
    await tab.until_idle()


async def test_a_repeated_send_is_one_message(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Hello."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    client_id = await tab.send("Hi")
    first = await tab.said("accepted")
    await tab.until_idle()
    await tab.socket.send_json_to({"text": "Hi", "client_id": client_id})
    assert await tab.said("accepted") == first
    assert await conversation.turns.acount() == 1


@pytest.mark.parametrize("text", ["", " \n\t ", "x" * (64 * 1024 + 1), "界" * 22_000])
async def test_blank_and_overlong_messages_are_refused(site: Site, text: str) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)
    client_id = await tab.send(text)
    refused = await tab.said("refused")
    assert refused["client_id"] == client_id
    assert refused["message"].endswith(".")
    assert await conversation.turns.acount() == 0


@pytest.mark.parametrize(
    "frame",
    [
        " ",
        "hello",
        "[]",
        "7",
        "null",
        "{}",
        '{"text": 5}',
        '{"text": "a", "client_id": 7}',
        "[" * 100_000,
        '{"text": "a", "client_id": "no uuid"}',
        json.dumps({"text": "x" * 300_000}),
        '{"text": "\ud800"',
    ],
)
async def test_a_malformed_frame_is_answered_and_the_socket_lives(
    site: Site, model_server: ScriptedModel, frame: str
) -> None:
    model_server.script(Reply(text="Hello."))
    tab = await site.open(await site.conversation())
    await tab.socket.send_to(text_data=frame)
    assert (await tab.said("error"))["message"].endswith(".")
    await tab.socket.send_to(bytes_data=b"\x00\xff")
    assert await tab.said("error")
    await tab.send("Hi")
    assert await tab.said("accepted")
    await tab.until_idle()


async def test_text_that_no_database_takes_is_made_fit(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(
        Reply(text="zero \x00 byte", tool_calls=[("a\x00b", {"x": "\x00"})]), Reply(text="ok")
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("null \x00 byte \ud83d")
    await tab.until_idle()
    turn = await site.turn(conversation)
    assert turn.status == "completed"
    texts = [message.text async for message in Message.objects.filter(turn=turn)]
    assert not any("\x00" in text or "\ud83d" in text for text in texts)


async def shut_out(tab: Tab) -> None:
    """The socket closes at once, with nothing said but why."""
    assert await tab.connect()
    assert await tab.socket.receive_output(5) == {"type": "websocket.close", "code": 4404}


async def test_strangers_are_closed_out(site: Site, stranger: Any) -> None:
    conversation = await site.conversation()
    for tab in [
        await sync_to_async(site.socket)(conversation.pk, stranger),
        await sync_to_async(site.socket)(uuid.uuid4()),
    ]:
        await shut_out(tab)


async def test_nobody_gets_in_without_signing_in(site: Site) -> None:
    conversation = await site.conversation()
    site_without_user = Site(site.application, None)  # type: ignore[arg-type]
    await shut_out(await sync_to_async(site_without_user.socket)(conversation.pk))


@pytest.mark.parametrize(
    "origin",
    ["http://testserver:9999", "https://testserver", "null", "", "file://", "http://testserver.evil.example"],
)
async def test_other_origins_are_refused(site: Site, origin: str) -> None:
    conversation = await site.conversation()
    tab = await sync_to_async(site.socket)(conversation.pk, None, origin)
    assert not await tab.connect()


async def test_a_session_that_ended_closes_the_socket(site: Site) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)

    @sync_to_async
    def sign_out_everywhere() -> None:
        from django.contrib.sessions.models import Session

        Session.objects.all().delete()

    await sign_out_everywhere()
    await tab.send("Hi")
    assert (await tab.socket.receive_output(5))["type"] == "websocket.close"
    assert await conversation.turns.acount() == 0


async def test_losing_the_last_frame_still_ends_collapsed(
    site: Site, model_server: ScriptedModel, monkeypatch: Any
) -> None:
    """The channel layer drops everything after the panel opened; the tab finds out from the database."""
    gate = threading.Event()
    model_server.script(
        Reply(tool_calls=[("TodoWrite", {"items": TODO})]), Reply(text="Done.", stall_after=0, gate=gate)
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(
        lambda _frame: all(
            text in "".join(tab.received) for text in ['data-phase="working"', "To-dos updated"]
        )
    )
    group = broadcast.conversation_group(conversation.pk)
    layer = broadcast.get_channel_layer()
    members = layer.groups.pop(group)
    gate.set()
    await until(lambda: Turn.objects.filter(conversation=conversation, status="completed").aexists())
    layer.groups[group] = members
    await tab.until_idle()
    page = await site.page(conversation)
    assert tab.last_turn().strip() == article(page, await site.turn(conversation))
    assert tab.last_panel().strip() == panel(page)
    assert 'data-phase="ended"' in tab.last_panel()


async def test_a_lost_frame_in_the_middle_is_healed(site: Site, model_server: ScriptedModel) -> None:
    gates = [threading.Event(), threading.Event()]
    model_server.script(
        Reply(text="One.", tool_calls=[("read_file", {"path": "."})], stall_after=2, gate=gates[0]),
        Reply(text="Two.\n\nThree paragraphs.", stall_after=2, gate=gates[1]),
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: "One." in frame)
    group = broadcast.conversation_group(conversation.pk)
    layer = broadcast.get_channel_layer()
    members = layer.groups.pop(group)
    gates[0].set()
    await until(lambda: Message.objects.filter(text__startswith="Two").aexists())
    layer.groups[group] = members
    await tab.until(lambda frame: "Two." in frame)
    gates[1].set()
    await tab.until_idle()
    assert tab.last_turn().strip() == article(await site.page(conversation), await site.turn(conversation))
    assert "read_file" in tab.last_turn()
