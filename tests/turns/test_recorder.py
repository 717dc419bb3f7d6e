"""Saving of streaming text: from time to time, and never on the event loop's thread."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from chat.demo.reply import Reply
from chat.turns import recorder
from tests.live.site import Site
from tests.model_server import ScriptedModel


@pytest.mark.parametrize("step", [0.3, 0.6, 0.9])
async def test_a_second_may_end_between_any_two_looks_at_the_clock(
    site: Site, model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    ticks = itertools.count()
    clock: Any = SimpleNamespace(monotonic=lambda: next(ticks) * step)
    monkeypatch.setattr(recorder, "time", clock)
    model_server.script(Reply(text="On and on. " * 20, piece=4))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    turn = await site.turn(conversation)
    assert (turn.status, turn.status_message) == ("completed", "")
