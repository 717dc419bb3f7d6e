"""Conversations are named once, after the first turn; every open tab gets the new title."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.demo.reply import Reply
from chat.live import broadcast
from chat.live.broadcast import publish_heading
from chat.models import Conversation, Preferences, SideCall
from chat.turns.naming import name_conversation
from chat.turns.worker import pool
from tests.live.site import Site, Tab, until
from tests.model_server import ScriptedModel

QUESTION = "Please look through my notes\nand sort them"


async def begun(site: Site) -> Conversation:
    """A conversation as the first page's form begins it, with its turn waiting."""
    begin = sync_to_async(Conversation.begin)
    conversation: Conversation = await begin(site.user, QUESTION, uuid.uuid4(), None)
    return conversation


async def title_of(conversation: Conversation) -> str:
    return (await Conversation.objects.aget(pk=conversation.pk)).title


async def calls(conversation: Conversation) -> list[SideCall]:
    return [call async for call in SideCall.objects.filter(turn__conversation=conversation)]


async def named(conversation: Conversation) -> SideCall:
    """The call for a title, once it is over."""

    async def over() -> bool:
        return bool(await calls(conversation)) and not pool().naming

    await until(over)
    (call,) = await calls(conversation)
    return call


async def shows(tab: Tab, title: str) -> None:
    await tab.until(lambda frame: 'id="title"' in frame and f">{title}</button></h1>" in frame)


@pytest.fixture
async def conversation(site: Site, model_server: ScriptedModel) -> Conversation:
    model_server.script(Reply(text="Sorted by date."))
    return await begun(site)


async def test_it_is_named_after_the_first_turn(
    site: Site, model_server: ScriptedModel, conversation: Conversation
) -> None:
    model_server.title = Reply(
        text='**Title: "Sorting the notes."**\n', usage={"prompt_tokens": 70, "completion_tokens": 6}
    )
    tabs = [await site.open(conversation) for _tab in range(2)]
    await broadcast.notify_workers()
    for tab in tabs:
        await shows(tab, "Sorting the notes")
        while "Sorting the notes" not in "".join(tab.drawn("#sidebar-list", "outerMorph")):
            await tab.until(lambda frame: "#sidebar-list" in frame)
        assert tab.drawn("head > title", "innerHTML")[-1] == "Sorting the notes"
    page = await site.page(conversation)
    assert "<title>Sorting the notes</title>" in page
    assert tabs[0].drawn("#title", "outerMorph")[-1].strip() in page
    call = await named(conversation)
    assert (call.purpose, call.input_tokens, call.output_tokens) == ("title", 70, 6)
    assert call.ended_at
    (asked,) = model_server.title_requests
    prompt = asked["messages"][0]["content"]
    assert QUESTION in prompt
    assert "Sorted by date." in prompt
    assert "tools" not in asked


async def test_it_is_tried_once(site: Site, model_server: ScriptedModel, conversation: Conversation) -> None:
    model_server.title = Reply(status=500, body={"error": {"message": "no"}})
    model_server.script(Reply(text="And again."))
    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()
    assert (await named(conversation)).ended_at
    assert await title_of(conversation) == "Please look through my notes"
    await tab.send("and again")
    await until(lambda: conversation.turns.filter(status="completed", pk__gt=1).aexists())
    await tab.until_idle()
    await named(conversation)
    assert len(model_server.title_requests) == 1


@pytest.mark.parametrize("said", ["", "\n\n", "***", '""', "\u200b"])
async def test_what_is_no_title_leaves_the_first_line(
    site: Site, model_server: ScriptedModel, conversation: Conversation, said: str
) -> None:
    model_server.title = Reply(text=said)
    await site.open(conversation)
    await broadcast.notify_workers()
    await named(conversation)
    assert await title_of(conversation) == "Please look through my notes"


async def test_who_renames_it_meanwhile_has_the_last_word(
    site: Site, model_server: ScriptedModel, conversation: Conversation
) -> None:
    gate = threading.Event()
    model_server.title = Reply(text="The model's own title", stall_after=1, gate=gate)
    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()

    async def asked() -> bool:
        return bool(model_server.title_requests)

    await until(asked)
    await site.post(conversation, "rename", title="My title")
    gate.set()
    assert (await named(conversation)).ended_at
    assert await title_of(conversation) == "My title"


