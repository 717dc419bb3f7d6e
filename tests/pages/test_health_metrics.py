"""Access to the Prometheus metrics."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, Turn


@pytest.mark.django_db
def test_nobody_is_told(client: Client) -> None:
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 403
    assert client.post("/metrics").status_code == 405


def test_the_owner_of_conversations_is_not_told_either(browser_of: type[Client], owner: User) -> None:
    assert browser_of(owner).get("/metrics").status_code == 403


def test_staff_sees_turns_by_state(browser_of: type[Client], owner: User) -> None:
    owner.is_staff = True
    owner.save()
    conversation = Conversation.objects.create(owner=owner, title="Test")
    for number, status in enumerate(["completed", "completed", "failed"]):
        Turn.objects.create(conversation=conversation, client_id=f"{number:032x}", status=status)
    response = browser_of(owner).get("/metrics")
    lines = response.content.decode().splitlines()
    assert response["Content-Type"].startswith("text/plain; version=")
    assert 'agentsite_turns{state="completed"} 2.0' in lines
    assert 'agentsite_turns{state="failed"} 1.0' in lines
    assert 'agentsite_turns{state="running"} 0.0' in lines
    assert any(line.startswith("process_resident_memory_bytes ") for line in lines)


@pytest.mark.parametrize(
    ("sent", "status"),
    [("Bearer s3cret", 200), ("bearer s3cret", 200), ("Bearer s3cre", 403), ("Basic s3cret", 403)],
)
@pytest.mark.django_db
def test_a_scraper_brings_the_token(client: Client, settings: Any, sent: str, status: int) -> None:
    settings.METRICS_TOKEN = "s3cret"
    assert client.get("/metrics", headers={"Authorization": sent}).status_code == status
