"""The user's preferences, and what the browser tells about itself."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language_from_request, gettext_lazy, override
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.models import Preferences, Profile
from chat.models.account import Reader, time_zones
from chat.pages.audience import audience
from chat.pages.settings.settings_form import SettingsForm
from chat.pages.signed_in import SignedInRequest


class PreferencesForm(SettingsForm):
    class Meta:
        model = Preferences
        fields = ("language", "theme", "time_zone", "default_profile", "name_conversations")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["default_profile"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 (as the model has it)
        field.queryset = Profile.offered_to(self.instance.user)
        field.label = gettext_lazy("Default profile")
        first = field.queryset.order_by("position", "pk").first()
        field.empty_label = _("First on the list (%(title)s)") % {"title": first.title} if first else "—"
        self.fields["name_conversations"].label = gettext_lazy("Let the model name conversations")
        zone = self.instance.browser_time_zone or settings.TIME_ZONE
        of_browser = _("Same as the browser (%(time_zone)s)") % {"time_zone": zone}
        self._offer("language", _("Language"), [("", _("Same as the browser")), *settings.LANGUAGES])
        self._offer("theme", _("Theme"), [("", _("System")), *Preferences.Theme.choices])
        self._offer("time_zone", _("Time zone"), [("", of_browser), *_named_zones()])

    def _offer(self, name: str, label: str, choices: list[tuple[str, Any]]) -> None:
        self.fields[name] = forms.ChoiceField(label=label, choices=choices, required=False)


def _named_zones() -> list[tuple[str, str]]:
    """Zones of places, without aliases such as `Etc/GMT+8` and `US/Pacific`."""
    places = ("Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/")
    named = sorted(zone for zone in time_zones() if zone.startswith((*places, "Pacific/")))
    return [(zone, zone.replace("_", " ")) for zone in ["UTC", *named]]


@audience("signed_in")
@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: SignedInRequest) -> HttpResponse:
    row = Preferences.objects.filter(user=request.user).first() or Preferences(user=request.user)
    form = PreferencesForm(request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid():
        form.save()
        with override(row.language or get_language_from_request(request)):
            messages.success(request, _("Preferences saved."))
        return redirect("preferences")
    context = {"section": "preferences", "form": form}
    return render(request, "settings/preferences.html", context, status=400 if form.errors else 200)


@audience("signed_in")
@require_POST
def browser(request: SignedInRequest) -> HttpResponse:
    """Keep the language and time zone of the browser; static/js/reader.js sends them when they change.

    The status is 205 if the user's pages now show times in another zone, else 204.
    """
    time_zone = request.POST.get("time_zone", "")
    if time_zone not in time_zones():
        time_zone = ""
    before = Reader.of(request.user)
    Preferences.keep_browser(request.user, get_language_from_request(request), time_zone)
    return HttpResponse(status=204 if Reader.of(request.user).time_zone == before.time_zone else 205)


def reader(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the user's preferences, and the time zone that is kept of this browser.

    It is empty if the browser now asks for another language.
    """

    def browser_zone() -> str:
        kept = Preferences.of(request.user)
        if get_language_from_request(request) != (kept.browser_language or settings.LANGUAGE_CODE):
            return ""
        return kept.browser_time_zone or settings.TIME_ZONE

    return {
        "preferences": SimpleLazyObject(lambda: Preferences.of(request.user)),
        "browser_zone": SimpleLazyObject(browser_zone),
    }
