"""What templates need to tell of usage."""

from __future__ import annotations

from decimal import Decimal

from django import template

from chat.live.figures import grouped, lasting, money, tokens
from chat.live.turn_usage import usage_of
from chat.models.totals import TOKENS, Totals

register = template.Library()
register.simple_tag(usage_of)  # {% usage_of turn as usage %}
for figure in (tokens, grouped, money, lasting):
    register.filter(figure.__name__, figure)


@register.filter
def in_and_out(totals: Totals) -> Decimal:
    """The tokens of both kinds together."""
    return totals.amount(TOKENS)
