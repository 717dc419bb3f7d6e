"""What the model knows of files, across turns and restarts."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from chat.demo.reply import Reply
from chat.models import ToolCall
from tests.live.site import Site
from tests.model_server import ScriptedModel


async def test_a_file_that_the_person_changed_between_turns_is_read_again(
    site: Site, model_server: ScriptedModel
) -> None:
    edit = ("edit_file", {"path": "notes.txt", "old_text": "one", "new_text": "1"})
    model_server.script(
        Reply(tool_calls=[("write_file", {"path": "notes.txt", "content": "one\n"})]),
        Reply(text="Written."),
        Reply(tool_calls=[edit]),
        Reply(tool_calls=[("read_file", {"path": "notes.txt"}), edit]),
        Reply(text="Edited."),
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("write")
    await tab.until_idle()
    notes = Path(settings.WORKSPACES) / str(conversation.pk) / "notes.txt"
    notes.write_text("one\nmine\n")
    await tab.send("edit")
    await tab.until_idle()
    calls = [call async for call in ToolCall.objects.filter(turn__conversation=conversation)]
    assert [call.status for call in calls] == ["succeeded", "failed", "succeeded", "succeeded"]
    assert "has changed since you last read or wrote it" in calls[1].output
    assert notes.read_text() == "1\nmine\n"
