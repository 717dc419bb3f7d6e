"""How long something has gone on, as a clock: the page's script counts on from there."""

from __future__ import annotations

import datetime

from django import template
from django.utils import formats, timezone

register = template.Library()


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
