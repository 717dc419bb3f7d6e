"""The user's preferences."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from chat.models import Preferences, Profile
from chat.pages.signed_in import SignedInRequest


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg] # not subscriptable as it runs
    class Meta:
        model = Preferences
        fields = ("default_profile", "name_conversations")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["default_profile"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 (as the model has it)
        field.queryset = Profile.offered_to(self.instance.user)
        field.label = gettext_lazy("Default profile")
        field.empty_label = _("The first profile")
        self.fields["name_conversations"].label = gettext_lazy("Let the model name conversations")


@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: SignedInRequest) -> HttpResponse:
    row = Preferences.objects.filter(user=request.user).first() or Preferences(user=request.user)
    form = PreferencesForm(request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Preferences saved."))
        return redirect("preferences")
    context = {"section": "preferences", "form": form}
    return render(request, "settings/preferences.html", context, status=400 if form.errors else 200)
