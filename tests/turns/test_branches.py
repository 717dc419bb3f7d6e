"""A turn is run again in another version: branches are kept, each with its messages, plan and usage."""

from __future__ import annotations

import datetime
import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from chat.demo.reply import Reply
from chat.files.checkpoints import checkpoints_path
from chat.files.conversation_workspace import folder_of
from chat.models import Conversation, MessageRefused, ShareLink, Turn
from tests.bodies import body
from tests.export.conftest import imported
from tests.live.site import Site, Tab, article, until
from tests.model_server import ScriptedModel
from tests.search.conftest import index_marked


def plan(*items: str) -> Reply:
    todos = [{"content": item, "status": "pending", "activeForm": item} for item in items]
    return Reply(tool_calls=[("TodoWrite", {"items": todos})])


async def answered(tab: Tab, conversation: Conversation, text: str) -> None:
    await tab.send(text)
    await at_rest(conversation, text)


async def at_rest(conversation: Conversation, text: str) -> None:
    """Wait until the turn that answers the text has ended, and no other works."""
    turns = conversation.path.filter(messages__text=text)
    ended = turns.exclude(status__in=Turn.ACTIVE)
    await until(ended.aexists, 60)


async def path(conversation: Conversation) -> list[int]:
    return [pk async for pk in conversation.path.values_list("pk", flat=True)]


def said(model_server: ScriptedModel) -> list[str]:
    """What the latest request to the model contains, without the system's prompt."""
    return [str(message["content"]) for message in model_server.requests[-1]["messages"][1:]]


async def test_versions_of_a_turn(site: Site, model_server: ScriptedModel) -> None:
    """Run again, walk between the versions, and go on from one of them."""
    model_server.script(Reply("Hello."), plan("Old one"), Reply("As planned."), Reply("Third."))
    conversation = await site.conversation()
    tab, other = await site.open(conversation), await site.open(conversation)
    for each in (tab, other):
        each.page.regions["transcript"] = "0"  # as the page has it that they would be tabs of
    for text in ("Hi", "Plan", "Third?"):
        await answered(tab, conversation, text)
    first, second, third = await path(conversation)
    html = await site.page(conversation)
    assert "Previous version" not in html
    # another version of the second turn
    model_server.script(plan("New one", "New two"), Reply("Replanned."))
    assert await site.post(conversation, f"turns/{second}/again") == 302
    for each in (tab, other):
        await each.has("Replanned.")
        await each.has("New two")
        assert "<!--!" in "".join(each.received), "the transcript was drawn anew"
    await at_rest(conversation, "Plan")
    again = (await path(conversation))[-1]
    assert await path(conversation) == [first, again]
    assert said(model_server)[1:3] == ["Hello.", "Plan"]
    assert "As planned." not in str(model_server.requests[-1])
    assert "Old one" not in str(model_server.requests[-2:]), "the plan of another branch is not known"
    turn = await Turn.objects.aget(pk=again)
    html = await site.page(conversation)
    assert "2 of 2" in article(html, turn)
    assert f"turns/{second}/show/" in article(html, turn)
    assert "Third." not in html
    await conversation.arefresh_from_db()
    assert conversation.todos_left == 2
    # back to the first version, with the turn that followed it
    assert await site.post(conversation, f"turns/{second}/show") == 302
    await tab.until(lambda frame: "Third." in frame and frame.startswith("<!--!"))
    assert await path(conversation) == [first, second, third]
    assert tab.page.at[0] == third, "the page is at the earlier turn"
    html = await site.page(conversation)
    assert "1 of 2" in html
    assert 'data-total="1"' in html, "its list is back"
    await conversation.arefresh_from_db()
    assert conversation.todos_left == 1
    model_server.script(Reply("Fourth."))
    await answered(tab, conversation, "Fourth?")
    await tab.has("Fourth.")
    assert [text for text in said(model_server) if text in ("As planned.", "Third.", "Replanned.")] == [
        "As planned.",
        "Third.",
    ]
    fourth = await site.turn(conversation)
    assert (fourth.parent_id, fourth.follows_id) == (third, third)
    # the other branch leads back to its own end, and this one to its new end
    await site.post(conversation, f"turns/{again}/show")
    assert await path(conversation) == [first, again]
    await site.post(conversation, f"turns/{second}/show")
    assert await path(conversation) == [first, second, third, fourth.pk]
    await tab.until(lambda frame: "Fourth." in frame and frame.startswith("<!--!"))
    # every branch was paid for
    html = await site.page(conversation)
    counted = await sync_to_async(lambda: sum(turn.steps.count() for turn in conversation.turns.all()))()
    assert counted == len([each for each in model_server.requests if each["stream"]])
    await records(site, conversation, [first, second, third, fourth.pk], again)


