"""What templates need to tell of plans' figures."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from chat.pages.settings.plans_chart import percent

register = template.Library()
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
