"""Database constraints, whatever code writes."""

from __future__ import annotations

import os
import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction

from chat.models import Conversation, Message, Profile, SignInLink, Step, TodoRevision, ToolCall, Turn


def write(sql: str, *values: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


@pytest.mark.parametrize("status", ["queued", "running", "waiting"])
@pytest.mark.parametrize("second", ["queued", "running", "waiting"])
def test_a_conversation_has_one_active_turn(turn: Turn, status: str, second: str) -> None:
    Turn.objects.filter(pk=turn.pk).update(status=status)
    with pytest.raises(IntegrityError), transaction.atomic():
        turn.conversation.turns.create(client_id=uuid.uuid4(), status=second)


@pytest.mark.parametrize("status", ["completed", "stopped", "failed", "interrupted"])
def test_turns_that_have_ended_leave_room_for_the_next(turn: Turn, status: str) -> None:
    Turn.objects.filter(pk=turn.pk).update(status=status)
    turn.conversation.turns.create(client_id=uuid.uuid4(), status=status)
    turn.conversation.turns.create(client_id=uuid.uuid4())
    assert turn.conversation.turns.count() == 3


def test_an_ended_turn_does_not_rise_beside_an_active_one(turn: Turn) -> None:
    turn.conversation.turns.create(client_id=uuid.uuid4(), status="failed")
    with pytest.raises(IntegrityError), transaction.atomic():
        turn.conversation.turns.filter(status="failed").update(status="running")


def test_other_conversations_do_not_count(turn: Turn) -> None:
    other = Conversation.objects.create(owner=turn.conversation.owner, title="Other")
    other.turns.create(client_id=uuid.uuid4())
    assert Turn.objects.filter(status="queued").count() == 2


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("chat_turn", "status"),
        ("chat_toolcall", "status"),
        ("chat_message", "role"),
        ("chat_profile", "todo_policy"),
        ("chat_profile", "language"),
    ],
)
@pytest.mark.parametrize("value", ["", "asleep", "Running"])
def test_unknown_states_are_refused(call: ToolCall, table: str, column: str, value: str) -> None:
    Profile.objects.create(title="Some profile")
    with pytest.raises(IntegrityError):
        write(f"UPDATE {table} SET {column} = %s", value)


@pytest.mark.parametrize(
    ("model", "field"),
    [
        (Turn, "status"),
        (ToolCall, "status"),
        (Message, "role"),
        (Profile, "todo_policy"),
        (Profile, "language"),
    ],
)
def test_every_state_that_is_offered_is_allowed(
    call: ToolCall, model: type[models.Model], field: str
) -> None:
    Profile.objects.create(title="Some profile")
    choices = model._meta.get_field(field).choices  # type: ignore[union-attr]
    for value, _label in choices or []:
        assert model._default_manager.update(**{field: value}) > 0


def test_no_crowd_of_rows_smuggles_an_unknown_state_in(running: Turn) -> None:
    rows = [Message(turn=running, role=role, text="Hi") for role in ("assistant", "system")]
    with pytest.raises(IntegrityError), transaction.atomic():
        Message.objects.bulk_create(rows)
    assert not Message.objects.filter(role="assistant").exists()


def test_a_client_id_is_one_row(turn: Turn, stranger: Any) -> None:
    other = Conversation.objects.create(owner=stranger, title="Other")
    with pytest.raises(IntegrityError), transaction.atomic():
        other.turns.create(client_id=turn.client_id, status="completed")


def test_a_turn_has_one_question(turn: Turn) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        turn.messages.create(role="user", text="And another")
    turn.messages.create(role="assistant", text="One")
    turn.messages.create(role="assistant", text="Two")


def test_a_step_number_is_given_once(call: ToolCall) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Step.objects.create(turn=call.turn, number=call.step.number)


def test_a_place_in_a_step_is_given_once(call: ToolCall) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        ToolCall.objects.create(turn=call.turn, step=call.step, index=0, call_id="b", name="bash")


def test_a_step_has_one_message_and_a_call_one_revision(call: ToolCall) -> None:
    Message.objects.create(turn=call.turn, step=call.step, role="assistant")
    with pytest.raises(IntegrityError), transaction.atomic():
        Message.objects.create(turn=call.turn, step=call.step, role="assistant")
    revision = {"conversation": call.turn.conversation, "turn": call.turn, "tool_call": call}
    TodoRevision.objects.create(**revision)
    with pytest.raises(IntegrityError), transaction.atomic():
        TodoRevision.objects.create(**revision)


def test_a_sign_in_token_is_one_row(owner: Any) -> None:
    SignInLink.issue(owner)
    link = SignInLink.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        SignInLink.objects.create(user=owner, token_hash=link.token_hash, expires_at=link.expires_at)


def test_the_database_is_the_one_that_was_asked_for(settings: Any) -> None:
    """These tests run on SQLite and on PostgreSQL; each run is on what its surroundings say."""
    vendor = "postgresql" if "DATABASE_URL" in os.environ else "sqlite"
    assert connection.vendor == vendor
