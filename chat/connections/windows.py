"""The sizes of context windows that endpoints tell along with their lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.conf import settings

from chat.connections.endpoint import Endpoint
from chat.connections.model_clients import remember
from chat.models import ModelSettings, Profile

if TYPE_CHECKING:
    from chat.agent.model.listing import ListedModel


def keep_windows(endpoint: Endpoint, listed: Iterable[ListedModel]) -> None:
    """Write down the windows of the models that profiles use; lists have hundreds that nobody does."""
    used = set(Profile.objects.filter(connection=endpoint.connection).values_list("model", flat=True))
    if endpoint.connection is None:
        used.add(settings.MODEL_NAME)
    rows = ModelSettings.objects.filter(connection=endpoint.connection, model__in=used)
    known = {row.model: row.learned.get("context_window") for row in rows}
    for model in listed:
        if model.name in used and model.context_window and known.get(model.name) != model.context_window:
            remember(endpoint.connection, model.name, {"context_window": model.context_window})
