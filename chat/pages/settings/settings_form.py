"""The base of the forms in the settings, with optimistic locking."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.debug import sensitive_variables

_signer = Signer(salt="settings form")


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg] # not subscriptable as it runs
    """Refuses to overwrite values that were saved after its page was drawn.

    The page posts the values that it was drawn with in a hidden field, `shown`. If others are saved now, the
    form is invalid: fields that the user edited keep what was entered, the others show the saved values.
    Saving again then overwrites. A form without a valid `shown` is saved without this check.
    """

    changed_meanwhile: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The saved values, signed."""
        return _signer.sign_object({name: self._saved(name) for name in self.fields}, compress=True)

    def full_clean(self) -> None:
        if isinstance(self.data, QueryDict) and "shown" in self.data:
            self.data = self._with_what_was_saved(self.data)
        super().full_clean()

    def clean(self) -> dict[str, Any]:
        if self.changed_meanwhile:
            message = _(
                "This was changed elsewhere while the form was open: %(fields)s. Fields that you changed "
                "keep what you entered; the others now show what is saved. Check them and save again."
            )
            fields = pgettext("list", ", ").join(str(self[name].label) for name in self.changed_meanwhile)
            self.add_error(None, ValidationError(message, params={"fields": fields}))
        return super().clean() or self.cleaned_data

    @sensitive_variables()
    def _with_what_was_saved(self, data: QueryDict) -> QueryDict:
        try:
            shown = _signer.unsign_object(str(data["shown"]))
        except BadSignature:
            return data
        sent = {name: _as_sent(self[name].data) for name in self.fields}
        saved = {name: self._saved(name) for name in self.fields}
        before = {name: shown.get(name, sent[name]) for name in self.fields}  # it may have had fewer fields
        self.changed_meanwhile = tuple(
            name for name in self.fields if saved[name] not in (before[name], sent[name])
        )
        merged = data.copy()
        for name in self.changed_meanwhile:
            if sent[name] == before[name]:
                merged.setlist(name, saved[name])
        return merged

    def _saved(self, name: str) -> list[str]:
        field = self.fields[name]
        return _as_sent(field.prepare_value(self.get_initial_for_field(field, name)))


def _as_sent(value: Any) -> list[str]:
    """A value as texts; order, line ends and blanks around it make no difference."""
    values = value if isinstance(value, list) else ["" if value is None or value is False else value]
    return sorted("\n".join(str(each).split("\r\n")).strip() for each in values)
