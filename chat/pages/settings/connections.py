"""The user's connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import RestrictedError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import aget_object_or_404, get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.agent.model import ModelError
from chat.agent.model.trial import conversational
from chat.connections.endpoint import InsecureError, endpoint_of
from chat.connections.model_lists import known_models, models_of
from chat.live.broadcast import publish_regions
from chat.models import Connection, Conversation, ModelSettings
from chat.models.conversation_queries import ConversationQuerySet
from chat.models.profile import bare_address
from chat.models.secrets import SecretUnreadableError
from chat.pages.audience import audience
from chat.pages.settings.connection_form import KNOWN_ADDRESSES, ConnectionForm
from chat.pages.settings.local_servers import local_offers
from chat.pages.settings.trial import START_KEY
from chat.pages.signed_in import SignedInRequest


@audience("signed_in")
@require_safe
def connections(request: SignedInRequest) -> HttpResponse:
    """All connections that the user may choose; links only to those the user may change."""
    changeable = set(Connection.changeable_by(request.user).values_list("pk", flat=True))
    offered = list(Connection.offered_to(request.user).prefetch_related("profiles"))
    here = environment()
    context = {
        "section": "connections",
        "models": _models_of(here) if request.user.is_staff and not here.is_demo else [],
        "listed": listed_models(None),
        "own": [row for row in offered if row.owner_id is not None],
        "everyones": [row for row in offered if row.owner_id is None],
        "changeable": changeable,
        "environment": here,
        "may_connect": may_connect(request.user),
        "local_servers": local_offers(request.user),
    }
    return render(request, "settings/connections.html", context)


@audience("signed_in")
@sensitive_post_parameters("key", "headers")
@require_http_methods(["GET", "HEAD", "POST"])
def add_connection(request: SignedInRequest) -> HttpResponse:
    _check_may_connect(request)
    form = ConnectionForm(request.POST or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        row = form.save()
        request.session[START_KEY] = row.pk
        return redirect("try_connection", row.pk)
    return _form_page(request, form)


@audience("owner")
@sensitive_post_parameters("key", "headers")
@require_http_methods(["GET", "HEAD", "POST"])
def connection(request: SignedInRequest, connection_id: int) -> HttpResponse:
    _check_may_connect(request)
    row = get_object_or_404(Connection.changeable_by(request.user), pk=connection_id)
    form = ConnectionForm(request.POST or None, instance=row, user=request.user)
    if request.method == "POST" and form.is_valid():
        return _save(request, form)
    fresh = Connection.objects.get(pk=row.pk)
    more = {"models": _models(fresh), "listed": listed_models(fresh), "used_by": _used_by(fresh)}
    return _form_page(request, form, connection=fresh, consequence=_consequence(request.user, fresh), **more)


@audience("owner")
@require_POST
def delete_connection(request: SignedInRequest, connection_id: int) -> HttpResponse:
    row = get_object_or_404(Connection.changeable_by(request.user), pk=connection_id)
    using = list(_chosen_in(row))
    try:
        row.delete()
    except RestrictedError:
        return redirect("connection", row.pk)
    for each in using:
        async_to_sync(publish_regions)(each.pk, "profile")
    messages.success(request, _("“%s” deleted.") % row.name)
    return redirect("connections")


def may_connect(user: User) -> bool:
    return settings.USER_CONNECTIONS or user.is_staff


def connect_url(user: User) -> str:
    """Where the user connects a model."""
    return reverse("add_connection" if may_connect(user) else "connections")


def _check_may_connect(request: SignedInRequest) -> None:
    if not may_connect(request.user):
        raise Http404


def _save(request: SignedInRequest, form: ConnectionForm) -> HttpResponse:
    row = form.save()
    if form.cleared:
        message = _("The address has changed, so the key and headers for the old one were removed.")
        messages.warning(request, message)
        return redirect("connection", row.pk)
    messages.success(request, _("“%s” saved.") % row.name)
    if form.needs_test:
        request.session[START_KEY] = row.pk
        return redirect("try_connection", row.pk)
    return redirect("connections")


def _used_by(row: Connection) -> str:
    """The titles of the profiles that use it."""
    return pgettext("list", ", ").join(row.profiles.values_list("title", flat=True))


def _chosen_in(row: Connection) -> ConversationQuerySet:
    """The conversations for which one of its models was chosen apart from their profile."""
    return Conversation.objects.filter(model__connection=row)


MAX_NAMED = 5  # conversations in the question before a connection is deleted


def _consequence(user: User, row: Connection) -> str:
    """What its deletion means for conversations; names those of the user."""
    count = _chosen_in(row).count()
    if not count:
        return ""
    titles = _chosen_in(row).visible_to(user).values_list("title", flat=True)[:MAX_NAMED]
    quoted = pgettext("list", ", ").join(_("“%s”") % title for title in titles)
    sentence = ngettext(
        "%(count)s conversation uses it and will ask for another model before the next message%(named)s.",
        "%(count)s conversations use it and will ask for another model before the next message%(named)s.",
        count,
    )
    return sentence % {"count": count, "named": _(": %s") % quoted if quoted else ""}


def _models_of(here: EnvironmentConnection) -> list[str]:
    return sorted(
        {here.model, *ModelSettings.objects.filter(connection=None).values_list("model", flat=True)}
    )


def _models(row: Connection) -> list[str]:
    used = row.profiles.exclude(model="").values_list("model", flat=True)
    return sorted({*used, *row.models.values_list("model", flat=True)})


@sensitive_variables("form")
def _form_page(request: HttpRequest, form: ConnectionForm, **more: Any) -> HttpResponse:
    context = {"section": "connections", "form": form, "known_addresses": KNOWN_ADDRESSES, **more}
    status = 400 if form.errors else 200
    return render(request, "settings/connection.html", context, status=status)


def listed_models(connection: Connection | None) -> list[str]:
    """The cached model list; makes no request."""
    try:
        return [model.name for model in known_models(endpoint_of(connection)) or ()]
    except (SecretUnreadableError, InsecureError):
        return []


@audience("signed_in")
@require_safe
async def offered_models(request: SignedInRequest) -> HttpResponse:
    """The models of `connection` as options of a field, fetched unless cached; empty if there are none."""
    names = await listed_names(await connection_in_query(request))
    return render(request, "settings/_models.html", {"models": names})


async def connection_in_query(request: SignedInRequest) -> Connection | None:
    """The URL's `connection`; None, without one, for the environment's endpoint, which every user may use."""
    chosen = request.GET.get("connection", "")
    if not chosen:
        return None
    offered = Connection.offered_to(await request.auser()).select_related("owner")
    key = int(chosen) if chosen.isdecimal() and len(chosen) < 19 else 0
    return await aget_object_or_404(offered, pk=key)


async def listed_names(row: Connection | None) -> list[str]:
    """The names of the endpoint's models for conversations, fetched unless cached."""
    try:
        return conversational([model.name for model in await models_of(endpoint_of(row))])
    except (ModelError, SecretUnreadableError, InsecureError):
        return []  # the connection's test shows the reason


OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class EnvironmentConnection:
    address: str
    model: str
    has_key: bool
    is_demo: bool


def environment() -> EnvironmentConnection:
    address = bare_address(settings.MODEL_BASE_URL or OPENAI)
    return EnvironmentConnection(address, settings.MODEL_NAME, bool(settings.MODEL_API_KEY), settings.DEMO)
