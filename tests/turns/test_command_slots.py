"""A turn whose command waits for a free slot: what tabs show, and Stop."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings

from chat.demo.reply import Reply
from chat.models import Conversation, ToolCall
from chat.turns.agents import command_slots
from tests.live.site import Site, Tab, article
from tests.model_server import ScriptedModel

COMMAND = "echo begun; until [ -e go ]; do sleep 0.05; done; echo over"
NOTICE = "Waiting for another command"


@pytest.fixture(autouse=True)
def one_place(settings: Any) -> Iterator[None]:
    settings.MAX_COMMANDS = 1
    command_slots.cache_clear()
    yield
    command_slots.cache_clear()


def let_go(conversation: Conversation) -> None:
    (Path(site_settings.WORKSPACES) / str(conversation.pk) / "go").touch()


async def command(site: Site, model: ScriptedModel, shown: str) -> tuple[Conversation, Tab]:
    """A conversation whose turn runs the command, once its card shows so much."""
    model.script(Reply(tool_calls=[("bash", {"command": COMMAND})]))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("run it")
    await tab.until(lambda frame: shown in unescape(frame) and 'data-status="running"' in frame)
    return conversation, tab


async def test_a_command_waits_visibly_and_stop_ends_its_wait(
    site: Site, model_server: ScriptedModel
) -> None:
    first, first_tab = await command(site, model_server, "<pre>begun\n</pre>")
    second, second_tab = await command(site, model_server, NOTICE)
    third, third_tab = await command(site, model_server, NOTICE)
    await site.post(second, "stop")
    await second_tab.until_idle()
    stopped = await ToolCall.objects.aget(turn__conversation=second)
    assert stopped.status == "stopped"
    assert not (Path(site_settings.WORKSPACES) / str(second.pk) / "go").exists()

    model_server.script(Reply(text="Done."), Reply(text="Done."))
    let_go(first)
    await first_tab.until_idle()
    await third_tab.until(lambda frame: "<pre>begun\n</pre>" in frame)
    let_go(third)
    await third_tab.until_idle()
    page = article(await site.page(third), await site.turn(third))
    assert "<pre>begun\nover</pre>" in page
    assert NOTICE not in page
    assert third_tab.last_turn().strip() == page.strip()
