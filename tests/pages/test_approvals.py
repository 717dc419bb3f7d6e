"""Answering a call that waits: by its owner alone, with a token, and with no script if need be."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.models import Conversation, ToolCall, Turn
from tests.pages.routes import address


@pytest.fixture
def waiting(turn: Turn) -> ToolCall:
    """A command of the owner's conversation that waits for an answer."""
    claimed = Turn.claim("worker", turn.pk)
    assert claimed is not None
    call = ToolCall.objects.create(
        turn=claimed,
        step=claimed.steps.create(number=1, ended_at=timezone.now()),
        index=0,
        call_id="c0",
        name="bash",
        arguments='{"command": "grep -rn TODO src"}',
        status="waiting",
        asked_at=timezone.now(),
    )
    claimed.wait()
    return call


def answer(browser: Client, call: ToolCall, conversation: object = None, **fields: str) -> Any:
    where = address("decide", conversation_id=conversation or call.turn.conversation_id, tool_call_id=call.pk)
    return browser.post(where, fields)


def test_the_page_asks_and_says_that_it_waits(owners: Client, waiting: ToolCall) -> None:
    page = owners.get(f"/conversations/{waiting.turn.conversation_id}/").content.decode()
    assert '<main id="conversation" class="conversation" data-status="waiting"' in page
    assert "Allow this command?" in page
    assert "Allow <code>grep</code> in this conversation" in page
    assert "The agent is waiting for your answer" in page
    assert 'class="conversation-row__waits">Waiting for your answer' in page
    assert "Waiting for your answer" in owners.get("/conversations/").content.decode()


@pytest.mark.parametrize("command", ["ls; rm x", "./run.sh", "sudo ls", "linux64 ls", "python3 x.py"])
def test_of_what_is_no_plain_program_the_exact_command_is_allowed(
    owners: Client, waiting: ToolCall, command: str
) -> None:
    ToolCall.objects.update(arguments=f'{{"command": "{command}"}}')
    page = owners.get(f"/conversations/{waiting.turn.conversation_id}/").content.decode()
    assert "Allow once" in page
    assert "Allow this exact command in this conversation" in page
    assert answer(owners, waiting, decision="conversation").status_code == 302
    page = owners.get(f"/conversations/{waiting.turn.conversation_id}/").content.decode()
    assert "Allowed by you for this conversation" in page


def test_a_long_command_can_only_be_allowed_once(owners: Client, waiting: ToolCall) -> None:
    ToolCall.objects.update(arguments=f'{{"command": "./run {"x" * 200}"}}')
    page = owners.get(f"/conversations/{waiting.turn.conversation_id}/").content.decode()
    assert "Allow once" in page
    assert 'value="conversation"' not in page
    refused = answer(owners, waiting, decision="conversation")
    assert refused.status_code == 400
    assert "too long to be allowed for the whole conversation" in refused.content.decode()


def test_another_tool_is_allowed_as_a_whole(owners: Client, waiting: ToolCall) -> None:
    ToolCall.objects.update(name="files__move", arguments='{"from": "a", "to": "b"}')
    page = owners.get(f"/conversations/{waiting.turn.conversation_id}/").content.decode()
    assert "Allow <code>files__move</code> in this conversation" in page


def test_an_answer_leads_back_to_the_conversation(owners: Client, waiting: ToolCall) -> None:
    response = answer(owners, waiting, decision="denied", reason="Not now")
    assert (response.status_code, response.url) == (302, f"/conversations/{waiting.turn.conversation_id}/")
    waiting.refresh_from_db()
    assert (waiting.decision, waiting.reason) == ("denied", "Not now")
    page = owners.get(response.url).content.decode()
    assert "Denied by you" in page
    assert "Not now" in page
    assert "Allow once" not in page


def test_the_second_answer_is_told_of_the_first(owners: Client, waiting: ToolCall) -> None:
    answer(owners, waiting, decision="once")
    late = answer(owners, waiting, decision="denied")
    assert late.status_code == 400
    assert "Already answered: Allowed by you." in late.content.decode()


def test_a_stranger_answers_nothing(strangers: Client, stranger: User, waiting: ToolCall) -> None:
    own = Conversation.begin(stranger, "Mine", uuid.uuid4(), None)
    assert answer(strangers, waiting, decision="once").status_code == 404
    assert answer(strangers, waiting, own.pk, decision="once").status_code == 404
    waiting.refresh_from_db()
    assert (waiting.status, waiting.decision) == ("waiting", "")


def test_staff_answers_nothing_for_others(strangers: Client, waiting: ToolCall) -> None:
    User.objects.filter(username="stranger").update(is_staff=True, is_superuser=True)
    assert answer(strangers, waiting, decision="once").status_code == 404


def test_no_answer_goes_without_its_token(owner: User, waiting: ToolCall, collected: None) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    assert answer(browser, waiting, decision="once").status_code == 403
    waiting.refresh_from_db()
    assert waiting.status == "waiting"


@pytest.mark.parametrize("tool_call_id", [0, 2**31, 2**63, 10**30])
def test_a_call_that_does_not_exist_is_not_found(
    owners: Client, conversation: Conversation, tool_call_id: int
) -> None:
    where = address("decide", conversation_id=conversation.pk, tool_call_id=tool_call_id)
    assert owners.post(where, {"decision": "once"}).status_code == 404
