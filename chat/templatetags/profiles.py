"""How templates tell of profiles."""

from __future__ import annotations

from typing import Any

from django import template

from chat.live import profile_choice as choice
from chat.live.profile_facts import Fact, changes_of, facts_of
from chat.models import Conversation

register = template.Library()


@register.inclusion_tag("partials/_profile_choice.html")
def profile_choice(conversation: Conversation) -> dict[str, Any]:
    """The choice beside the composer: `{% profile_choice conversation %}`."""
    return choice.profile_choice(conversation)


@register.filter
def facts(then: dict[str, Any]) -> list[Fact]:
    """Names and values of the profile that a turn had."""
    return facts_of(then)


@register.filter
def changes(then: dict[str, Any]) -> str:
    """What it has other than the turn before."""
    return changes_of(then)
