"""Settings of a model: values set override known ones, blank ones stay automatic."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.agent.model import Traits
from chat.agent.model.listing import ListedModel
from chat.connections.endpoint import endpoint_of
from chat.connections.model_clients import traits_of
from chat.connections.model_lists import save_context_windows
from chat.models import Connection, ModelSettings, Profile
from tests.model_server import ScriptedModel
from tests.pages.settings.fields import fields_of

PUBLIC = "https://93.184.216.34/v1"


@pytest.fixture
def mine(owner: User) -> Connection:
    return Connection.objects.create(owner=owner, name="Mine", base_url=PUBLIC)


def where(row: Connection, name: str = "maker/large") -> str:
    return f"/settings/connections/{row.pk}/model/?name={name}"


def save(client: Client, row: Connection, **given: str) -> Any:
    return client.post(where(row), {"currency": "USD", **given})


def traits(row: Connection) -> Traits:
    return traits_of(endpoint_of(row), "maker/large")


def test_what_is_set_goes_ahead(owners: Client, mine: Connection) -> None:
    given = {"context_window": "8192", "images": "false", "silence": "30", "max_tokens_param": "none"}
    answer = save(owners, mine, **given, drop_params="temperature, top_p")
    assert answer.url == f"/settings/connections/{mine.pk}/"
    found = traits(mine)
    assert (found.context_window, found.images, found.silence) == (8192, False, 30)
    assert (found.max_tokens_param, found.drop_params) == ("", ("temperature", "top_p"))
    assert found.tools, "and what is left open is as it is known"
    assert "maker/large" in owners.get(answer.url).content.decode()
    assert 'value="8192"' in owners.get(where(mine)).content.decode()


def test_what_is_opened_again_is_as_known(owners: Client, mine: Connection) -> None:
    save(owners, mine, context_window="8192", tools="false")
    save(owners, mine)
    assert traits(mine) == Traits()
    assert ModelSettings.objects.get().traits == {}


def test_what_no_field_shows_stays(owners: Client, mine: Connection) -> None:
    ModelSettings.objects.create(connection=mine, model="maker/large", traits={"reasoning_field": "thoughts"})
    save(owners, mine, tools="false")
    assert traits(mine).reasoning_field == "thoughts"


def test_a_form_left_open_undoes_nothing(owners: Client, mine: Connection) -> None:
    old = fields_of(owners.get(where(mine)))
    given = {"input_price": "0.150", "context_window": "0", "tools": "false"}
    assert owners.post(where(mine), {**old, **given}).status_code == 302
    answer = owners.post(where(mine), {**old, "images": "false"})
    assert "while the form was open: Price of input, Calls tools, Context window." in answer.content.decode()
    assert owners.post(where(mine), fields_of(answer)).status_code == 302
    row = ModelSettings.objects.get()
    assert row.input_price == Decimal("0.15")
    assert row.traits == {"context_window": 0, "tools": False, "images": False}


def test_prices(owners: Client, mine: Connection) -> None:
    save(owners, mine, input_price="0.15", output_price="0.6", currency="eur")
    row = ModelSettings.objects.get()
    assert (row.input_price, row.cached_price, row.output_price) == (Decimal("0.15"), None, Decimal("0.6"))
    assert row.currency == "EUR"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("context_window", "-1"),
        ("silence", "long"),
        ("images", "maybe"),
        ("input_price", "-1"),
        ("currency", "¥"),
    ],
)
def test_what_does_not_fit_is_refused(owners: Client, mine: Connection, name: str, value: str) -> None:
    assert save(owners, mine, **{name: value}).status_code == 400
    assert not ModelSettings.objects.exists()


def test_prices_are_shown_as_they_were_entered(owners: Client, mine: Connection) -> None:
    save(owners, mine, input_price="2", output_price="0.05", currency="usd")
    page = owners.get(where(mine)).content.decode()
    prices = re.findall(r'name="(?:input|output)_price" value="([^"]*)"', page)
    assert prices == ["2", "0.05"]


def test_what_was_learned_is_shown_and_can_be_forgotten(owners: Client, mine: Connection) -> None:
    learned = {"drop_params": ["temperature"]}
    ModelSettings.objects.create(connection=mine, model="maker/large", learned=learned)
    assert "Learned from its errors" in owners.get(where(mine)).content.decode()
    assert traits(mine).drop_params == ("temperature",)
    owners.post(where(mine), {"forget": "1"})
    assert traits(mine) == Traits()


def test_a_row_that_does_not_fit_is_passed_over(mine: Connection) -> None:
    ModelSettings.objects.create(connection=mine, model="maker/large", traits={"tools": "perhaps"})
    assert traits(mine) == Traits()


def test_whose_they_are(strangers: Client, owners: Client, mine: Connection) -> None:
    assert strangers.get(where(mine)).status_code == 404
    assert save(strangers, mine, tools="false").status_code == 404
    assert owners.get("/settings/connections/environment/model/?name=m").status_code == 404
    assert owners.get(where(mine, "")).status_code == 404
    assert not ModelSettings.objects.exists()


def test_the_list_for_a_choice(owners: Client, owner: User, model_server: ScriptedModel) -> None:
    owner.is_staff = True
    owner.save()
    row = Connection.objects.create(owner=owner, name="L", base_url=model_server.base_url, inside=True)
    listed = owners.get(f"/settings/connections/models/?connection={row.pk}").content.decode()
    assert listed.strip() == '<option value="demo">'


def test_the_list_of_a_strangers_connection(strangers: Client, mine: Connection) -> None:
    for named in (str(mine.pk), "x", "9" * 30):
        assert strangers.get(f"/settings/connections/models/?connection={named}").status_code == 404


def test_a_list_that_does_not_come_is_empty(owners: Client, mine: Connection, settings: Any) -> None:
    Connection.objects.update(base_url="http://93.184.216.34/v1")  # behind our back, and without https
    answer = owners.get(f"/settings/connections/models/?connection={mine.pk}")
    assert (answer.status_code, answer.content.strip()) == (200, b"")


def test_the_window_that_a_list_tells_is_kept_for_what_profiles_use(owner: User, mine: Connection) -> None:
    Profile.objects.create(owner=owner, title="P", connection=mine, model="maker/large")
    listed = [ListedModel("maker/large", 32_768), ListedModel("maker/small", 8192)]
    for _time in range(2):
        save_context_windows(endpoint_of(mine), listed)
    assert traits(mine).context_window == 32_768
    assert ModelSettings.objects.count() == 1
