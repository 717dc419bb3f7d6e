"""The models that a connection lists, for whoever is about to choose one."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import aget_object_or_404, render
from django.views.decorators.http import require_safe

from chat.agent.model import ModelError
from chat.agent.model.trial import conversational
from chat.connections.endpoint import InsecureError, endpoint_of
from chat.connections.model_lists import known_models, models_of
from chat.models import Connection
from chat.models.seal import SealBrokenError
from chat.pages.signed_in import SignedInRequest


def listed_models(connection: Connection | None) -> list[str]:
    """What this process knows of the list; nothing is asked for that."""
    try:
        return [model.name for model in known_models(endpoint_of(connection)) or ()]
    except (SealBrokenError, InsecureError):
        return []


@require_safe
async def models_of_connection(request: SignedInRequest, connection_id: int) -> HttpResponse:
    """The list as options of a field, asked for unless it is known; empty where there is none."""
    offered = Connection.offered_to(await request.auser()).select_related("owner")
    row = await aget_object_or_404(offered, pk=connection_id)
    return render(request, "settings/_models.html", {"models": await _names(row)})


@require_safe
async def models_of_environment(request: SignedInRequest) -> HttpResponse:
    """The same of the environment's endpoint, which everybody may choose."""
    return render(request, "settings/_models.html", {"models": await _names(None)})


async def _names(row: Connection | None) -> list[str]:
    try:
        return conversational([model.name for model in await models_of(endpoint_of(row))])
    except (ModelError, SealBrokenError, InsecureError):
        return []  # whoever tests the connection learns why
