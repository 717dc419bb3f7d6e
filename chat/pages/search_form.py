"""The form above the list of conversations: a box for words, and what narrows the list."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _

from chat.models import Profile
from chat.search.conversation_filter import ConversationFilter
from chat.search.query import MAX_LENGTH

STATUSES = [
    ("", _("Any status")),
    ("running", _("Running")),
    ("waiting", _("Waiting for you")),
    ("completed", _("Completed")),
    ("stopped", _("Stopped")),
    ("failed", _("Failed")),
    ("interrupted", _("Interrupted")),
]
TODOS = [("", _("With or without a plan")), ("some", _("Has a plan")), ("unfinished", _("Unfinished plan"))]
# Days that every calendar and database can tell.
DAYS = [MinValueValidator(datetime.date(1970, 1, 1)), MaxValueValidator(datetime.date(9000, 1, 1))]


def _day(label: Any) -> forms.DateField:
    picker = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    return forms.DateField(label=label, required=False, widget=picker, validators=DAYS)


class SearchForm(forms.Form):
    """Sent by GET, so that what is shown has an address. A wrong field narrows nothing, and says so."""

    q = forms.CharField(
        label=_("Search"),
        required=False,
        widget=forms.TextInput(
            attrs={
                "type": "search",
                "maxlength": MAX_LENGTH,
                "placeholder": _("Titles, messages, to-dos, tool calls, files"),
                "autocomplete": "off",
                "aria-keyshortcuts": "/ Control+K",
            }
        ),
    )
    status = forms.ChoiceField(label=_("Status"), required=False, choices=STATUSES)
    todos = forms.ChoiceField(label=_("Plan"), required=False, choices=TODOS)
    profile = forms.IntegerField(
        label=_("Profile"), required=False, min_value=1, max_value=2**63 - 1, widget=forms.Select
    )

    use_required_attribute = False

    def __init__(self, data: Any) -> None:
        super().__init__(data, auto_id="search-%s")
        # `from` cannot be the name of an attribute.
        self.fields |= {"from": _day(_("From")), "to": _day(_("To"))}

    def offer(self, profiles: Iterable[Profile]) -> None:
        """Let these be chosen from."""
        offered = [(profile.pk, profile.title) for profile in profiles]
        self.fields["profile"].widget.choices = [("", _("Any profile")), *offered]

    @property
    def filters(self) -> list[forms.BoundField]:
        """Every field but the box."""
        return [self[name] for name in ("status", "todos", "profile", "from", "to")]

    def narrowing(self) -> ConversationFilter:
        """What was asked for, as far as it could be understood."""
        self.is_valid()
        asked = self.cleaned_data
        return ConversationFilter(
            status=asked.get("status", ""),
            todos=asked.get("todos", ""),
            profile=asked.get("profile"),
            first=asked.get("from"),
            last=asked.get("to"),
        )
