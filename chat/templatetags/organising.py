"""What was done to conversations, in words, for templates."""

from __future__ import annotations

from django import template

from chat.models import BulkAct
from chat.pages.bulk_words import sentence_of

register = template.Library()


@register.filter
def sentence(act: BulkAct) -> str:
    """What was done."""
    return sentence_of(act)
