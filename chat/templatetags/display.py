"""How long something has gone on, as a clock: the page's script counts on from there."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import template
from django.utils import formats, timezone
from django.utils.translation import gettext as _

from chat.files.tree import address, shown
from chat.live.profile_facts import Fact, changes_of, facts_of
from chat.live.usage_text import grouped, lasting, money, tokens, usage_of
from chat.models import BulkAct, ToolCall
from chat.models.usage import TOKENS, Totals
from chat.pages.bulk import act_message
from chat.pages.settings.plans import percent
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


@register.filter
def sentence(act: BulkAct) -> str:
    """What was done."""
    return act_message(act)


register.filter("percent", percent)


@register.filter
def because(reason: str) -> str:
    """Why lists were refused, in words, by the name that chat.agent.todo.reason_of gives the reason."""
    kind, _dot, field = reason.partition("required.")
    if not kind and field:
        return _("an item without %(field)s") % {"field": field}
    return _words().get(reason, _("another reason"))


def _words() -> dict[str, str]:
    return {
        "not_a_list": _("no list of items in the arguments"),
        "not_an_object": _("an item that is not an object"),
        "not_text": _("a field that is not text"),
        "unknown_status": _("a status the policy does not have"),
        "too_many": _("more items than allowed"),
        "two_in_progress": _("more than one item in progress"),
        "repeated_id": _("an id used twice"),
        "second_write": _("a second list in one reply"),
        "call.not_json": _("arguments that are not JSON"),
        "call.not_an_object": _("arguments that are not an object"),
        "call.cut": _("cut off while being written"),
        "call.not_run": _("not read: the turn had reached a limit"),
    }


@register.filter
def facts(then: dict[str, Any]) -> list[Fact]:
    """Names and values of the profile that a turn had."""
    return facts_of(then)


@register.filter
def changes(then: dict[str, Any]) -> str:
    """What it has other than the turn before."""
    return changes_of(then)


register.simple_tag(usage_of)  # {% usage_of turn as usage %}
for figure in (tokens, grouped, money, lasting):
    register.filter(figure.__name__, figure)


@register.filter
def in_and_out(totals: Totals) -> Decimal:
    """The tokens of both kinds together."""
    return totals.amount(TOKENS)


@register.filter
def elapsed(since: datetime.datetime) -> str:
    """The time from then to now as `m:ss`, or `h:mm:ss`; 0:00 where a clock was set back."""
    seconds = max(0, int((timezone.now() - since).total_seconds()))
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


@register.filter
def moment(at: datetime.datetime) -> str:
    """A time of today as the clock's, an earlier one as its day."""
    local = timezone.localtime(at)
    if local.date() == timezone.localdate():
        return f"{local:%H:%M}"
    return str(formats.date_format(local, "SHORT_DATE_FORMAT"))
