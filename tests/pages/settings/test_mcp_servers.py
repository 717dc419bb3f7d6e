"""MCP servers in the settings: access, validation, and secrets that are never shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import McpServer, McpTool, Profile
from chat.models.mcp import ListedTool
from tests.agent.mcp.conftest import SOURCE
from tests.pages.settings.fields import fields_of

ADD = "/settings/mcp/add/"
LIST = "/settings/mcp/"
PROGRAM = {  # disabled, so that saving does not connect
    "name": "mine",
    "transport": "stdio",
    "command": "python3\n-c\nx",
    "seconds": "60",
}
ADDRESS = {**PROGRAM, "transport": "http", "command": "", "url": "https://mcp.example.org/mcp"}


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path


@pytest.fixture
def administrators(db: Any, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(User.objects.create_superuser("admin"))


def refused(client: Client, **given: str) -> str:
    """The page with the form's errors."""
    response = client.post(ADD, given)
    assert response.status_code == 400
    assert not McpServer.objects.exists()
    return response.content.decode()


def test_only_superusers_may(browser_of: Callable[[User], Client], stranger: User) -> None:
    stranger.is_staff = True
    stranger.save()
    client = browser_of(stranger)
    for path in (LIST, ADD):
        assert client.get(path).status_code == 404
        assert client.post(path, PROGRAM).status_code == 404
    assert not McpServer.objects.exists()


def test_a_program_is_kept_word_by_word(administrators: Client) -> None:
    given = {**PROGRAM, "command": "python3\n-c\n$HOME `id` 'a b'", "environment": "TOKEN=hid=den ${HOME}"}
    assert administrators.post(ADD, given).status_code == 302
    server = McpServer.objects.get()
    assert server.command == ["python3", "-c", "$HOME `id` 'a b'"]
    assert server.environment == {"TOKEN": "hid=den ${HOME}"}
    assert "hid=den" not in server.secrets


def test_a_command_on_one_line_is_split_at_its_blanks(administrators: Client) -> None:
    given = {**PROGRAM, "command": "/opt/time/bin/serve --zone 'Europe/New York' $HOME"}
    assert administrators.post(ADD, given).status_code == 302
    assert McpServer.objects.get().command == ["/opt/time/bin/serve", "--zone", "Europe/New York", "$HOME"]


def test_secrets_are_never_shown_again(administrators: Client) -> None:
    assert administrators.post(ADD, {**ADDRESS, "headers": "Authorization: Bearer 5ecret"}).status_code == 302
    server = McpServer.objects.get()
    page = administrators.get(f"{LIST}{server.pk}/").content.decode()
    assert "5ecret" not in page
    assert "Authorization: ••••••" in page
    change = f"{LIST}{server.pk}/"
    kept = {**ADDRESS, "headers": "Authorization: ••••••\nX-More: 1"}
    assert administrators.post(change, kept).status_code == 302
    server.refresh_from_db()
    assert server.headers == {"Authorization": "Bearer 5ecret", "X-More": "1"}
    assert administrators.post(change, {**ADDRESS, "headers": ""}).status_code == 302
    server.refresh_from_db()
    assert server.secrets == ""


def test_a_form_left_open_undoes_nothing(administrators: Client) -> None:
    only = Profile.objects.create(title="Only")
    administrators.post(ADD, {**PROGRAM, "environment": "A=1\nB=2", "network": "on"})
    server = McpServer.objects.get()
    address = f"{LIST}{server.pk}/"
    old = fields_of(administrators.get(address))
    restricted = {name: value for name, value in old.items() if name != "network"}
    assert administrators.post(address, {**restricted, "profiles": [only.pk]}).status_code == 302
    answer = administrators.post(address, {**old, "seconds": "90"})
    assert "while the form was open: Network allowed, Profiles." in answer.content.decode()
    assert administrators.post(address, fields_of(answer)).status_code == 302
    server = McpServer.objects.get()
    assert (server.network, list(server.profiles.all()), server.seconds) == (False, [only], 90)
    assert server.environment == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": "Mine"}, "Lowercase letters"),
        ({"name": "a__b"}, "Lowercase letters"),
        ({"command": ""}, "needs a command"),
        ({"command": "python3 -c 'x"}, "A quote is not closed."),
        ({"environment": "TOKEN"}, "has no ="),
        ({"environment": "A B=c"}, "is not a valid variable name"),
        ({"environment": "TOKEN=••••••"}, "has no value"),
        ({"seconds": "601"}, "600"),
        ({"readable": "/"}, "contains files that no server may read"),
        ({"readable": "/etc"}, "contains files that no server may read"),
        ({"readable": "relative"}, "not an absolute path"),
        ({"readable": "/usr/../etc"}, "not an absolute path"),
    ],
)
def test_a_program_that_is_refused(administrators: Client, wrong: dict[str, str], sentence: str) -> None:
    assert sentence in refused(administrators, **{**PROGRAM, **wrong})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"url": ""}, "Enter an http"),
        ({"url": "http://mcp.example.org"}, "without https"),
        ({"url": "file:///etc/passwd"}, "Enter an http"),
        ({"url": "https://user:secret@mcp.example.org"}, "Enter an http"),
        ({"url": "https://mcp.example.org:99999"}, "Enter an http"),
        ({"url": "https://mcp.example.org/a b"}, "Enter an http"),
        ({"headers": "Host: elsewhere"}, "cannot be set"),
        ({"headers": "Content-Length: 1"}, "cannot be set"),
        ({"headers": "A B: c"}, "cannot be set"),
        ({"headers": "X-Name: ünfit"}, "plain text"),
    ],
)
def test_an_address_that_is_refused(administrators: Client, wrong: dict[str, str], sentence: str) -> None:
    assert sentence in refused(administrators, **{**ADDRESS, **wrong})


