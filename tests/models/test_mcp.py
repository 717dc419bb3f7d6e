"""MCP servers and their tools: the guarantees of their rows."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from chat.models import McpServer, McpTool, Profile
from chat.models.mcp import ListedTool
from chat.models.secrets import SecretUnreadableError, seal, unseal

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> McpServer:
    return McpServer.objects.create(name="mine", command=["x"])


def listed(name: str, said: str = "Does it.", unfit: str = "") -> ListedTool:
    told = {"description": said, "schema": {"type": "object"}}
    return ListedTool(name, f"mine__{name}", told, f"{name} {len(said)}", unfit)


def states(server: McpServer) -> dict[str, str]:
    return {tool.name: str(tool.state) for tool in server.tools.all()}


def accept_all() -> int:
    return McpTool.accept(
        [(tool.pk, tool.listed_fingerprint) for server in McpServer.objects.all() for tool in server.waiting]
    )


def test_a_tool_is_offered_while_it_is_as_it_was_accepted(server: McpServer) -> None:
    McpTool.save_listing(server, [listed("a"), listed("b"), listed("c", unfit="it is odd")])
    assert states(server) == {"a": "new", "b": "new", "c": "unfit"}
    assert not McpTool.offered([server])
    assert accept_all() == 2
    assert [tool.name for tool in McpTool.offered([server])] == ["a", "b"]
    McpTool.save_listing(server, [listed("a", "Does something else.")])
    assert states(server) == {"a": "changed", "b": "gone", "c": "gone"}
    assert not McpTool.offered([server])
    McpTool.save_listing(server, [listed("a"), listed("b")])
    assert [tool.name for tool in McpTool.offered([server])] == ["a", "b"], "as they were accepted once"


def test_a_tool_that_comes_back_changed_waits(server: McpServer) -> None:
    McpTool.save_listing(server, [listed("a")])
    accept_all()
    McpTool.save_listing(server, [])
    McpTool.save_listing(server, [listed("a", "Does something else.")])
    assert states(server) == {"a": "changed"}
    assert accept_all() == 1
    assert server.tools.get().accepted["description"] == "Does something else."


def test_text_that_no_database_takes_is_kept_all_the_same(server: McpServer) -> None:
    McpTool.save_listing(server, [listed("a", "nul \0 and half \ud800")])
    assert server.tools.get().listed["description"] == "nul \ufffd and half \ufffd"
    server.save_problem("nul \0", "half \ud800")
    assert McpServer.failing().get().problem == "nul \ufffd"


@pytest.mark.parametrize("wrong", [{"transport": "http"}, {"url": "https://a.test"}, {"transport": "other"}])
def test_a_server_is_reached_in_one_way(wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        McpServer.objects.create(name="mine", command=["x"], **wrong)


@pytest.mark.parametrize("name", ["", "a_b", "a__b", "A", "-a", "a-", "a b", "é", "a" * 33, "a\n"])
def test_a_name_parts_from_its_tools(name: str) -> None:
    with pytest.raises(ValidationError):
        McpServer(name=name, command=["x"]).full_clean()


def test_whom_a_server_is_offered_to(server: McpServer) -> None:
    one, other = (Profile.objects.create(title=title) for title in ("One", "Other"))
    for profile in (one, other, Profile()):
        assert list(McpServer.offered_to(profile)) == [server]
    server.profiles.add(one, Profile.objects.create(title="A third"))
    assert list(McpServer.offered_to(one)) == [server]
    assert not McpServer.offered_to(other)
    assert not McpServer.offered_to(Profile())
    McpServer.objects.update(enabled=False)
    assert not McpServer.offered_to(one)


def test_what_is_sealed_says_nothing_without_its_key(settings: Any) -> None:
    secrets = {"headers": {"Authorization": "Bearer 5ecret"}, "environment": {}}
    sealed = seal(secrets)
    assert "5ecret" not in sealed
    assert unseal(sealed) == secrets
    assert seal({"headers": {}, "environment": {}}) == ""
    old, settings.SECRET_KEY = settings.SECRET_KEY, "a new key"
    with pytest.raises(SecretUnreadableError):
        unseal(sealed)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert unseal(sealed) == secrets
    with pytest.raises(SecretUnreadableError):
        unseal(sealed[:-4] + "AAAA")
