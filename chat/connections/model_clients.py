"""This process's model clients, cached between turns and replaced when connections change."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import DatabaseError, transaction

from chat.agent import Model, ModelError
from chat.agent.model import Delta, Traits, is_local, known_traits
from chat.connections.endpoint import Endpoint, InsecureError, endpoint_of
from chat.database import in_database
from chat.models import ModelSettings, Profile, Turn
from chat.models.profile import model_name_of
from chat.models.secrets import SecretUnreadableError

if TYPE_CHECKING:
    from chat.agent.model.chat_model import ChatModel

log = logging.getLogger(__name__)

_NOTHING: tuple[Delta, ...] = ()


@dataclass(frozen=True)
class UnavailableModel:
    """Stands for a model that cannot be used; every request fails with the reason."""

    kind: str
    values: Mapping[str, Any]

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        for delta in _NOTHING:  # makes it an async generator, as the protocol requires
            yield delta
        raise ModelError(self.kind, **self.values)


_cache: dict[tuple[int | None, str], tuple[Endpoint, ChatModel]] = {}
_retired: list[ChatModel] = []  # running turns may still use them
_lock = threading.Lock()
_saving: set[asyncio.Task[None]] = set()


def model_for(profile: Profile) -> Model:
    """The profile's model; one that cannot be used says so when called. Reads rows."""
    connection = profile.connection
    if profile.is_lost:
        return UnavailableModel("lost", {"name": profile.model})
    name = profile.model or ("" if connection else settings.MODEL_NAME)
    if connection and profile.owner_id and connection.owner_id not in (None, profile.owner_id):
        return UnavailableModel("foreign", {"profile": profile.title})
    if not name:
        return UnavailableModel("unchosen", {"profile": profile.title, "name": str(connection)})
    try:
        return _model_at(endpoint_of(connection), name)
    except SecretUnreadableError:
        return UnavailableModel("sealed", {"name": str(connection)})
    except InsecureError:
        return UnavailableModel("insecure", {"name": str(connection)})


def new_model(endpoint: Endpoint, name: str) -> ChatModel:
    """A client that is not cached: the caller closes it. Reads rows."""
    return _create(endpoint, name, traits_of(endpoint, name))


def sees_images(profile: Profile) -> bool:
    """False if the profile's model is known not to see images. Reads rows."""
    connection = profile.connection
    endpoint = Endpoint(connection.pk, base_url=connection.base_url) if connection else endpoint_of(None)
    return traits_of(endpoint, model_name_of(profile)).images


def traits_of(endpoint: Endpoint, name: str) -> Traits:
    """The model's traits: as shipped, then as learned, then as a user set them. Reads rows."""
    traits = site_traits(endpoint.base_url or "", name)
    try:
        row = ModelSettings.objects.filter(connection=endpoint.connection, model=name).first()
    except DatabaseError as error:  # `doctor` checks models even if the database is down
        log.warning("the settings of %s cannot be read: %s", name, error)
        return traits
    return apply_traits(traits, row.learned, row.traits) if row else traits


def site_traits(base_url: str, name: str) -> Traits:
    traits = known_traits(base_url, name)
    local = is_local(base_url)
    first = settings.LOCAL_MODEL_FIRST_BYTE_SECONDS if local else settings.MODEL_FIRST_BYTE_SECONDS
    if not (first or settings.MODEL_SILENCE_SECONDS):
        return traits
    silence = settings.MODEL_SILENCE_SECONDS or traits.silence
    return traits.but({"first_byte": first or traits.first_byte_timeout, "silence": silence})


def apply_traits(traits: Traits, *rows: Mapping[str, Any]) -> Traits:
    """The traits with the rows' values, applied in order; invalid rows are skipped."""
    for changes in rows:
        try:
            traits = traits.but(changes)
        except ValueError as error:  # from an older version, or edited by hand
            log.warning("settings of a model are skipped: %s", error)
    return traits


async def close_models() -> None:
    """Close all clients, in the loop that opened them, before the loop ends."""
    if _saving:
        await asyncio.wait(_saving)
    with _lock:
        closing = [*_retired, *(model for _endpoint, model in _cache.values())]
        _retired.clear()
        _cache.clear()
    for model in closing:
        await model.close()


def _model_at(endpoint: Endpoint, name: str) -> ChatModel:
    key, traits = (endpoint.connection, name), traits_of(endpoint, name)
    with _lock:
        kept, model = _cache.get(key, (None, None))
        if model is None or kept != endpoint or model.traits != traits:
            _retired.extend([model] if model else [])
            model = _create(endpoint, name, traits)
            _cache[key] = (endpoint, model)
    return model


def _create(endpoint: Endpoint, name: str, traits: Traits) -> ChatModel:
    from chat.agent.model.chat_model import ChatModel

    return ChatModel(name, **endpoint.client, traits=traits, on_learn=_on_learn(endpoint, name))


def _on_learn(endpoint: Endpoint, name: str) -> Callable[[Mapping[str, Any]], None]:
    def learned(changes: Mapping[str, Any]) -> None:
        writing = in_database(save_learned_traits, endpoint.connection, name, changes)
        task = asyncio.get_running_loop().create_task(writing)
        _saving.add(task)
        task.add_done_callback(_saving.discard)

    return learned


def save_learned_traits(connection: int | None, name: str, changes: Mapping[str, Any]) -> None:
    """Save what was learned of a model, over what was learned before."""
    log.info("learned how to call %s: %s", name, dict(changes))
    try:
        with transaction.atomic():
            rows = ModelSettings.objects.select_for_update()
            row, _create = rows.get_or_create(connection_id=connection, model=name)  # type: ignore[misc] # null
            row.learned = {**row.learned, **changes}
            row.save(update_fields=["learned"])
    except DatabaseError as error:  # e.g. the connection was deleted; it is learned again
        log.warning("what was learned of %s was not saved: %s", name, error)


def settings_of(turn: Turn, model: str) -> ModelSettings | None:
    return ModelSettings.objects.filter(connection=connection_of(turn), model=model).first()


def connection_of(turn: Turn) -> int | None:
    key: int | None = turn.profile_snapshot["connection"]["id"] if turn.profile_snapshot else None
    return key
