"""Titles that differ from those of other rows."""

from __future__ import annotations

from itertools import count
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _


def title_of_copy(title: str, others: QuerySet[Any]) -> str:
    """A title for a copy that none of the others has: "Plan (copy)", or else "Plan (copy 2)" and so on."""
    most = others.model._meta.get_field("title").max_length
    for number in count(1):
        form = _("%(title)s (copy)") if number == 1 else _("%(title)s (copy %(number)d)")
        room = most - len(form % {"title": "", "number": number})
        copied = form % {"title": title[:room], "number": number}
        if not others.filter(title=copied).exists():
            break
    return copied
