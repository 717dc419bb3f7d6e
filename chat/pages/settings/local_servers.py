"""Model servers found on this machine, offered to staff."""

from __future__ import annotations

from contextlib import suppress

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_POST

from chat.agent.prompts import default_name
from chat.connections.endpoint import InsecureError, endpoint_of
from chat.connections.local_servers import LocalServer, known_servers, scan
from chat.connections.model_lists import known_models, save_context_windows
from chat.models import Connection, Preferences, Profile
from chat.models.secrets import SecretUnreadableError
from chat.pages.audience import audience
from chat.pages.settings.trial import language
from chat.pages.signed_in import SignedInRequest


@audience("staff")
@require_POST
async def look_for_servers(request: SignedInRequest) -> HttpResponse:
    if not await scan():
        places = pgettext("list", ", ").join(settings.LOCAL_SERVERS) or "-"
        messages.warning(request, _("No model server found on this machine (%s).") % places)
    return redirect("connections")


@audience("staff")
@require_POST
def use_local_server(request: SignedInRequest) -> HttpResponse:
    server = next((server for server in known_servers() if server.address == request.POST.get("place")), None)
    model = request.POST.get("model", "")
    if server is None or model not in server.models:
        messages.error(request, _("The server or model was not found. Look for local servers again."))
        return redirect("connections")
    return _start_with(request, _default_profile(request.user, _connection(request.user, server), model))


def first_offers(user: User | AnonymousUser) -> list[LocalServer]:
    """The servers to offer on the first page, as long as only the demo would answer."""
    if not settings.DEMO or Connection.offered_to(user).exists():
        return []
    return local_offers(user)


def local_offers(user: User | AnonymousUser) -> list[LocalServer]:
    servers = known_servers() if user.is_staff else []
    if not servers:
        return []
    connected = set(Connection.offered_to(user).values_list("base_url", flat=True))
    return [server for server in servers if server.base_url not in connected]


def _connection(user: User, server: LocalServer) -> Connection:
    row, _made = Connection.objects.update_or_create(
        owner=user,
        base_url=server.base_url,
        defaults={"inside": True},
        create_defaults={"name": server.name or server.address, "inside": True},
    )
    return row


@audience("owner")
@require_POST
def use_model(request: SignedInRequest, connection_id: int) -> HttpResponse:
    row = get_object_or_404(Connection.offered_to(request.user), pk=connection_id)
    model = request.POST.get("model", "").strip()
    if not model or len(model) > 200 or not model.isprintable():
        messages.error(request, _("Choose a model of this connection."))
        return redirect("try_connection", row.pk)
    if request.user.is_staff and "everyone" in request.POST:
        titles = pgettext("list", ", ").join(_use_for_everyone(row, model))
        text = _("%(model)s is now used for everyone, in these profiles: %(titles)s.")
        messages.success(request, text % {"model": model, "titles": titles})
    return _start_with(request, _default_profile(request.user, row, model))


@transaction.atomic
def _use_for_everyone(row: Connection, model: str) -> list[str]:
    """Share the connection, and set the model in everyone's profiles that have no other; their titles."""
    row.owner = None
    row.save(update_fields=["owner", "updated_at"])
    profiles = Profile.everyones_without_other(row)
    profiles.update(connection=row, model=model)
    return list(profiles.values_list("title", flat=True))


def _start_with(request: SignedInRequest, profile: Profile) -> HttpResponse:
    messages.success(request, _("%s is now your default profile.") % profile.title)
    return redirect("new_conversation")


def _default_profile(user: User, connection: Connection, model: str) -> Profile:
    """A profile of the user or everyone with the model, created if missing and set as the user's default."""
    existing = Profile.offered_to(user).filter(connection=connection, model=model).first()
    profile = existing or Profile.objects.create(
        owner=user,
        connection=connection,
        model=model,
        title=_title(model),
        name=default_name(language()),  # another model may answer in its place
        language=language(),
        position=0,
    )
    Preferences.choose(user, profile)
    with suppress(SecretUnreadableError, InsecureError):
        endpoint = endpoint_of(connection)
        save_context_windows(endpoint, known_models(endpoint) or ())
    return profile


def _title(model: str) -> str:
    return model.rstrip("/").rpartition("/")[2][:80] or model[:80]
