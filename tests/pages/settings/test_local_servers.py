"""Local model servers: probed on request, offered to staff, connected with one click."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client

from chat.connections import local_servers
from chat.models import Connection, Profile
from tests.model_server import ScriptedModel, listening

LOOK = "/settings/connections/local/"
USE = "/settings/connections/local/use/"


@pytest.fixture
def place(settings: Any, model_server: ScriptedModel) -> Iterator[str]:
    """The scripted server's address, which the site probes; nothing was found before."""
    silent = listening()
    nobody = f"127.0.0.1:{silent.getsockname()[1]}"
    silent.close()
    settings.LOCAL_SERVERS = [nobody, place := urlsplit(model_server.base_url).netloc]
    local_servers._servers.clear()
    yield place
    local_servers._servers.clear()


@pytest.fixture
def staffs(owner: User, browser_of: Callable[[User], Client]) -> Client:
    owner.is_staff = True
    owner.save()
    return browser_of(owner)


def test_nothing_is_asked_by_looking_at_a_page(staffs: Client, place: str) -> None:
    assert place not in staffs.get("/").content.decode()
    assert local_servers.known_servers() == []


def test_a_click_finds_it_and_another_uses_it(staffs: Client, owner: User, place: str) -> None:
    page = staffs.post(LOOK, follow=True).content.decode()
    assert f"found at {place}" in page
    assert f"found at {place}" in staffs.get("/").content.decode()
    answer = staffs.post(USE, {"place": place, "model": "demo"})
    assert answer.url == "/"
    row = Connection.objects.get()
    assert (row.owner, row.base_url, row.inside) == (owner, f"http://{place}/v1", True)
    assert Profile.objects.get(owner=owner).connection == row
    assert place not in staffs.get("/").content.decode(), "what is connected is not offered again"


def test_nobody_there(staffs: Client, place: str, settings: Any) -> None:
    settings.LOCAL_SERVERS = settings.LOCAL_SERVERS[:1]
    assert "No model server found" in staffs.post(LOOK, follow=True).content.decode()


def test_a_configured_site_offers_it_among_its_connections_alone(
    staffs: Client, place: str, settings: Any
) -> None:
    async_to_sync(local_servers.scan)()
    settings.DEMO = False
    assert place not in staffs.get("/").content.decode()
    assert place in staffs.get("/settings/connections/").content.decode()


def test_others_neither_look_nor_see_nor_use(owners: Client, place: str) -> None:
    async_to_sync(local_servers.scan)()
    for page in ("/", "/settings/connections/"):
        assert place not in owners.get(page).content.decode()
    assert owners.post(LOOK).status_code == 404
    assert owners.post(USE, {"place": place, "model": "demo"}).status_code == 404
    assert not Connection.objects.exists()


@pytest.mark.parametrize(("where", "model"), [("10.0.0.1:80", "demo"), (None, "other"), (None, "")])
def test_only_what_was_found_is_used(staffs: Client, place: str, where: str | None, model: str) -> None:
    async_to_sync(local_servers.scan)()
    page = staffs.post(USE, {"place": where or place, "model": model}, follow=True).content.decode()
    assert "was not found" in page
    assert not Connection.objects.exists()


def test_our_own_port_is_not_asked(staffs: Client, place: str, settings: Any) -> None:
    settings.PORT = int(place.rpartition(":")[2])
    assert async_to_sync(local_servers.scan)() == []
