"""The offer of a model server on this machine, to the staff of the site."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.connections.local_servers import LocalServer, found, look
from chat.models import Connection
from chat.pages.settings.choosing import begin_with, profile_on
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
