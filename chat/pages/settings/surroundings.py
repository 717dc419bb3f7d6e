"""The connection that environment variables make: shown, and changed by nobody in the page."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from chat.models.profile_then import bare_address

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Surroundings:
    """What may be shown of it."""

    address: str
    model: str
    has_key: bool
    is_demo: bool


def environment() -> Surroundings:
    """What OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL say, or that the demo answers in their place."""
    address = bare_address(settings.MODEL_BASE_URL or OPENAI)
    return Surroundings(address, settings.MODEL_NAME, bool(settings.MODEL_API_KEY), settings.DEMO)
