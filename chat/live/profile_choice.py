"""Which profile answers next in a conversation, and which others could."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from chat.models import Conversation, Profile


def profile_choice(conversation: Conversation) -> dict[str, Any]:
    """What the choice beside the composer is drawn from. Reads the database."""
    return {
        "conversation": conversation,
        "in_use": conversation.profile_in_use(),
        "profiles": Profile.offered_to(conversation.owner),
        "model_of_environment": settings.MODEL_NAME,
    }