async def records(site: Site, conversation: Conversation, shown: list[int], other: int) -> None:
    """What leaves the site: Markdown and links hold the path, JSON every branch."""

    def check() -> None:
        client = Client()
        client.force_login(site.user)

        def get(name: str) -> str:
            response = client.get(f"/conversations/{conversation.pk}/{name}")
            return body(response).decode()

        markdown = get("export.md")
        assert "Fourth." in markdown
        assert "Replanned." not in markdown
        assert "New one" not in markdown
        plan_page = get("plan/")
        assert "Old one" in plan_page
        assert "New one" not in plan_page
        file = json.loads(get("export.json"))
        assert [turn["on_path"] for turn in file["turns"]] == [True, True, True, False, True]
        assert [turn["parent"] for turn in file["turns"]] == [None, 1, 2, 1, 3]
        conversation.show_version(other)
        copy = imported(file, site.user)
        assert [turn.user_text for turn in copy.path] == ["Hi", "Plan", "Third?", "Fourth?"]
        copied = copy.turns.get(messages__text="Replanned.")
        copy.show_version(copied.pk)
        assert [turn.user_text for turn in copy.path] == ["Hi", "Plan"]
        file["conversation"]["todos_left"] = 0
        for turn in file["turns"]:  # as an earlier version of the site wrote it
            for name in ("parent", "on_path", "chosen"):
                del turn[name]
        old = imported(file, site.user)
        assert old.path.count() == 5
        # a hit in another branch leads to it
        index_marked()
        hits = client.get("/conversations/", {"q": "Fourth"}).content.decode()
        hit = rf"/\?version={shown[-1]}&amp;from=(message-\d+)&amp;find=Fourth#\1"
        assert re.search(f"/conversations/{conversation.pk}{hit}", hits)
        html = get(f"?version={shown[-1]}&find=Fourth")
        assert "“Fourth” is in another version of this conversation." in html
        html = get(f"?version={shown[-1]}")
        assert "This match is in another version of this conversation." in html
        link = ShareLink.make(conversation, timezone.now() + datetime.timedelta(days=1))
        conversation.show_version(shown[1])
        shared = Client().get(f"/shared/{link.token}/")
        text = body(shared).decode()
        assert "Replanned." in text
        assert "Fourth." not in text, "a link shows what it showed"

    await sync_to_async(check)()


async def test_a_working_turn_keeps_its_path(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply("One."), Reply("Two."), Reply(text="On and on", piece=4, stall_after=2))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await answered(tab, conversation, "One?")
    first = await site.turn(conversation)
    await site.post(conversation, f"turns/{first.pk}/again")
    await tab.has("Two.")
    await at_rest(conversation, "One?")
    await tab.send("Go on")
    await tab.until(lambda frame: "On " in frame)
    before = await path(conversation)
    for action in (f"turns/{first.pk}/show", f"turns/{before[0]}/again"):
        assert await site.post(conversation, action) == 400
    assert await path(conversation) == before
    assert await site.post(conversation, "stop") == 302
    await at_rest(conversation, "Go on")


async def test_the_same_request_runs_once(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply("One."), Reply("Two."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await answered(tab, conversation, "One?")
    first = await site.turn(conversation)
    act = str(uuid.uuid4())
    for _ in range(2):
        await site.post(conversation, f"turns/{first.pk}/again", act=act)
    await tab.has("Two.")
    await at_rest(conversation, "One?")
    assert await conversation.turns.acount() == 2
    with pytest.raises(MessageRefused, match="another tab"):
        await sync_to_async(conversation.run_again)(first.pk, uuid.uuid4())


def writes(path: str, content: str) -> Reply:
    return Reply(tool_calls=[("write_file", {"path": path, "content": content})])


async def test_each_version_has_its_files(site: Site, model_server: ScriptedModel) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)
    folder = folder_of(conversation)

    def files() -> dict[str, str]:
        return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}

    model_server.script(writes("report", "draft"), Reply("Written."))
    await answered(tab, conversation, "Write")
    model_server.script(writes("report", "short"), writes("appendix", "long"), Reply("Shortened."))
    await answered(tab, conversation, "Shorten")
    first, second = await path(conversation)
    short = {"report": "short", "appendix": "long"}
    assert files() == short
    read = Reply(tool_calls=[("read_file", {"path": "report"})])
    model_server.script(read, writes("report", "shorter"), Reply("Shortened again."))
    await site.post(conversation, f"turns/{second}/again")
    await tab.has("Shortened again.")
    await at_rest(conversation, "Shorten")
    assert "draft" in str(said(model_server)), "the agent finds the file as it was"
    again = (await path(conversation))[-1]
    shorter = {"report": "shorter"}
    assert files() == shorter
    await site.post(conversation, f"turns/{second}/show")
    assert files() == short
    model_server.script(writes("report", "shortest"), Reply("As short as can be."))
    await answered(tab, conversation, "Shorter still")
    await site.post(conversation, f"turns/{again}/show")
    assert files() == shorter
    await site.post(conversation, f"turns/{again}/delete")
    assert await path(conversation) == [first, second, (await site.turn(conversation)).pk]
    assert files() == {**short, "report": "shortest"}, "the version that takes its place has its files"


async def test_a_folder_of_the_users_has_no_versions(
    site: Site, model_server: ScriptedModel, tmp_path: Path, settings: Any
) -> None:
    conversation = await site.conversation()
    conversation.workspace = str(tmp_path / "own")
    (tmp_path / "own").mkdir()
    await conversation.asave()
    tab = await site.open(conversation)
    model_server.script(writes("report", "draft"), Reply("Written."), Reply("Not written."))
    await answered(tab, conversation, "Write")
    await site.post(conversation, f"turns/{(await path(conversation))[0]}/again")
    await tab.has("Not written.")
    await at_rest(conversation, "Write")
    assert (tmp_path / "own" / "report").read_text() == "draft"
    assert not checkpoints_path(conversation.pk).exists()
    assert "Files are not changed back" in await site.page_at(
        f"/conversations/{conversation.pk}/turns/{(await path(conversation))[0]}/again/"
    )
