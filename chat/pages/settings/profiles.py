"""The user's profiles."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.models import Preferences, Profile
from chat.models.titles import title_of_copy
from chat.pages.audience import audience
from chat.pages.settings.connections import listed_models
from chat.pages.settings.profile_form import ProfileForm
from chat.pages.signed_in import SignedInRequest


@audience("signed_in")
@require_safe
def profiles(request: SignedInRequest) -> HttpResponse:
    return list_page(request)


@audience("signed_in")
@require_http_methods(["GET", "HEAD", "POST"])
def add_profile(request: SignedInRequest) -> HttpResponse:
    language = Profile.Language.CHINESE if get_language().startswith("zh") else Profile.Language.ENGLISH
    initial: dict[str, Any] = {"language": language}
    if usual := Preferences.profile_of(request.user):
        initial |= {"connection": usual.connection_id, "model": usual.model}
    form = ProfileForm(request.POST or None, initial=initial, user=request.user)
    if request.method == "POST" and form.is_valid():
        return _save(request, form)
    return form_page(request, form)


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: SignedInRequest, profile_id: int) -> HttpResponse:
    row = get_object_or_404(Profile.changeable_by(request.user), pk=profile_id)
    form = ProfileForm(request.POST or None, instance=row, user=request.user)
    if request.method == "POST" and form.is_valid():
        return _save(request, form)
    return form_page(request, form, profile=Profile.objects.get(pk=row.pk))


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
def duplicate_profile(request: SignedInRequest, profile_id: int) -> HttpResponse:
    """The form to add a profile, filled in with what another has."""
    offered = Profile.offered_to(request.user)
    row = get_object_or_404(offered, pk=profile_id)
    copy = row.copy_for(request.user, title_of_copy(row.title, offered))
    form = ProfileForm(request.POST or None, instance=copy, user=request.user)
    if request.method == "POST" and form.is_valid():
        return _save(request, form)
    return form_page(request, form, original=row)


@audience("owner")
@require_POST
def prefer_profile(request: SignedInRequest, profile_id: int) -> HttpResponse:
    row = get_object_or_404(Profile.offered_to(request.user), pk=profile_id)
    Preferences.choose(request.user, row)
    messages.success(request, _("%s is now your default profile.") % row.title)
    return redirect("profiles")


@audience("owner")
@require_POST
def delete_profile(request: SignedInRequest, profile_id: int) -> HttpResponse:
    """Delete a profile; conversations keep their snapshots of it."""
    row = get_object_or_404(Profile.changeable_by(request.user), pk=profile_id)
    row.delete()
    messages.success(request, _("“%s” deleted.") % row.title)
    return redirect("profiles")


def list_page(request: SignedInRequest, refusal: str = "") -> HttpResponse:
    preferred = Preferences.profile_of(request.user)
    context = {
        "section": "profiles",
        "profiles": Profile.offered_to(request.user).select_related("connection"),
        "changeable": set(Profile.changeable_by(request.user).values_list("pk", flat=True)),
        "preferred": preferred.pk if preferred else None,
        "model_of_environment": settings.MODEL_NAME,
        "refusal": refusal,
    }
    return render(request, "settings/profiles.html", context, status=400 if refusal else 200)


def form_page(request: SignedInRequest, form: ProfileForm, **more: Any) -> HttpResponse:
    context = {"section": "profiles", "form": form, **more}
    return render(request, "settings/profile.html", context, status=400 if form.errors else 200)


def _save(request: SignedInRequest, form: ProfileForm) -> HttpResponse:
    row = form.save()
    messages.success(request, _("“%s” saved. Applies from the next turn.") % row.title)
    listed = listed_models(row.connection) if row.model else []
    if listed and row.model not in listed:
        message = _("The endpoint does not list the model %s. Check its name if the agent gets no reply.")
        messages.warning(request, message % row.model)
    return redirect("profiles")
