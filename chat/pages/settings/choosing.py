"""From a model that answers to a profile on it."""

from __future__ import annotations

from contextlib import suppress

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.connections.endpoint import InsecureError, endpoint_of
from chat.connections.model_lists import known_models
from chat.connections.windows import keep_windows
from chat.models import Connection, Preferences, Profile
from chat.models.seal import SealBrokenError
from chat.pages.settings.trial import language
from chat.pages.signed_in import SignedInRequest


@require_POST
def use_model(request: SignedInRequest, connection_id: int) -> HttpResponse:
    """Make a profile on a model of the connection, and begin with it."""
    row = get_object_or_404(Connection.offered_to(request.user), pk=connection_id)
    model = request.POST.get("model", "").strip()
    if not model or len(model) > 200 or not model.isprintable():
        messages.error(request, _("Choose a model of this connection."))
        return redirect("try_connection", row.pk)
    return begin_with(request, profile_on(request.user, row, model))


def begin_with(request: SignedInRequest, profile: Profile) -> HttpResponse:
    """Lead to a new conversation with the profile, and say what happened."""
    messages.success(request, _("%s is now your default profile.") % profile.title)
    return redirect("new_conversation")


def profile_on(user: User, connection: Connection, model: str) -> Profile:
    """The person's profile on the model, made if there is none; from now on it is their first choice."""
    owned = Profile.objects.filter(owner=user, connection=connection, model=model).first()
    profile = owned or Profile.objects.create(
        owner=user, connection=connection, model=model, title=_title(model), language=language(), position=0
    )
    Preferences.choose(user, profile)
    with suppress(SealBrokenError, InsecureError):
        endpoint = endpoint_of(connection)
        keep_windows(endpoint, known_models(endpoint) or ())
    return profile


def _title(model: str) -> str:
    """The model's own name, without who made it."""
    return model.rstrip("/").rpartition("/")[2][:80] or model[:80]
