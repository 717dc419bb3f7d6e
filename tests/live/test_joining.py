"""A tab that joins at any moment of a turn stands where the others do."""

from __future__ import annotations

import threading

from chat.demo.reply import Reply
from chat.live.agent_consumer import pool
from chat.live.changes import RowChanged
from chat.models import Message
from tests.live.site import Site, until
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
    message = await Message.objects.select_related("turn").aget(role="assistant")
    running, _task = pool().running[message.turn_id]
    message.text = "One. Two. Three."
    await running.screen.show([RowChanged(message, new=True)])
    await tab.until(lambda frame: "Three." in frame)
    target, swap, _html = tab.partials()[-1]
    assert (target, swap) == (f"#{message.dom_id}", "outerMorph"), "drawn also where the row is there"
    gate.set()
    await until(lambda: conversation.turns.filter(status="completed").aexists())
