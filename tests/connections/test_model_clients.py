"""Model clients: cached between turns, renewed with their rows, and taught by endpoints' errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chat.agent import Model, ModelError
from chat.agent.model.chat_model import ChatModel
from chat.connections.endpoint import Endpoint
from chat.connections.model_clients import close_models, model_for, traits_of
from chat.demo.reply import Reply, Request
from chat.models import Connection, ModelSettings, Profile
from chat.models.connection import Secrets
from tests.model_server import ScriptedModel

KEY = "sk-clients-0123456789"
QUESTION = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def profile(transactional_db: Any, owner: User, model_server: ScriptedModel) -> Profile:
    """A profile of the owner's on a connection with the scripted model."""
    owner.is_staff = True
    owner.save()
    row = Connection(owner=owner, name="Scripted", base_url=model_server.base_url, inside=True)
    row.seal_secrets(Secrets(KEY))
    row.save()
    return Profile.objects.create(owner=owner, title="Mine", connection=row, model="m")


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    yield
    await close_models()


async def asked(profile: Profile) -> Model:
    fresh = await sync_to_async(Profile.objects.select_related("connection__owner").get)(pk=profile.pk)
    model: Model = await sync_to_async(model_for)(fresh)
    return model


async def say(model: Model, **options: Any) -> None:
    async for _delta in model.stream(QUESTION, [], options):
        pass


async def refusal(profile: Profile) -> str:
    """The kind of error with which it says that it cannot be asked."""
    with pytest.raises(ModelError) as caught:
        await say(await asked(profile))
    return caught.value.kind


async def test_a_client_is_kept_until_its_row_changes(profile: Profile, model_server: ScriptedModel) -> None:
    seen: list[Request] = []
    model_server.answer = lambda request: seen.append(request) or Reply(text="Hi")  # type: ignore[func-returns-value]
    first = await asked(profile)
    assert await asked(profile) is first
    await say(first)
    row = await Connection.objects.aget()
    row.seal_secrets(Secrets("sk-another"))
    await row.asave()
    second = await asked(profile)
    assert second is not first
    await say(second)
    await say(first)  # a turn that began with it ends with it
    keys = [request.headers["authorization"] for request in seen]
    assert keys == [f"Bearer {KEY}", "Bearer sk-another", f"Bearer {KEY}"]


async def test_settings_of_the_model_renew_it(profile: Profile) -> None:
    first = await asked(profile)
    await ModelSettings.objects.acreate(
        connection_id=profile.connection_id, model="m", traits={"images": False}
    )
    second = await asked(profile)
    assert isinstance(second, ChatModel)
    assert second is not first
    assert not second.traits.images


async def test_what_an_endpoint_teaches_outlives_the_process(
    profile: Profile, model_server: ScriptedModel
) -> None:
    said = {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}}

    def answer(request: Request) -> Reply:
        return Reply(status=400, body=said) if "temperature" in request.body else Reply(text="Hi")

    model_server.answer = answer
    await say(await asked(profile), temperature=0.5)
    await close_models()
    row = await ModelSettings.objects.aget()
    assert (row.model, row.learned) == ("m", {"drop_params": ["temperature"]})
    await say(await asked(profile), temperature=0.5)
    assert ["temperature" in request for request in model_server.requests] == [True, False, False]


async def test_no_model_chosen(profile: Profile) -> None:
    await Profile.objects.aupdate(model="")
    assert await refusal(profile) == "unchosen"


async def test_an_address_changed_behind_our_back_gets_nothing(
    profile: Profile, model_server: ScriptedModel
) -> None:
    await Connection.objects.aupdate(base_url=model_server.base_url.replace("127.0.0.1", "localhost"))
    assert await refusal(profile) == "sealed"
    assert model_server.requests == []


async def test_staff_no_more(profile: Profile, model_server: ScriptedModel) -> None:
    await User.objects.aupdate(is_staff=False)
    assert await refusal(profile) == "insecure"
    assert model_server.requests == []


async def test_somebody_elses_connection(profile: Profile, stranger: User) -> None:
    await Profile.objects.aupdate(owner=stranger)
    assert await refusal(profile) == "foreign"


@pytest.mark.parametrize("local", [True, False])
def test_the_site_sets_how_long_models_may_be_silent(db: Any, settings: Any, local: bool) -> None:
    endpoint = Endpoint(None, base_url="http://localhost:11434/v1" if local else "https://models.example/v1")

    def timeouts() -> tuple[float, float]:
        traits = traits_of(endpoint, "any")
        return traits.first_byte_timeout, traits.silence

    assert timeouts() == ((600 if local else 120), 120)
    settings.MODEL_SILENCE_SECONDS = 30
    assert timeouts() == ((600 if local else 120), 30)
    settings.MODEL_FIRST_BYTE_SECONDS, settings.LOCAL_MODEL_FIRST_BYTE_SECONDS = 40, 50
    assert timeouts() == ((50 if local else 40), 30)
    row = ModelSettings.objects.create(model="any", traits={"silence": 900})
    assert timeouts() == (900, 900), "what a user set for one model wins, and holds for its first byte"
    row.traits = {"silence": 900, "first_byte": 5}
    row.save()
    assert timeouts() == (5, 900)
