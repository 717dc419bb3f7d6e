"""Turns from end to end: retry, the record as the model reads it, the panel over several turns."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chat.demo.reply import Reply
from chat.models import Conversation, Message, Profile, Turn
from tests.live.site import Site, panel
from tests.model_server import ScriptedModel


def todo(*states: str) -> Reply:
    items = [
        {"content": f"Item {n}", "status": state, "activeForm": f"Doing {n}"}
        for n, state in enumerate(states)
    ]
    return Reply(tool_calls=[("TodoWrite", {"items": items})])


async def test_a_failed_turn_can_be_retried(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=400, body={"error": {"message": "no such thing"}}), Reply(text="Now."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    failed = await site.turn(conversation)
    assert await site.post(conversation, f"turns/{failed.pk}/retry") == 302
    assert await site.post(conversation, f"turns/{failed.pk}/retry") == 302
    await tab.until(lambda frame: f'id="turn-{failed.pk + 1}"' in frame)
    await tab.until_idle()
    retried = await site.turn(conversation)
    assert (retried.pk, retried.status, retried.follows_id) == (failed.pk + 1, "completed", None)
    asked = [message["role"] for message in model_server.requests[-1]["messages"]]
    assert asked == ["system", "user"], "the attempt that came to nothing is not told to the model"


async def test_a_retry_keeps_what_was_done(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(todo("in_progress"), Reply(status=400, body="{}"), Reply(text="Done."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    failed = await site.turn(conversation)
    await site.post(conversation, f"turns/{failed.pk}/retry")
    await tab.until(lambda frame: f'id="turn-{failed.pk + 1}"' in frame)
    await tab.until_idle()
    asked = [message["role"] for message in model_server.requests[-1]["messages"]]
    assert asked == ["system", "user", "assistant", "tool", "user"]


async def test_what_was_sent_before_never_changes(site: Site, model_server: ScriptedModel) -> None:
    """Each request begins with the one before it, over reminders and turns, so prompt caches stay warm."""
    profile = await Profile.objects.acreate(title="Checklist", todo_policy="checklist")
    look = [Reply(tool_calls=[("read_file", {"path": f"file-{n}"})]) for n in range(5)]
    model_server.script(*look, Reply(text="One."), Reply(text="Two."))
    conversation = await site.conversation()
    conversation.profile = profile
    await conversation.asave()
    tab = await site.open(conversation)
    await tab.send("first")
    await tab.until_idle()
    await tab.send("second")
    await tab.until_idle()
    sent = [request["messages"] for request in model_server.requests]
    assert all(later[: len(sooner)] == sooner for sooner, later in itertools.pairwise(sent))
    assert len(sent[-1]) > len(sent[-2])
    reminded = [message for message in sent[-1] if "Update your todos." in str(message["content"])]
    assert [message["role"] for message in reminded] == ["tool"]


async def test_the_panel_opens_again_with_fresh_data(site: Site, model_server: ScriptedModel) -> None:
    """The typical scenario: the turn ends at 2/5 with a question, the next one opens the panel again."""
    gate = threading.Event()
    model_server.script(
        todo("completed", "completed", "in_progress", "pending", "pending"),
        Reply(text="Which version should I keep?"),
        todo(*["completed"] * 5),
        Reply(text="Done.", stall_after=1, gate=gate),
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("refactor these five files")
    await tab.until_idle()
    first = await site.turn(conversation)
    ended = panel(await site.page(conversation)).split(">")[0]
    assert 'data-done="2" data-total="5"' in ended
    assert not ended.endswith(" open")
    assert "data-interrupted" not in tab.last_panel(), "a turn that completed cut nothing off"
    await tab.send("keep the new version")
    opened = await tab.until(lambda frame: f'data-turn="{first.pk + 1}" data-phase="working"' in frame)
    gate.set()
    assert " open>" in opened
    await tab.until_idle()
    assert 'data-done="5" data-total="5"' in panel(await site.page(conversation))


async def test_the_panel_fills_while_the_list_is_written(site: Site, model_server: ScriptedModel) -> None:
    reply = todo("in_progress", "pending", "pending")
    model_server.script(Reply(tool_calls=reply.tool_calls, piece=8, delay=0.03), Reply(text="Done."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    panels = [html for target, _how, html in tab.partials() if 'data-total="' in html and "#todo-" in target]
    totals = [html.split('data-total="')[1][0] for html in panels]
    assert totals == sorted(totals)
    assert {"1", "3"} <= set(totals)


async def test_a_refused_first_list_leaves_no_panel(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(todo("doing"), Reply(text="I give up."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    page = await site.page(conversation)
    assert panel(page) == ""
    assert tab.last_panel() == ""
    assert '<div class="todo-marker"' in page
    assert 'data-status="failed"' in page
    assert "Item 0: invalid status &#x27;doing&#x27;" in page


async def test_a_queued_turn_is_stopped_at_once(site: Site, settings: Any) -> None:
    conversation = await site.conversation()
    await sync_to_async(conversation.start_turn)("do it", "7f3c1c1e-0000-4000-8000-000000000000")
    assert await site.post(conversation, "stop") == 302
    assert (await site.turn(conversation)).status == "stopped"


async def test_system_c_the_checklist_and_the_life_of_its_panel(
    site: Site, model_server: ScriptedModel
) -> None:
    """id, text and done; the panel opens with the first list and folds at the turn's end."""

    def checklist(*states: str) -> Reply:
        items = [
            {"id": str(n), "text": f"Item {n}", "status": state} for n, state in enumerate(states, start=1)
        ]
        return Reply(tool_calls=[("TodoWrite", {"items": items})])

    model_server.script(
        checklist("in_progress", "pending", "pending"),
        checklist("done", "in_progress", "pending"),
        Reply(text="Shall I go on?"),
    )
    conversation = await site.conversation()
    conversation.profile = await Profile.objects.acreate(title="Checklist", todo_policy="checklist")
    await conversation.asave()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    panels = [html for _at, _how, html in tab.partials() if "data-phase" in html]
    phases = [html.split('data-phase="')[1].split('"')[0] for html in panels]
    assert phases == sorted(phases, reverse=True), "working, then ended"
    page = await site.page(conversation)
    assert 'data-done="1" data-total="3"' in panel(page)
    assert " open>" not in panel(page)
    assert panel(page).count('<li class="todo" data-status="completed"') == 1
    revisions = [revision.items async for revision in conversation.revisions.all()]
    assert [[item["key"] for item in items] for items in revisions] == [["1", "2", "3"]] * 2
    assert [item["id"] for item in revisions[0]] == [item["id"] for item in revisions[1]]


