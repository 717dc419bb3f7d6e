"""What is set for one model of a connection."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from chat.connections.model_clients import changed, site_traits
from chat.models import Connection, ModelSettings
from chat.pages.settings.model_settings_form import ModelSettingsForm
from chat.pages.settings.surroundings import environment
from chat.pages.signed_in import SignedInRequest


@require_http_methods(["GET", "HEAD", "POST"])
def model_settings(request: SignedInRequest, connection_id: int) -> HttpResponse:
    """The settings of the model that `?name=` names."""
    row = get_object_or_404(Connection.changeable_by(request.user), pk=connection_id)
    return _model_settings(request, row, row.base_url)


@require_http_methods(["GET", "HEAD", "POST"])
def model_settings_of_environment(request: SignedInRequest) -> HttpResponse:
    """The same for a model of the environment's endpoint, which the staff looks after."""
    if not request.user.is_staff:
        raise Http404
    return _model_settings(request, None, environment().address)


def _model_settings(request: SignedInRequest, connection: Connection | None, base_url: str) -> HttpResponse:
    name = request.GET.get("name", "").strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise Http404
    row = ModelSettings.objects.filter(connection=connection, model=name).first()
    row = row or ModelSettings(connection=connection, model=name)
    if request.method == "POST" and "forget" in request.POST:
        return _forget(request, row)
    known = changed(site_traits(base_url, name), row.learned)
    form = ModelSettingsForm(request.POST or None, instance=row, known=known)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("%s saved.") % name)
        return redirect("connection", connection.pk) if connection else redirect("connections")
    context = {"section": "connections", "connection": connection, "row": row, "form": form}
    return render(request, "settings/model_settings.html", context, status=400 if form.errors else 200)


def _forget(request: SignedInRequest, row: ModelSettings) -> HttpResponse:
    """Let go of what the endpoint's errors taught; it is learned again where it still holds."""
    if row.pk:
        row.learned = {}
        row.save(update_fields=["learned"])
    return redirect(request.get_full_path())
