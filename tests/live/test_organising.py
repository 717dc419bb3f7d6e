"""Pinning, archiving, tagging and deleting reach every tab; deleted conversations are stopped and removed."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.demo.reply import Reply
from chat.files.conversation_workspace import folder_of
from chat.models import BulkAct, Conversation, FollowUp, Message, Turn
from chat.models.bulk import UNDO_TIME
from tests.live.site import PATIENCE, Site, Tab, until
from tests.model_server import ScriptedModel

CLOSED = 4404


async def named(site: Site, title: str) -> Conversation:
    conversation: Conversation = await Conversation.objects.acreate(owner=site.user, title=title)
    return conversation


async def carry_out(user: User, kind: str, *chosen: Conversation, word: str = "") -> BulkAct:
    """As a page does it that can tell nobody."""
    act: BulkAct = await sync_to_async(BulkAct.carry_out)(user, kind, [each.pk for each in chosen], word)
    return act


def sidebar_of(html: str) -> str:
    start = html.index('<div id="sidebar-list"')
    return html[start : html.index("</div>", start) + len("</div>")]


async def shows_sidebar_of_page(site: Site, tab: Tab, conversation: Conversation) -> None:
    """The tab is drawn a sidebar that is the one of a fresh load."""
    while tab.drawn("#sidebar-list", "outerMorph")[-1:] != [sidebar_of(await site.page(conversation))]:
        await tab.until(lambda frame: 'id="sidebar-list"' in frame)


async def closed(tab: Tab) -> int:
    """The code with which the tab's socket is closed."""
    while True:
        said = await tab.socket.receive_output(timeout=PATIENCE)
        if said["type"] == "websocket.close":
            return int(said["code"])


async def test_every_tab_sees_what_is_pinned(site: Site) -> None:
    first, second = await named(site, "First"), await named(site, "Second")
    here, there = await site.open(first), await site.open(second)
    assert await site.post(first, "organise", kind="pin") == 302
    for tab, conversation in ((here, first), (there, second)):
        await shows_sidebar_of_page(site, tab, conversation)
    assert any("Unpin" in html for html in here.drawn("#organised", "outerMorph"))
    assert not any("Unpin" in html for html in there.drawn("#organised", "outerMorph"))


async def test_what_is_archived_leaves_the_sidebars_and_a_message_brings_it_back(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Here."))
    first, second = await named(site, "First"), await named(site, "Second")
    here, there = await site.open(first), await site.open(second)
    await site.post(first, "organise", kind="archive")
    await here.until(lambda frame: "Archived." in frame)
    await shows_sidebar_of_page(site, there, second)
    assert ">First<" not in there.drawn("#sidebar-list", "outerMorph")[-1]
    await here.send("Are you there?")
    while ">First<" not in there.drawn("#sidebar-list", "outerMorph")[-1]:
        await there.until(lambda frame: 'id="sidebar-list"' in frame)
    await here.until_idle()
    assert "Archived." not in here.drawn("#archived", "outerMorph")[-1]


async def test_tags_are_shown_in_every_tab_though_no_hint_comes(site: Site) -> None:
    conversation = await named(site, "First")
    tab = await site.open(conversation)
    await carry_out(site.user, "tag", conversation, word="周报")
    await tab.until(lambda frame: "Remove 周报" in frame)
    await carry_out(site.user, "untag", conversation, word="周报")
    while "Remove 周报" in tab.drawn("#organised", "outerMorph")[-1]:
        await tab.until(lambda frame: 'id="organised"' in frame)


async def test_a_running_conversation_goes_on_in_the_archive(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Working on it", stall_after=2), Reply(text="Done."))
    conversation = await named(site, "First")
    tab = await site.open(conversation)
    await tab.send("Go on")
    await tab.until(lambda frame: "Working" in frame)
    await site.post(conversation, "organise", kind="archive")
    await tab.until(lambda frame: "Archived." in frame)
    assert (await site.turn(conversation)).status == "running"
    await site.post(conversation, "stop")
    await tab.until_idle()


async def test_deleting_ends_sockets_and_what_runs_and_an_undo_brings_all_back(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Working on it", stall_after=2))
    conversation, other = await named(site, "First"), await named(site, "Second")
    here, there = await site.open(conversation), await site.open(other)
    await here.send("Go on")
    await here.until(lambda frame: "Working" in frame)
    await here.send("And this")
    await here.said("accepted")
    await site.post(conversation, "delete")
    assert await closed(here) == CLOSED
    await shows_sidebar_of_page(site, there, other)

    async def stopped() -> bool:
        return (await site.turn(conversation)).status == "stopped"

    await until(stopped)
    gone = await sync_to_async(site.socket)(conversation.pk)
    await gone.connect()
    assert await closed(gone) == CLOSED

    act = await BulkAct.objects.aget()
    await sync_to_async(post_undo)(site.user, act)
    await shows_sidebar_of_page(site, there, other)
    again = await site.open(conversation)
    assert "And this" in again.drawn("#follow-ups", "outerMorph")[-1], "it is held, for the user to decide"
    assert await conversation.turns.acount() == 1
    assert (await FollowUp.objects.aget()).status == "held"


def post_undo(user: User, act: BulkAct) -> None:
    client = Client()
    client.force_login(user)
    assert client.post(f"/conversations/undo/{act.pk}/").status_code == 302


async def test_what_nobody_was_told_to_stop_is_stopped_by_a_round(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Working on it", stall_after=2))
    conversation = await named(site, "First")
    tab = await site.open(conversation)
    await tab.send("Go on")
    await tab.until(lambda frame: "Working" in frame)
    await carry_out(site.user, "delete", conversation)  # and the server dies before it tells anybody

    async def stopped() -> bool:
        return (await site.turn(conversation)).status == "stopped"

    await until(stopped)


async def test_a_worker_removes_at_its_start_what_was_deleted_a_while_ago(
    site: Site, settings: Any, tmp_path: Path
) -> None:
    settings.WORKSPACES = tmp_path / "workspaces"
    old, half_gone, recent, kept = [await named(site, f"Talk {n}") for n in range(4)]
    for each in (old, recent, kept):  # of one a worker that was killed had removed the files already
        folder_of(each).mkdir(parents=True)
        (folder_of(each) / "file").write_text("text")
        await sync_to_async(each.start_turn)("Go on", uuid.uuid4())
    await Turn.objects.aupdate(status="completed")
    await carry_out(site.user, "tag", old, word="gone with it")
    await carry_out(site.user, "delete", old, half_gone, recent)
    overdue = Conversation.with_deleted.filter(pk__in=[old.pk, half_gone.pk])
    await overdue.aupdate(deleted_at=timezone.now() - UNDO_TIME)
    site.application.start()

    async def removed() -> bool:
        return not await overdue.aexists()

    await until(removed)
    assert {each.pk async for each in Conversation.with_deleted.all()} == {recent.pk, kept.pk}
    assert await Message.objects.acount() == 2
    assert not await site.user.tags.aexists()
    assert {path.name for path in settings.WORKSPACES.iterdir()} == {str(recent.pk), str(kept.pk)}
    assert await sync_to_async((await BulkAct.objects.aget(kind="delete")).undo)(site.user)
    assert await Conversation.objects.acount() == 2