async def test_going_on_after_an_interruption_keeps_the_question(
    site: Site, model_server: ScriptedModel
) -> None:
    """Also where nothing was done yet: the message that goes on says nothing of what was asked."""
    model_server.script(Reply(text="Never whole."), Reply(text="Here it is."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("Tell me of the sea")
    await tab.until_idle()
    cut = await site.turn(conversation)
    await Message.objects.filter(turn=cut, role="assistant").aupdate(cut_off=True)
    await Turn.objects.filter(pk=cut.pk).aupdate(status="interrupted")
    await site.post(conversation, f"turns/{cut.pk}/retry")
    await tab.until(lambda frame: f'id="turn-{cut.pk + 1}"' in frame)
    await tab.until_idle()
    told = [message["content"] for message in model_server.requests[-1]["messages"][1:]]
    assert "Tell me of the sea" in told[0]
    assert "Never whole." not in "".join(told)


async def test_a_second_user_is_answered_while_the_first_ones_turns_hang(
    site: Site, model_server: ScriptedModel, stranger: User, settings: Any
) -> None:
    settings.MAX_TURNS, settings.MAX_TURNS_PER_USER, settings.MAX_QUEUED_PER_USER = 3, 2, 2
    for _ in range(2):
        model_server.script(Reply("I go on and on", piece=4, stall_after=3))
    for number in range(4):
        tab = await site.open(await site.conversation())
        await tab.send("do it")
        await tab.said("accepted")
        if number < 2:
            await tab.until(lambda frame: "I go" in frame)
    assert await Turn.objects.filter(status="queued").acount() == 2
    fifth = await site.open(await site.conversation())
    await fifth.send("do it")
    refused = await fifth.said("refused")
    assert refused["message"].startswith("You already have 2 messages waiting for the agent.")
    model_server.script(Reply("Hello."))
    theirs = await sync_to_async(Conversation.objects.create)(owner=stranger, title="Theirs")
    tab = await site.open(theirs, stranger)
    await tab.send("hello")
    await tab.until_idle()
    assert (await site.turn(theirs)).status == "completed"
    assert await Turn.objects.filter(status="queued").acount() == 2