def test_neither_the_data_folder_nor_what_holds_it_may_be_read(administrators: Client, folder: Path) -> None:
    (folder / "data" / "workspaces").mkdir(parents=True)
    (folder / "link").symlink_to(folder / "data")
    for path in (folder, folder / "data", folder / "data" / "workspaces", folder / "link"):
        page = refused(administrators, **{**PROGRAM, "readable": str(path)})
        assert "contains files that no server may read" in page


def act(client: Client, action: str, **more: Any) -> str:
    """The page that an action on the one server leads to."""
    return client.post(f"{LIST}{McpServer.objects.get().pk}/{action}/", more, follow=True).content.decode()


@pytest.mark.django_db(transaction=True)
def test_its_tools_are_listed_read_and_accepted(administrators: Client) -> None:
    McpServer.objects.create(name="mine", command=["python3", "-c", SOURCE])
    page = act(administrators, "check")
    assert "2 tools awaiting approval" in page
    assert "mine__echo" in page
    assert "Say it again." in page
    seen = [f"{tool.pk}:{tool.listed_fingerprint}" for tool in McpTool.objects.all()]
    assert all(f'value="{each}"' in page for each in seen)
    page = act(administrators, "accept", seen=seen)
    assert "2 definitions accepted." in page
    assert "2 tools offered" in page
    assert {str(tool.state) for tool in McpTool.objects.all()} == {"offered"}


def test_only_what_was_shown_is_accepted(administrators: Client) -> None:
    mine, other = (McpServer.objects.create(name=name, command=["x"]) for name in ("mine", "other"))
    told = {"description": "Good.", "schema": {}}
    for server in (mine, other):
        McpTool.save_listing(server, [ListedTool("tool", f"{server.name}__tool", told, "f" * 64, "")])
    shown = mine.tools.get()
    McpTool.save_listing(
        mine, [ListedTool("tool", "mine__tool", {**told, "description": "Bad."}, "e" * 64, "")]
    )
    seen = [f"{shown.pk}:{shown.listed_fingerprint}", f"{other.tools.get().pk}:{'f' * 64}", "x:y"]
    address = f"{LIST}{mine.pk}/accept/"
    page = administrators.post(address, {"seen": seen}, follow=True).content.decode()
    assert "A definition has changed meanwhile. Read it again." in page
    assert "Bad." in page
    assert not [tool for tool in McpTool.objects.all() if tool.accepted_fingerprint]


def test_a_definition_hides_nothing(administrators: Client) -> None:
    server = McpServer.objects.create(name="mine", command=["x"])
    told = {"description": "Good.\u200b\U000e0041\u202e</textarea><b>", "schema": {}}
    McpTool.save_listing(server, [ListedTool("tool", "mine__tool", told, "f" * 64, "")])
    page = administrators.get(f"{LIST}{server.pk}/").content.decode()
    assert "Good.\\u{200b}\\u{e0041}\\u{202e}&lt;/textarea&gt;&lt;b&gt;" in page


@pytest.mark.django_db(transaction=True)
def test_one_that_cannot_be_started_says_so(administrators: Client) -> None:
    page = administrators.post(
        ADD, {**PROGRAM, "enabled": "on", "command": "no-such-program"}, follow=True
    ).content.decode()
    assert "It ended with exit code 127." in page
    assert "This program has no network access." in page
    assert "It ended with exit code 127." in administrators.get(LIST).content.decode()


def test_one_that_is_deleted_takes_its_tools_with_it(administrators: Client) -> None:
    server = McpServer.objects.create(name="mine", command=["x"])
    McpTool.save_listing(server, [ListedTool("tool", "mine__tool", {"schema": {}}, "f" * 64, "")])
    assert "“mine” deleted." in act(administrators, "delete")
    assert not McpTool.objects.exists()
