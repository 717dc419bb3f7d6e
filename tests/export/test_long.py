"""Export and import of a long conversation: memory is bounded by its largest turn."""

from __future__ import annotations

import json
import tracemalloc
import uuid
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.export.json_file import json_pieces
from chat.export.markdown_file import markdown_pieces
from chat.export.page import html_pieces
from chat.models import Conversation, Message, Step, ToolCall, Turn
from tests.export.conftest import imported

OUTPUT = 40_000  # characters of each call
CALLS = 8  # of each turn


def long_conversation(owner: User, turns: int) -> Conversation:
    conversation = Conversation.objects.create(owner=owner, title="Long")
    printed = ("one of many lines\n" * OUTPUT)[:OUTPUT]
    now = timezone.now()
    for _turn in range(turns):
        turn = Turn.objects.create(
            conversation=conversation, client_id=uuid.uuid4(), status="completed", ended_at=now
        )
        Message.objects.create(turn=turn, role="user", text="Go on")
        step = Step.objects.create(turn=turn, number=1)
        calls = [
            ToolCall(turn=turn, step=step, index=n, call_id=str(n), name="bash", output=printed)
            for n in range(CALLS)
        ]
        ToolCall.objects.bulk_create(calls)
    ToolCall.objects.update(status="succeeded")
    return conversation


def most_memory(pieces: Iterator[str]) -> tuple[int, int]:
    """Peak memory in bytes while the pieces are created, and their total length."""
    size = 0
    tracemalloc.start()
    try:
        for piece in pieces:
            size += len(piece)
        return tracemalloc.get_traced_memory()[1], size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("leave", [json_pieces, markdown_pieces, html_pieces])
@pytest.mark.usefixtures("collected")
def test_memory_is_that_of_a_turn(owner: User, leave: Callable[[Conversation], Iterator[str]]) -> None:
    short, long = (long_conversation(owner, turns) for turns in (2, 12))
    most_memory(leave(short))  # what is loaded once
    little, _size = most_memory(leave(short))
    much, size = most_memory(leave(long))
    record = 12 * CALLS * OUTPUT
    assert size > (record / 100 if leave is markdown_pieces else record)  # that shortens outputs
    assert much < little + record / 8, (much, little, size)


def test_it_comes_back(owner: User) -> None:
    before = "".join(json_pieces(long_conversation(owner, 6)))
    Conversation.objects.all().delete()
    made = imported(json.loads(before), owner)
    after = "".join(json_pieces(made))
    assert {**json.loads(after), "exported_at": 0} == {**json.loads(before), "exported_at": 0}
