"""Messages that are held, without any script: shown, taken back, sent."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client

from chat.models import Conversation, FollowUp, Turn
from tests.pages.test_conversation import HTMX, leads_back, where


def shown(page: str) -> bool:
    """Whether the page shows a message as held."""
    return 'class="follow-up"' in page


def test_a_message_while_a_turn_runs_is_held(owners: Client, conversation: Conversation) -> None:
    fields = {"text": "<b>More</b>", "client_id": str(uuid.uuid4())}
    for _time in range(2):
        assert leads_back(owners.post(where(conversation, "messages"), fields), conversation)
    page = owners.get(where(conversation)).content.decode()
    assert page.count('class="follow-up"') == 1
    assert "&lt;b&gt;More&lt;/b&gt;" in page
    assert "></textarea>" in page, "and the composer is empty"
    assert conversation.turns.count() == 1


def test_too_many_are_refused_and_stay_in_the_composer(owners: Client, conversation: Conversation) -> None:
    for number in range(20):
        owners.post(where(conversation, "messages"), {"text": f"More {number}"})
    response = owners.post(where(conversation, "messages"), {"text": "Too much"})
    assert response.status_code == 400
    assert "Too many messages are waiting." in response.content.decode()
    assert ">Too much</textarea>" in response.content.decode()
    assert FollowUp.objects.count() == 20


def test_a_page_without_any_shows_none(owners: Client, conversation: Conversation) -> None:
    page = owners.get(where(conversation)).content.decode()
    assert not shown(page)
    assert 'id="follow-ups"' in page, "but the place where they will stand"
    assert 'id="stop-and-send"' not in page


def test_taking_back_leads_to_the_composer(
    owners: Client, conversation: Conversation, held: FollowUp
) -> None:
    response = owners.post(where(conversation, f"follow-ups/{held.pk}/take-back"))
    page = response.content.decode()
    assert response.status_code == 200
    assert ">And this</textarea>" in page
    assert not shown(page)
    again = owners.post(where(conversation, f"follow-ups/{held.pk}/take-back"), headers=HTMX)
    assert (again.status_code, again.content, again["Content-Type"]) == (200, b"And this", "text/plain")


def test_what_the_agent_has_read_is_not_taken_back(
    owners: Client, conversation: Conversation, turn: Turn, held: FollowUp
) -> None:
    FollowUp.deliver([held], turn)
    assert leads_back(owners.post(where(conversation, f"follow-ups/{held.pk}/take-back")), conversation)
    assert FollowUp.objects.get().status == "delivered"


@pytest.mark.parametrize("pk", [0, 2**31, 2**63, 10**30])
def test_one_that_does_not_exist_is_not_found(owners: Client, conversation: Conversation, pk: int) -> None:
    assert owners.post(where(conversation, f"follow-ups/{pk}/take-back")).status_code == 404


def test_sending_what_is_held(
    owners: Client, conversation: Conversation, failed: Turn, held: FollowUp
) -> None:
    page = owners.get(where(conversation)).content.decode()
    assert where(conversation, "follow-ups/send") in page
    for _time in range(2):
        assert leads_back(owners.post(where(conversation, "follow-ups/send")), conversation)
    assert [turn.user_text for turn in conversation.turns.all()] == ["Look around", "And this"]
    assert not shown(owners.get(where(conversation)).content.decode())


def test_nothing_is_sent_while_a_turn_works(
    owners: Client, conversation: Conversation, held: FollowUp
) -> None:
    assert leads_back(owners.post(where(conversation, "follow-ups/send")), conversation)
    assert conversation.turns.count() == 1
    assert FollowUp.objects.get().status == "held"


def test_stop_brings_what_is_held_back(owners: Client, conversation: Conversation, held: FollowUp) -> None:
    response = owners.post(where(conversation, "stop"))
    assert response.status_code == 200
    assert ">And this</textarea>" in response.content.decode()
    assert [turn.status for turn in conversation.turns.all()] == ["stopped"]


def test_stop_and_send_starts_the_next_turn(
    owners: Client, conversation: Conversation, held: FollowUp
) -> None:
    assert leads_back(owners.post(where(conversation, "stop"), {"then": "send"}), conversation)
    texts = [(turn.status, turn.user_text) for turn in conversation.turns.all()]
    assert texts == [("stopped", "Look around"), ("queued", "And this")]


def test_a_retry_leaves_what_is_held(
    owners: Client, conversation: Conversation, failed: Turn, held: FollowUp
) -> None:
    assert leads_back(owners.post(where(conversation, f"turns/{failed.pk}/retry")), conversation)
    assert [turn.user_text for turn in conversation.turns.all()] == ["Look around", "Look around"]
    assert FollowUp.objects.get().status == "held", "the agent reads it at its next step"
