"""How templates tell of profiles."""

from __future__ import annotations

from typing import Any

from django import template

from chat.live.profile_facts import Fact, changes_of, facts_of

register = template.Library()


@register.filter
def facts(then: dict[str, Any]) -> list[Fact]:
    """Names and values of the profile that a turn had."""
    return facts_of(then)


@register.filter
def changes(then: dict[str, Any]) -> str:
    """What it has other than the turn before."""
    return changes_of(then)
