"""This process's clients of models: kept from turn to turn, renewed when their connections change."""

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
from chat.models.secrets import SecretUnreadableError

if TYPE_CHECKING:
    from chat.agent.model.chat_model import ChatModel

log = logging.getLogger(__name__)

_NOTHING: tuple[Delta, ...] = ()


@dataclass(frozen=True)
class Unusable:
    """Stands for a model that cannot be asked as things are; each try ends with a sentence that says why."""

    kind: str
    values: Mapping[str, Any]

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        for delta in _NOTHING:  # so that it is a generator, as the streams of models are
            yield delta
        raise ModelError(self.kind, **self.values)


_kept: dict[tuple[int | None, str], tuple[Endpoint, ChatModel]] = {}
_retired: list[ChatModel] = []  # turns may still ask them
_lock = threading.Lock()
_learning: set[asyncio.Task[None]] = set()


def model_for(profile: Profile) -> Model:
    """The model that the profile's agents ask; reads rows.

    What cannot be asked (no model chosen, a key that cannot be read) is a model that says so when asked.
    """
    connection = profile.connection
    name = profile.model or ("" if connection else settings.MODEL_NAME)
    if connection and profile.owner_id and connection.owner_id not in (None, profile.owner_id):
        return Unusable("foreign", {"profile": profile.title})
    if not name:
        return Unusable("unchosen", {"profile": profile.title, "name": str(connection)})
    try:
        return _model_at(endpoint_of(connection), name)
    except SecretUnreadableError:
        return Unusable("sealed", {"name": str(connection)})
    except InsecureError:
        return Unusable("insecure", {"name": str(connection)})


def new_model(endpoint: Endpoint, name: str) -> ChatModel:
    """A client that is not kept: whoever made it closes it. Reads rows."""
    return _made(endpoint, name, traits_of(endpoint, name))


def traits_of(endpoint: Endpoint, name: str) -> Traits:
    """What is known of the model: as shipped, then as learned, then as a person set it. Reads rows."""
    traits = site_traits(endpoint.base_url or "", name)
    try:
        row = ModelSettings.objects.filter(connection=endpoint.connection, model=name).first()
    except DatabaseError as error:  # `doctor` asks models also where the database is what is not well
        log.warning("the settings of %s cannot be read: %s", name, error)
        return traits
    return changed(traits, row.learned, row.traits) if row else traits


def site_traits(base_url: str, name: str) -> Traits:
    """What is known of the model without rows: as shipped, under the site's settings."""
    traits = known_traits(base_url, name)
    local = is_local(base_url)
    first = settings.LOCAL_MODEL_FIRST_BYTE_SECONDS if local else settings.MODEL_FIRST_BYTE_SECONDS
    if not (first or settings.MODEL_SILENCE_SECONDS):
        return traits
    silence = settings.MODEL_SILENCE_SECONDS or traits.silence
    return traits.but({"first_byte": first or traits.patience, "silence": silence})


def changed(traits: Traits, *rows: Mapping[str, Any]) -> Traits:
    """The traits with what rows hold, one after the other; a row that does not fit is passed over."""
    for changes in rows:
        try:
            traits = traits.but(changes)
        except ValueError as error:  # of an older version, or another's hand
            log.warning("settings of a model are passed over: %s", error)
    return traits


async def close_models() -> None:
    """Close the connections to endpoints, in the loop that opened them, ahead of the loop's end."""
    if _learning:
        await asyncio.wait(_learning)
    with _lock:
        closing = [*_retired, *(model for _endpoint, model in _kept.values())]
        _retired.clear()
        _kept.clear()
    for model in closing:
        await model.close()


def _model_at(endpoint: Endpoint, name: str) -> ChatModel:
    place, traits = (endpoint.connection, name), traits_of(endpoint, name)
    with _lock:
        kept, model = _kept.get(place, (None, None))
        if model is None or kept != endpoint or model.traits != traits:
            _retired.extend([model] if model else [])
            model = _made(endpoint, name, traits)
            _kept[place] = (endpoint, model)
    return model


def _made(endpoint: Endpoint, name: str, traits: Traits) -> ChatModel:
    from chat.agent.model.chat_model import ChatModel

    return ChatModel(name, **endpoint.client, traits=traits, on_learn=_on_learn(endpoint, name))


def _on_learn(endpoint: Endpoint, name: str) -> Callable[[Mapping[str, Any]], None]:
    def learned(changes: Mapping[str, Any]) -> None:
        writing = in_database(remember, endpoint.connection, name, changes)
        task = asyncio.get_running_loop().create_task(writing)
        _learning.add(task)
        task.add_done_callback(_learning.discard)

    return learned


def remember(connection: int | None, name: str, changes: Mapping[str, Any]) -> None:
    """Write down what was learned of a model, ahead of what was learned before."""
    log.info("the endpoint taught how to ask %s: %s", name, dict(changes))
    try:
        with transaction.atomic():
            rows = ModelSettings.objects.select_for_update()
            row, _made = rows.get_or_create(connection_id=connection, model=name)  # type: ignore[misc] # null
            row.learned = {**row.learned, **changes}
            row.save(update_fields=["learned"])
    except DatabaseError as error:  # a connection that was deleted meanwhile, say; it is learned again
        log.warning("what was learned of %s is not kept: %s", name, error)


def settings_of(turn: Turn, model: str) -> ModelSettings | None:
    """The settings of a model where the turn's profile asks it; None where nobody made any."""
    return ModelSettings.objects.filter(connection=connection_of(turn), model=model).first()


def connection_of(turn: Turn) -> int | None:
    """The key of the connection that the turn began with; None for the environment's endpoint."""
    key: int | None = turn.profile_snapshot["connection"]["id"] if turn.profile_snapshot else None
    return key
