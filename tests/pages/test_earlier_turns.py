"""Earlier turns, which a page fetches to put them ahead of those that it has."""

from __future__ import annotations

import uuid

from django.test import Client

from chat.models import Conversation, Turn
from tests.pages.routes import address


def shown(owners: Client, conversation: Conversation, before: int, place: str) -> list[int]:
    """The turns of the answer, by their order in the conversation."""
    keys = list(conversation.turns.order_by("pk").values_list("pk", flat=True))
    where = address("earlier_turns", conversation_id=conversation.pk, turn_id=keys[before])
    page = owners.get(where, {"from": place.format(*keys)}).content.decode()
    return [number for number, key in enumerate(keys) if f'id="turn-{key}"' in page]


def test_from_a_place_on_or_as_many_as_usual(owners: Client, conversation: Conversation) -> None:
    conversation.turns.all().delete()
    turns = (Turn(conversation=conversation, client_id=uuid.uuid4(), status="completed") for _ in range(50))
    Turn.objects.bulk_create(turns)
    usual = list(range(20, 40))
    assert shown(owners, conversation, 40, "") == usual
    assert shown(owners, conversation, 40, "turn-{5}") == list(range(5, 40))
    for nowhere in ("turn-{40}", "turn-{45}", "turn-999999999", "elsewhere"):
        assert shown(owners, conversation, 40, nowhere) == usual, nowhere
