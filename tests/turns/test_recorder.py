"""Saving of streaming text: from time to time, and never on the event loop's thread."""

from __future__ import annotations

import itertools
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from chat.agent import Reply as ReplyEvent
from chat.agent import StepStarted, Text
from chat.agent import ToolCall as CallRequest
from chat.demo.reply import Reply
from chat.models import Conversation, Turn
from chat.turns import recorder
from chat.turns.recorder import Recorder
from tests.live.site import Site
from tests.model_server import ScriptedModel


def writer_of(owner: User) -> Recorder:
    conversation = Conversation.objects.create(owner=owner, title="Test")
    conversation.start_turn("go", uuid.uuid4())
    turn = Turn.claim("first")
    assert turn
    return Recorder(turn)


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


def test_what_comes_while_a_text_is_saved_is_saved_next(transactional_db: None, owner: User) -> None:
    """A model that pauses then leaves nothing unsaved, and pages know how much they were given."""
    writer = writer_of(owner)
    turn = writer.turn
    for event in (StepStarted(1), Text("One")):
        writer.record(event)
    writer.apply(Text(" two"))
    coming = iter([Text(" three")])

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        done = execute(sql, *rest)
        if sql.startswith('UPDATE "chat_message"'):
            for event in coming:  # on the event loop's thread
                writer.apply(event)
        return done

    with connection.execute_wrapper(meanwhile):
        writer.write()
    message = turn.messages.get(role="assistant")
    assert message.text == "One two"
    assert writer.message
    assert writer.message.saved_text == len("One two")
    assert writer.has_unsaved_rows
    writer.write()
    message.refresh_from_db()
    assert message.text == "One two three"
    assert writer.message.saved_text == len(message.text)
    assert not writer.has_unsaved_rows


def test_a_call_has_no_row_until_its_reply_is_written(transactional_db: None, owner: User) -> None:
    """A write on another thread has taken the reply, and looks at the database before it makes the rows."""
    writer = writer_of(owner)
    turn = writer.turn
    request = CallRequest("call_1", "bash", '{"command": "true"}')
    for event in (StepStarted(1), ReplyEvent("I look.", "", calls=(request,))):
        writer.queue(event)
    seen = []

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        seen.append(writer.row_of(request))  # on the event loop's thread
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile):
        writer.write()
    assert seen
    assert set(seen) == {None}
    assert writer.row_of(request) == turn.tool_calls.get()
