"""Template filters for times, numbers, plans and profiles."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django import template
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from chat.connections.mcp_sentence import mcp_sentence
from chat.files.tree import address, shown
from chat.live.activity import activity_of
from chat.live.board import BoardEntry
from chat.live.profile_facts import Fact, change_of, facts_of, setup_of
from chat.live.usage_text import format_duration, grouped, money, tokens, tokens_text, usage_of
from chat.models import BulkAct, Profile, ToolCall, Turn
from chat.models.usage import TOKENS, Totals
from chat.pages.bulk import act_message
from chat.pages.settings.plans import percent
from chat.plan.difference import change_text
from chat.plan.evidence import Evidence

register = template.Library()
register.filter("file_address", address)
register.filter("file_name", shown)
register.filter("mcp_sentence", mcp_sentence)
register.filter("change_text", change_text)

ENDING = 10  # characters at the end of a long file name that are shown in any case
MAX_CALLS = 50  # listed per item; the timeline has all


@register.filter
def cut_in_middle(name: str) -> str:
    """The name of a file; if it is long, in two parts, of which the style sheet cuts the first."""
    if len(name) <= 2 * ENDING:
        return name
    return format_html("<span>{}</span><span>{}</span>", name[:-ENDING], name[-ENDING:])


@register.filter
def of(evidence: Mapping[str, Evidence], item: str) -> Evidence | None:
    """The item's evidence: `{% with evidence|of:item.id as found %}`."""
    return evidence.get(item)


@register.filter
def listed(calls: list[ToolCall]) -> list[ToolCall]:
    return calls[:MAX_CALLS]


@register.filter
def beyond_listed(calls: list[ToolCall]) -> int:
    return max(0, len(calls) - MAX_CALLS)


@register.filter
def sentence(act: BulkAct) -> str:
    return act_message(act)


register.filter("percent", percent)


@register.filter
def because(reason: str) -> str:
    """The reason for refused lists in words, by its name from chat.agent.todo.reason_of."""
    kind, _dot, field = reason.partition("required.")
    if not kind and field:
        return _("an item without %(field)s") % {"field": field}
    return _reason_texts().get(reason, _("another reason"))


def _reason_texts() -> dict[str, str]:
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
def facts(snapshot: dict[str, Any]) -> list[Fact]:
    return facts_of(snapshot)


register.filter("profile_change", change_of)
register.simple_tag(activity_of)
register.simple_tag(usage_of)  # {% usage_of turn as usage %}
for figure in (tokens, tokens_text, grouped, money, format_duration):
    register.filter(figure.__name__, figure)


@register.filter
def in_and_out(totals: Totals) -> Decimal:
    return totals.amount(TOKENS)


@register.filter
def elapsed(since: datetime.datetime) -> str:
    """The time since then as `m:ss` or `h:mm:ss`; 0:00 if the clock was set back. The script counts on."""
    seconds = max(0, int((timezone.now() - since).total_seconds()))
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


@register.filter
def running_for(since: datetime.datetime) -> str:
    """The same, as `12 s` in the first minute."""
    seconds = max(0, int((timezone.now() - since).total_seconds()))
    return _("%(seconds)s s") % {"seconds": seconds} if seconds < 60 else elapsed(since)


@register.filter
def doing(item: Mapping[str, Any]) -> str:
    """What an item of a list says while it is worked on."""
    return str((item["status"] == "in_progress" and item.get("active_form")) or item["content"])


@register.filter
def queue_text(turn: Turn | BoardEntry) -> str:
    """What a queued turn waits for."""
    if turn.waits_for_share:
        return _("Queued: your other conversations are using all your slots")
    if not (ahead := turn.ahead):
        return _("Waiting for the agent")
    return ngettext("Queued, %(ahead)s turn ahead", "Queued, %(ahead)s turns ahead", ahead) % {"ahead": ahead}


@register.filter
def end_text(turn: Turn) -> str:
    """How a turn ended, and whether servers restarted in it."""
    if turn.status != "completed":
        return turn.get_status_display()
    ended, count = _("Ended"), turn.crash_count
    if not count:
        return ended
    resumed = ngettext("resumed after a server restart", "resumed after %(count)s server restarts", count)
    return ended + _(", ") + resumed % {"count": count}


@register.filter
def date_time(at: datetime.datetime) -> str:
    """A date and time, without the year if it is this one: 22 Nov, 19:44."""
    local = timezone.localtime(at)
    is_this_year = local.year == timezone.localdate().year
    return str(formats.date_format(local, "SHORT_DATETIME_FORMAT" if is_this_year else "DATETIME_FORMAT"))


@register.simple_tag
def gap() -> str:
    """The space between two sentences, which Chinese does without."""
    return "" if (get_language() or "").startswith("zh") else " "


@register.simple_tag(takes_context=True)
def is_loopback(context: Mapping[str, Any]) -> bool:
    """Whether the page was asked for at an address of this machine that no other can reach."""
    host = urlsplit(f"//{context['request'].get_host()}").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


@register.filter
def setup(profile: Profile) -> str:
    """What a profile may do and how it plans."""
    sentences, rules = setup_of(profile)
    return " · ".join([gap().join(sentences), *rules])


@register.filter
def zoned(at: datetime.datetime) -> str:
    """The same with year and time zone, for pages that are read anywhere and later."""
    local = timezone.localtime(at)
    return f"{formats.date_format(local, 'DATETIME_FORMAT')} {local:%Z}"


@register.simple_tag
def zoned_time(at: datetime.datetime) -> SafeString:
    """The same, which static/js/local-times.js shows in the zone of a visitor."""
    return format_html("<time{}>{}</time>", _exactly(at), zoned(at))


@register.simple_tag
def when(at: datetime.datetime, style: str = "when") -> SafeString:
    """A time, which static/js/times.js shows as "2 min ago" while it is recent."""
    return format_html('<time class="{}"{} data-recent>{}</time>', style, _exactly(at), date_time(at))


@register.simple_tag
def dated(at: datetime.datetime, style: str) -> SafeString:
    """A time that stays as it is written."""
    return format_html('<time class="{}"{}>{}</time>', style, _exactly(at), date_time(at))


@register.simple_tag
def clock(at: datetime.datetime, since: datetime.datetime) -> SafeString:
    """A time of day to the second, for lists of what happened `since` then; on another day with its date."""
    if timezone.localdate(at) != timezone.localdate(since):
        return format_html("<time{}>{}</time>", _exactly(at), date_time(at))
    return format_html("<time data-clock{}>{}</time>", _exactly(at), f"{timezone.localtime(at):%H:%M:%S}")


def _exactly(at: datetime.datetime) -> SafeString:
    local, utc = timezone.localtime(at), at.astimezone(datetime.UTC)
    title = f"{formats.date_format(local, 'DATE_FORMAT')} {local:%H:%M:%S}"
    return format_html(' datetime="{}" title="{}"', f"{utc:%Y-%m-%dT%H:%M:%SZ}", title)
