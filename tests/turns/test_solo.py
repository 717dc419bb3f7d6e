"""Turns without a pool: however often they are asked to end, they end once, with a message."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable

import pytest
from asgiref.sync import sync_to_async

from chat.demo.reply import Reply
from chat.live.frames import Change, TextGrew
from chat.models import Conversation, Turn
from chat.turns.run_turn import RunningTurn
from chat.turns.solo import SoloTurn
from tests.live.site import Site
from tests.model_server import ScriptedModel


class Listener:
    """A display that says when the first text is there."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.finished = False

    async def show(self, changes: Iterable[Change]) -> None:
        if any(isinstance(change, TextGrew) for change in changes):
            self.heard.set()

    async def finish(self) -> None:
        self.finished = True

    async def close(self) -> None:
        self.finished = False


@sync_to_async
def claimed(conversation: Conversation) -> Turn:
    turn = conversation.start_turn("do it", uuid.uuid4())
    mine = Turn.claim("this terminal", turn.pk)
    assert mine
    return mine


@pytest.mark.parametrize("again", [Turn.Status.STOPPED, Turn.Status.INTERRUPTED])
async def test_stopped_again_and_again(site: Site, model_server: ScriptedModel, again: Turn.Status) -> None:
    model_server.script(Reply(text="I go on and on and on", piece=4, stall_after=4))
    conversation = await site.conversation()
    listener = Listener()
    solo = SoloTurn(RunningTurn(await claimed(conversation), listener))
    work = asyncio.create_task(solo.run())
    await listener.heard.wait()
    solo.stop()
    while not work.done():
        solo.stop(again)
        await asyncio.sleep(0.001)
    await work
    turn = await site.turn(conversation)
    assert (turn.status, turn.status_message) == ("stopped", ""), "the first wish holds"
    assert listener.finished
