"""The choice of a model for a conversation, apart from its profile."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from chat.agent.model.trial import conversational
from chat.connections.endpoint import InsecureError, endpoint_of
from chat.connections.model_lists import known_models
from chat.live.broadcast import publish_heading
from chat.models import Connection, Conversation, ModelSettings, Preferences, Profile
from chat.models.profile import bare_address, model_name_of
from chat.models.secrets import SecretUnreadableError
from chat.pages.audience import audience
from chat.pages.conversation import action_refused, action_response, own_conversation
from chat.pages.new_conversation import chosen_model, chosen_profile
from chat.pages.page_or_part import page_or_part
from chat.pages.settings.connections import connection_in_query, listed_names
from chat.pages.signed_in import SignedInRequest

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_MODELS = 500  # of one connection


@dataclass
class ModelGroup:
    """The models known of a connection, or with None of the environment's endpoint.

    `is_listed` says whether the endpoint was asked for its list.
    """

    connection: Connection | None
    models: list[ModelSettings]
    is_listed: bool
    has_namesake: bool  # whether another connection has its name

    @classmethod
    def of(cls, connection: Connection | None, among: Iterable[Connection | None]) -> ModelGroup:
        """The models that rows name, and the endpoint's list if it is cached. Reads rows.

        `among` are the connections that it is shown with.
        """
        try:
            listed = known_models(endpoint_of(connection))
        except (SecretUnreadableError, InsecureError):
            listed = []  # the connection's test shows the reason
        names = dict.fromkeys([*_used(connection), *conversational([each.name for each in listed or ()])])
        models = [ModelSettings(connection=connection, model=name) for name in names]
        alike = [each for each in among if each and connection and each.name == connection.name]
        return cls(connection, models[:MAX_MODELS], listed is not None, len(alike) > 1)

    @property
    def title(self) -> str:
        if self.connection and self.has_namesake:
            return f"{self.connection.name} · {bare_address(self.connection.base_url)}"
        if self.connection:
            return self.connection.name
        return _("Demo") if settings.DEMO else _("Environment")


def _used(connection: Connection | None) -> list[str]:
    """The connection's models that profiles use or that have settings."""
    sources: tuple[QuerySet[Any], ...] = (Profile.objects.exclude(model=""), ModelSettings.objects.all())
    rows = [source.filter(connection=connection).values_list("model", flat=True) for source in sources]
    of_environment = [settings.MODEL_NAME] if connection is None else []
    return [*of_environment, *sorted({name for names in rows for name in names})]


def model_groups(user: User, profile: Profile) -> list[ModelGroup]:
    """The models that the user may choose, those of the profile's connection first."""
    connections = [None, *Connection.offered_to(user).select_related("owner")]
    connections.sort(key=lambda each: (each and each.pk) != profile.connection_id)
    return [ModelGroup.of(connection, connections) for connection in connections]


@audience("signed_in")
@require_safe
def models(request: SignedInRequest) -> HttpResponse:
    """The models to choose from: for `?conversation=`, or for a new one with `?profile=`.

    The page fetches lists that are not cached with `listed_models`.
    """
    conversation = _conversation_of(request)
    profile = profile_without_model(request, conversation)
    context = {"groups": model_groups(request.user, profile), "profile_model": model_name_of(profile)}
    return page_or_part(
        request, "models.html", "partials/_models.html", context | _choice(request, conversation)
    )


@audience("signed_in")
@require_safe
async def listed_models(request: SignedInRequest) -> HttpResponse:
    """The models of `?connection=`, with its endpoint's own list, which is fetched unless cached.

    With `?options=` as options of a `select`, in which `?model=` is selected.
    """
    connection = await connection_in_query(request)
    await request.auser()
    await listed_names(connection)
    return await sync_to_async(_group)(request, connection)


@audience("signed_in")
@require_safe
async def fetch_lists(request: SignedInRequest) -> HttpResponse:
    """Fetch the lists that are not cached, which the palette searches; 204 says that none has come."""
    await request.auser()
    groups = await sync_to_async(lambda: model_groups(request.user, Profile()))()
    unlisted = [group.connection for group in groups if not group.is_listed]
    fetched = await asyncio.gather(*map(listed_names, unlisted))
    return HttpResponse(status=200 if any(fetched) else 204)


def _group(request: SignedInRequest, connection: Connection | None) -> HttpResponse:
    group = ModelGroup.of(connection, Connection.offered_to(request.user))
    group.is_listed = True  # or the page would ask again
    template = "partials/_model_options.html" if "options" in request.GET else "partials/_model_group.html"
    return render(request, template, {"group": group, **_choice(request, _conversation_of(request))})


def _conversation_of(request: SignedInRequest) -> Conversation | None:
    try:
        key = uuid.UUID(request.GET.get("conversation", ""))
    except ValueError:
        return None
    return own_conversation(request, key)


def profile_without_model(request: SignedInRequest, conversation: Conversation | None) -> Profile:
    """The profile whose model is used unless another is chosen."""
    if conversation:
        return Conversation(owner=conversation.owner, profile=conversation.profile).profile_in_use()
    return chosen_profile(request) or Preferences.profile_of(request.user) or Profile()


def _choice(request: SignedInRequest, conversation: Conversation | None) -> dict[str, Any]:
    """The model in use: of the conversation, or of a new one that of `?model=`."""
    chosen = conversation.chosen_model if conversation else chosen_model(request)
    return {"conversation": conversation, "chosen": chosen.choice if chosen else ""}


@audience("owner")
@require_POST
def choose_model(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Set the model, which takes effect with the next turn; a blank one is the profile's."""
    conversation = own_conversation(request, conversation_id)
    choice = request.POST.get("model", "")
    model = ModelSettings.of_choice(request.user, choice)
    if choice and model is None:
        return action_refused(
            request, conversation, _("This model is no longer available. Choose another one.")
        )
    conversation.choose_model(model and model.saved())
    async_to_sync(publish_heading)(conversation)
    return action_response(request, conversation)
