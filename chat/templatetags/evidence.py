"""What templates need to show what was done for a todo."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from chat.files.tree import address, shown
from chat.models import ToolCall
from chat.plan.evidence import Evidence

register = template.Library()
register.filter("file_address", address)
register.filter("file_name", shown)

MOST_CALLS = 50  # listed of one item; the story has all


@register.filter
def of(evidence: Mapping[str, Evidence], item: str) -> Evidence | None:
    """What was found for an item: `{% with evidence|of:item.id as found %}`."""
    return evidence.get(item)


@register.filter
def listed(calls: list[ToolCall]) -> list[ToolCall]:
    """The first of the calls, as many as are listed."""
    return calls[:MOST_CALLS]


@register.filter
def beyond_listed(calls: list[ToolCall]) -> int:
    """How many there are beyond these."""
    return max(0, len(calls) - MOST_CALLS)