async def test_nobody_waits_for_a_title(
    site: Site, model_server: ScriptedModel, conversation: Conversation
) -> None:
    gate = threading.Event()
    model_server.title = Reply(text="Late", stall_after=0, gate=gate)
    model_server.script(Reply(text="The second."))

    async def asked() -> bool:
        return bool(model_server.title_requests)

    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()
    first = await site.turn(conversation)
    await until(asked)
    await tab.send("and this")
    await tab.until(lambda frame: "The second." in frame)
    await until(lambda: conversation.turns.filter(status="completed", pk__gt=first.pk).aexists())
    assert pool().naming
    gate.set()
    await shows(tab, "Late")


async def test_a_second_turn_that_ends_first_takes_nothing_away(
    site: Site, model_server: ScriptedModel, conversation: Conversation
) -> None:
    """The look at the first turn may come after the second has ended, on a busy machine."""
    model_server.title = Reply(text="Still named")
    model_server.script(Reply(text="The second."))
    preferences = await Preferences.objects.acreate(user=site.user, name_conversations=False)
    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()
    first = await site.turn(conversation)
    await tab.send("and this")
    await until(lambda: conversation.turns.filter(status="completed", pk__gt=first.pk).aexists())
    await until(_idle)
    await preferences.adelete()
    await name_conversation(await site.turn(conversation))
    assert not model_server.title_requests, "the second names nothing"
    await name_conversation(first)
    assert await title_of(conversation) == "Still named"


async def test_who_wants_none_is_not_asked_for(
    site: Site, model_server: ScriptedModel, conversation: Conversation
) -> None:
    await Preferences.objects.acreate(user=site.user, name_conversations=False)
    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()
    await until(_idle)
    assert not model_server.title_requests
    assert not await calls(conversation)


async def test_a_turn_that_failed_names_nothing(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=401, body="{}"), Reply(text="Now it works."))
    model_server.title = Reply(text="Second try")
    conversation = await begun(site)
    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()
    await until(_idle)
    assert not await calls(conversation)
    turn = await site.turn(conversation)
    await site.post(conversation, f"turns/{turn.pk}/retry")
    await shows(tab, "Second try")


async def test_what_was_said_first_counts_though_it_was_not_answered(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(status=401, body="{}"), Reply(text="You are welcome."))
    model_server.title = Reply(text="Sorting the notes")
    conversation = await begun(site)
    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()
    await tab.send("Thanks")
    await shows(tab, "Sorting the notes")
    (asked,) = model_server.title_requests
    assert f"{QUESTION}\n\nThanks" in asked["messages"][-1]["content"]


async def test_a_demo_keeps_the_first_line(
    site: Site, settings: Any, model_server: ScriptedModel, conversation: Conversation
) -> None:
    settings.MODEL_TRANSPORT = "chat.demo.transport.demo_transport"
    tab = await site.open(conversation)
    await broadcast.notify_workers()
    await tab.until_idle()
    await until(_idle)
    assert not await calls(conversation)


async def test_a_new_title_reaches_every_tab_of_the_person(site: Site) -> None:
    conversation, other = await site.conversation(), await site.conversation()
    tab, elsewhere = await site.open(conversation), await site.open(other)
    assert await site.post(conversation, "rename", title="Notes <b>& more</b>") == 302
    await shows(tab, "Notes &lt;b&gt;&amp; more&lt;/b&gt;")
    await elsewhere.until(lambda frame: "Notes &lt;b&gt;" in frame)
    assert not elsewhere.drawn("#title", "outerMorph")[1:], "its own title stays"
    sidebar = elsewhere.drawn("#sidebar-list", "outerMorph")[-1]
    assert f'href="/conversations/{conversation.pk}/">' in sidebar
    assert f'href="/conversations/{other.pk}/" aria-current="page">' in sidebar


async def test_a_title_whose_news_is_lost_is_found(site: Site) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await Conversation.objects.filter(pk=conversation.pk).aupdate(title="Quietly renamed")
    await shows(tab, "Quietly renamed")


async def test_a_title_of_a_strangers_is_not_told(site: Site, stranger: Any) -> None:
    theirs = await Conversation.objects.acreate(owner=stranger, title="Secret")
    tab = await site.open(await site.conversation())
    await publish_heading(theirs)
    await Conversation.objects.aupdate(title="Renamed")
    await shows(tab, "Renamed")
    assert str(theirs.pk) not in "".join(tab.received)


async def _idle() -> bool:
    return not pool().naming and not pool().running
