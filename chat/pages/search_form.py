"""The search form and the filters above the list of conversations."""

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
TODOS = [("", _("Any or none")), ("some", _("Has a plan")), ("unfinished", _("Unfinished plan"))]
# Dates that every browser and database supports.
DAYS = [MinValueValidator(datetime.date(1970, 1, 1)), MaxValueValidator(datetime.date(9000, 1, 1))]


def _day(label: Any) -> forms.DateField:
    picker = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    return forms.DateField(label=label, required=False, widget=picker, validators=DAYS)


class SearchForm(forms.Form):
    """Sent by GET, so results have a URL. An invalid filter is ignored and its error shown."""

    q = forms.CharField(
        label=_("Search"),
        required=False,
        widget=forms.TextInput(
            attrs={
                "type": "search",
                "maxlength": MAX_LENGTH,
                "placeholder": _("Titles, messages, to-dos, tool calls, files"),
                "autocomplete": "off",
                "aria-keyshortcuts": "/",
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
        offered = [(profile.pk, profile.title) for profile in profiles]
        self.fields["profile"].widget.choices = [("", _("Any profile")), *offered]

    def clean(self) -> dict[str, Any]:
        first, last = self.cleaned_data.get("from"), self.cleaned_data.get("to")
        if first and last and last < first:
            del self.cleaned_data["to"]
            self.add_error(None, _("“To” is before “From”, so it is ignored."))
        return self.cleaned_data

    @property
    def filters(self) -> list[forms.BoundField]:
        return [self[name] for name in ("status", "todos", "profile", "from", "to")]

    def conversation_filter(self) -> ConversationFilter:
        self.is_valid()
        data = self.cleaned_data
        return ConversationFilter(
            status=data.get("status", ""),
            todos=data.get("todos", ""),
            profile=data.get("profile"),
            first=data.get("from"),
            last=data.get("to"),
        )
