"""Conversations too long for their model: what is sent, what is kept, what the page shows."""

from __future__ import annotations

import re
import threading

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from chat.agent.context import render_messages
from chat.demo.reply import Reply, Request
from chat.files.conversation_workspace import open_workspace
from chat.models import Conversation, ModelSettings, SideCall, Summary, ToolCall
from chat.turns.transcript import transcript
from chat.turns.worker import close_pool, pool
from tests.agent.context.small_window import SmallWindow, breaks
from tests.live.site import Site, Tab, article, until
from tests.model_server import ScriptedModel

WINDOW = 20_000
LINE = "A line of a file that is neither short nor of any interest.\n"
TODOS = [
    {"content": "Read them all", "status": "completed", "activeForm": "Reading"},
    {"content": "Write the book", "status": "in_progress", "activeForm": "Writing the book"},
]


class Worker:
    """Reads a long file in each turn, then says so. The first turn makes a plan, too."""

    def __init__(self, words: int = 200) -> None:
        self.words = words

    def __call__(self, request: Request) -> Reply:
        last = max(place for place, message in enumerate(request.messages) if message["role"] == "user")
        since = request.messages[last:]
        read = sum(message["role"] == "tool" for message in since)
        if "plan" in str(since[0]["content"]) and not read:
            return Reply(tool_calls=[("TodoWrite", {"items": TODOS})])
        if read < 1 + ("plan" in str(since[0]["content"])):
            return Reply(tool_calls=[("read_file", {"path": "book.txt"})])
        return Reply(text="I have read it. " + "It was long. " * self.words)


@pytest.fixture
async def model(site: Site, model_server: ScriptedModel) -> SmallWindow:
    """A model whose window somebody has set."""
    model = model_server.answer = SmallWindow(WINDOW, Worker())
    await ModelSettings.objects.acreate(model=settings.MODEL_NAME, traits={"context_window": WINDOW})
    return model


async def begun(site: Site) -> tuple[Conversation, Tab]:
    conversation = await site.conversation()
    workspace = await sync_to_async(open_workspace)(conversation)
    await sync_to_async(workspace.write)("book.txt", LINE.encode() * 100)
    return conversation, await site.open(conversation)


async def talk(tab: Tab, turns: int, first: int = 0) -> None:
    for number in range(first, first + turns):
        await tab.send("Make a plan" if number == 0 else f"Go on, for the {number}th time")
        await tab.until_idle()


async def until_summarised(tab: Tab) -> Summary:
    """Talk until there is a summary."""
    number = 0
    while (summary := await Summary.objects.select_related("turn").afirst()) is None:
        assert number < 20, "it never became too long"
        await talk(tab, 1, number)
        number += 1
    return summary


async def test_older_turns_are_summarised(site: Site, model: SmallWindow) -> None:
    conversation, tab = await begun(site)
    summary = await until_summarised(tab)
    assert model.refused == 0
    sent = model.taken[-1].messages
    head = str(sent[1]["content"])
    assert "Much was said, and all of it well." in head
    assert "[x] Read them all\n[>] Write the book <- Writing the book\n\n(1/2 completed)" in head
    assert head.count("<reminder>") == 1
    assert "Make a plan" not in str(sent), "the model asked for it to be left out"
    (call,) = [call async for call in SideCall.objects.filter(purpose="summary")]
    assert (call.pk, call.turn_id) == (summary.side_call_id, summary.turn_id)
    assert call.input_tokens > 1000
    page = await site.page(conversation)
    assert tab.last_turn().strip() == article(page, summary.turn)
    fold = article(page, summary.turn)
    assert "Earlier turns were summarised for the model" in fold
    assert "<h1>So far</h1>" in fold
    assert "Make a plan" in page, "the user still sees all of it"


async def test_what_was_sent_changes_only_when_it_became_too_much(site: Site, model: SmallWindow) -> None:
    conversation, tab = await begun(site)
    await talk(tab, 14)
    assert 2 <= breaks(model.taken) <= 5 < len(model.taken) / 5
    turn = await site.turn(conversation)
    kept = render_messages(await sync_to_async(transcript)(turn), "en")
    assert [message["content"] for message in model.taken[-1].messages[1:]] == [
        message["content"] for message in kept[:-1]
    ]


