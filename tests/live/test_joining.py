"""A tab that joins at any moment of a turn shows the same as the others."""

from __future__ import annotations

import asyncio
import threading

from asgiref.sync import sync_to_async

from chat.database import THREADS, in_database
from chat.demo.reply import Reply
from chat.live.frames import RowChanged
from chat.live.markdown import MAX_BLOCK
from chat.models import Message
from chat.turns.worker import close_pool, pool
from tests.live.site import Site, article, until
from tests.model_server import ScriptedModel


async def test_a_row_that_a_tab_has_already_is_brought_up_to_date(
    site: Site, model_server: ScriptedModel
) -> None:
    """The turn is sent whole between a row's creation and its first frame; the row has grown by then."""
    gate = threading.Event()
    model_server.script(Reply(text="One.", stall_after=2, gate=gate))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: "One." in frame)
    message = await Message.objects.select_related("turn__conversation").aget(role="assistant")
    running, _task = pool().running[message.turn_id]
    message.text = "One. Two. Three."
    await running.display.show([RowChanged(message, new=True)])
    await tab.until(lambda frame: "Three." in frame)
    target, swap, _html = tab.partials()[-1]
    assert (target, swap) == (f"#{message.dom_id}", "outerMorph"), "drawn also where the row is there"
    gate.set()
    await until(lambda: conversation.turns.filter(status="completed").aexists())


async def test_a_tab_that_joins_a_long_answer_has_its_beginning(
    site: Site, model_server: ScriptedModel
) -> None:
    gate = threading.Event()
    paragraphs = [f"Paragraph {n}: {'words and more words ' * 40}" for n in range(90)]
    text = "\n\n".join(paragraphs)
    assert len(text) > 2 * MAX_BLOCK
    model_server.script(Reply(text=text, piece=1000, stall_after=70, gate=gate))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: "Paragraph 75:" in frame)
    late = await site.open(conversation)
    await late.has("Paragraph 69:")  # with the next save, where the rows were behind
    came = "".join(late.received)
    assert [n for n in range(70) if f"Paragraph {n}:" not in came] == []
    gate.set()
    await late.until_idle()
    assert late.last_turn().strip() == article(await site.page(conversation), await site.turn(conversation))


async def test_a_tab_that_joined_in_a_sentence_goes_on_with_it(
    site: Site, model_server: ScriptedModel
) -> None:
    """It is drawn from the rows, which may be behind; with the next save it has all, and grows again."""
    text = "One block, **bold** and `code`,\nin which much is said " + "again and again, " * 20
    model_server.script(Reply(text=text, piece=9, delay=0.08))
    conversation = await site.conversation()
    first = await site.open(conversation)
    await first.send("do it")
    await first.has("One")
    late = await site.open(conversation)
    await late.until(lambda frame: "-tail" in frame and ":not([data-live])" in frame)
    await late.until(lambda frame: "-tail[data-live]" in frame)
    await late.until_idle()
    assert late.last_turn().strip() == article(await site.page(conversation), await site.turn(conversation))


async def test_a_socket_is_accepted_while_the_database_is_busy(site: Site) -> None:
    busy = threading.Event()
    holding = [asyncio.create_task(in_database(busy.wait)) for _thread in range(THREADS)]
    conversation = await site.conversation()
    tab = await sync_to_async(site.socket)(conversation.pk)
    assert await tab.connect()
    busy.set()
    await asyncio.gather(*holding)
    await tab.live()


async def test_a_tab_is_told_that_no_worker_answers(site: Site, model_server: ScriptedModel) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await site.application.drain()
    await close_pool()
    await tab.send("do it")
    while (await tab.said("alive"))["worker"]:
        pass
    model_server.script(Reply(text="Back."))
    site.application.start()
    await tab.until(lambda frame: "Back." in frame)
    while not (await tab.said("alive"))["worker"]:
        pass
