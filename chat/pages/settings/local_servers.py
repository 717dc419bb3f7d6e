"""The offer of a model server on this machine, to the staff of the site."""

from __future__ import annotations

from contextlib import suppress

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.connections.endpoint import InsecureError, endpoint_of
from chat.connections.local_servers import LocalServer, found, look
from chat.connections.model_lists import keep_windows, known_models
from chat.models import Connection, Preferences, Profile
from chat.models.secrets import SecretUnreadableError
from chat.pages.settings.trial import language
from chat.pages.signed_in import SignedInRequest


@require_POST
async def look_for_servers(request: SignedInRequest) -> HttpResponse:
    """Look for servers now; the list of connections shows what answered."""
    if not (await request.auser()).is_staff:
        raise Http404
    if not await look():
        places = ", ".join(settings.LOCAL_SERVERS) or "-"
        messages.info(request, _("No model server found on this machine (%s).") % places)
    return redirect("connections")


@require_POST
def use_local_server(request: SignedInRequest) -> HttpResponse:
    """Make a connection with the server and a profile on one of its models, and begin with it."""
    if not request.user.is_staff:
        raise Http404
    server = next((each for each in found() if each.place == request.POST.get("place")), None)
    model = request.POST.get("model", "")
    if server is None or model not in server.models:
        messages.error(request, _("The server or model was not found. Look for local servers again."))
        return redirect("connections")
    return begin_with(request, profile_on(request.user, _connection(request.user, server), model))


def first_offers(user: User | AnonymousUser) -> list[LocalServer]:
    """What the first page offers: servers, as long as nothing but the demo would answer."""
    if not settings.DEMO or Connection.offered_to(user).exists():
        return []
    return local_offers(user)


def local_offers(user: User | AnonymousUser) -> list[LocalServer]:
    """The servers that were found and that the person might connect, but has not."""
    servers = found() if user.is_staff else []
    if not servers:
        return []
    known = set(Connection.offered_to(user).values_list("base_url", flat=True))
    return [server for server in servers if server.base_url not in known]


def _connection(user: User, server: LocalServer) -> Connection:
    row, _made = Connection.objects.update_or_create(
        owner=user,
        base_url=server.base_url,
        defaults={"inside": True},
        create_defaults={"name": server.name or server.place, "inside": True},
    )
    return row


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
    with suppress(SecretUnreadableError, InsecureError):
        endpoint = endpoint_of(connection)
        keep_windows(endpoint, known_models(endpoint) or ())
    return profile


def _title(model: str) -> str:
    """The model's own name, without who made it."""
    return model.rstrip("/").rpartition("/")[2][:80] or model[:80]