async def test_results_that_are_read_in_part_carry_a_mark(site: Site, model: SmallWindow) -> None:
    conversation, tab = await begun(site)
    await talk(tab, 9)
    shortened = [call async for call in ToolCall.objects.exclude(shortened="")]
    assert shortened
    page = await site.page(conversation)
    for call in shortened:
        assert "read book.txt again" in call.shortened
        assert call.output == (LINE * 100).rstrip(), "the record keeps all of it"
        said = "The model now reads only part of this"
        mark = re.search(rf'<span id="{call.shortened_dom_id}"[^>]*>{said}</span>', page)
        assert mark
        drawn = tab.drawn(f"#{call.shortened_dom_id}", "outerMorph")
        assert drawn[-1].strip() == mark[0], "live as in the record"


async def test_a_turn_that_is_taken_up_again_sends_the_same(site: Site, model: SmallWindow) -> None:
    """The process ends between what was decided and the next request, which another one sends."""
    conversation, tab = await begun(site)
    answer, stalled = model.answer, threading.Event()

    def stall_once(request: Request) -> Reply:
        if model.summaries and not stalled.is_set():
            stalled.set()
            return Reply(text="It will not come to its end", stall_after=2)
        return answer(request)

    model.answer = stall_once

    async def ended_or_stalled() -> bool:
        return stalled.is_set() or not (await site.turn(conversation)).is_active

    number = 0
    while not stalled.is_set():
        await tab.send("Make a plan" if not number else f"Go on, for the {number}th time")
        await tab.said("accepted")
        await until(ended_or_stalled)
        number += 1
    await close_pool()
    count = len(model.taken)
    pool().open()
    await tab.until_idle()
    assert model.taken[count].messages == model.taken[count - 1].messages
    assert len(model.summaries) == 1
    assert (await site.turn(conversation)).status == "completed"


async def test_a_summary_that_fails_is_done_without(site: Site, model: SmallWindow) -> None:
    model.summary = lambda _request: Reply(status=400, body={"error": {"message": "I will not"}})
    model.answer = Worker(words=400)
    conversation, tab = await begun(site)
    summary = await until_summarised(tab)
    assert summary.text == ""
    assert model.refused <= 1, "it may be that only the endpoint's error shows that it no longer fits"
    head = str(model.taken[-1].messages[1]["content"])
    assert "no summary of it could be made" in head
    assert "[>] Write the book <- Writing the book" in head
    page = await site.page(conversation)
    assert "Earlier turns are no longer sent to the model" in article(page, summary.turn)
    assert (await site.turn(conversation)).status == "completed"


async def test_stop_works_meanwhile(site: Site, model: SmallWindow, model_server: ScriptedModel) -> None:
    model.summary = lambda _request: Reply(text="It takes its time and more", stall_after=2)
    conversation, tab = await begun(site)

    async def ended_or_summarising() -> bool:
        return bool(model.summaries) or not (await site.turn(conversation)).is_active

    number = 0
    while not model.summaries:
        await tab.send("Make a plan" if not number else f"Go on, for the {number}th time")
        await tab.said("accepted")
        await until(ended_or_summarising)
        number += 1
    assert await site.post(conversation, "stop") == 302
    await tab.until_idle()
    turn = await site.turn(conversation)
    assert turn.status == "stopped"
    model_server.wait_for_disconnects(1)
    assert not await Summary.objects.aexists()
    assert tab.last_turn().strip() == article(await site.page(conversation), turn)


async def test_one_long_turn_is_cut_through(site: Site, model: SmallWindow) -> None:
    """Its first steps are summarised; the user's messages in it stay, and so does the latest result."""

    def read_on(request: Request) -> Reply:
        if len(model.taken) > 16:
            return Reply(text="Done.")
        said = "I read on. " + "It is long. " * 200
        return Reply(text=said, tool_calls=[("read_file", {"path": "book.txt", "offset": len(model.taken)})])

    model.answer = read_on
    conversation, tab = await begun(site)
    await tab.send("Read it line by line")
    await tab.until_idle()
    turn = await site.turn(conversation)
    assert (turn.status, model.refused) == ("completed", 0)
    summary = await Summary.objects.afirst()
    assert summary
    assert (summary.until_id, bool(summary.until_step)) == (turn.pk, True)
    sent = model.taken[-1].messages
    assert str(sent[1]["content"]).endswith("Read it line by line")
    assert str(sent[-1]["content"]).count(LINE) > 50
    page = article(await site.page(conversation), turn)
    assert "Earlier steps were summarised for the model" in page
    assert tab.last_turn().strip() == page
