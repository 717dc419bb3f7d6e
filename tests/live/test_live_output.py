"""Output of a running command on the page."""

from __future__ import annotations

import uuid
from html import unescape
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from chat.agent import StepStarted, ToolCallProgress, ToolCallStarted
from chat.agent import ToolCall as CallRequest
from chat.agent.events import Reply as ModelReply
from chat.demo.reply import Reply
from chat.live.frames import draw
from chat.models import Conversation, ToolCall, Turn, recover_turn
from chat.turns.recorder import Recorder
from chat.turns.transcript import transcript
from tests.live.site import Site, article, until
from tests.model_server import ScriptedModel

COMMAND = "echo first; until [ -e go ]; do sleep 0.05; done; echo last"


async def test_it_comes_as_it_is_printed_and_is_there_after_a_reload(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("bash", {"command": COMMAND})]), Reply(text="Done."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("run it")
    await tab.until(
        lambda frame: "<pre>first\n</pre>" in unescape(frame) and 'data-status="running"' in frame
    )

    async def reloaded() -> bool:
        return "<pre>first\n</pre>" in await site.page(conversation)

    await until(reloaded)
    second = await site.open(conversation)
    await second.has("<pre>first\n</pre>")
    (Path(settings.WORKSPACES) / str(conversation.pk) / "go").touch()
    await tab.until_idle()
    await second.until_idle()
    page = article(await site.page(conversation), await site.turn(conversation))
    assert "<pre>first\nlast</pre>" in page
    assert tab.last_turn().strip() == second.last_turn().strip() == page.strip()


async def test_a_stopped_command_keeps_what_it_had_printed(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(tool_calls=[("bash", {"command": COMMAND})]))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("run it")
    await tab.until(lambda frame: "<pre>first\n</pre>" in frame)
    await site.post(conversation, "stop")
    await tab.until_idle()
    call = await ToolCall.objects.aget(turn__conversation=conversation)
    assert (call.status, call.output) == ("stopped", "first\n")


def test_what_was_saved_survives_the_worker(transactional_db: None, owner: User) -> None:
    conversation = Conversation.objects.create(owner=owner, title="Test")
    conversation.start_turn("run it", uuid.uuid4())
    turn = Turn.claim("first")
    assert turn
    recorder = Recorder(turn)
    request = CallRequest("a", "bash", '{"command": "make"}')
    for event in (StepStarted(1), ModelReply("", "", (request,)), ToolCallStarted(request)):
        recorder.record(event)
    printed = ToolCallProgress(request, "compiled 3 of 5\n")
    assert recorder.can_skip_database(printed)
    recorder.apply(printed)
    recorder.write()
    assert "compiled 3 of 5" in draw(turn.tool_calls.get())

    assert recover_turn(Turn.objects.get(pk=turn.pk))
    call = turn.tool_calls.get()
    assert (call.status, call.output) == ("unknown", "compiled 3 of 5\n")
    again = Turn.claim("second")
    assert again
    (result,) = [message["content"] for message in transcript(again) if message["role"] == "tool"]
    assert "outcome is unknown" in result
    assert result.endswith("compiled 3 of 5")
