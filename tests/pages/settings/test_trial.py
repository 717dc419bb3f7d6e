"""The test of a connection: its steps on one page, each with a sentence that helps."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client

from chat.demo.reply import Call, Reply, Request
from chat.models import Connection
from chat.models.connection import Secrets
from tests.model_server import ScriptedModel

NUMBERS = "one, two, three, four, five, six, seven, eight, nine, ten"
STEP = re.compile(
    r'<b class="trial__label">(.*?)</b>\s*<span class="trial__outcome" data-state="(\w+)">(.*?)</span>'
)
pytestmark = pytest.mark.usefixtures("collected", "transactional_db")

KEY = "sk-c4n4ry-0123456789"


def obliging(request: Request) -> Reply:
    return Reply(tool_calls=[Call("greet", {"name": "Ada"})]) if request.tools else Reply(text=NUMBERS)


@pytest.fixture
def connection(owner: User, model_server: ScriptedModel) -> Connection:
    """A connection with the scripted model, which is on this machine."""
    owner.is_staff = True
    owner.save()
    row = Connection(owner=owner, name="Scripted", base_url=model_server.base_url, inside=True)
    row.seal_secrets(Secrets(KEY))
    row.save()
    return row


async def _tried(user: User, row: Connection, model: str) -> str:
    client = AsyncClient()
    await client.aforce_login(user)
    answer = await client.post(f"/settings/connections/{row.pk}/test/", {"model": model})
    assert isinstance(answer, StreamingHttpResponse)
    return b"".join([piece async for piece in answer]).decode()  # type: ignore[union-attr] # asynchronous


def tried(row: Connection, model: str = "") -> str:
    """The whole page in the end."""
    assert row.owner
    return async_to_sync(_tried)(row.owner, row, model)


def steps(page: str) -> list[tuple[str, str]]:
    """State and sentence of each step."""
    return [(state, unescape(sentence)) for _label, state, sentence in STEP.findall(page)]


def test_all_is_well(connection: Connection, model_server: ScriptedModel) -> None:
    model_server.answer = obliging
    page = tried(connection)
    assert [state for state, _sentence in steps(page)] == ["well", "note", "well", "well", "well"]
    assert "demo answers and streams" in page
    assert 'name="model" value="demo"' in page, "and can be chosen"
    assert page.rstrip().endswith("</html>")
    assert [request["model"] for request in model_server.requests] == ["demo", "demo"]


def test_the_named_model_is_asked(connection: Connection, model_server: ScriptedModel) -> None:
    model_server.answer = obliging
    page = tried(connection, "other")
    assert steps(page)[2] == (
        "note",
        "Models listed: 1, and other is not among them. Check the name if the next step fails.",
    )
    assert {request["model"] for request in model_server.requests} == {"other"}


def test_a_key_that_is_refused(connection: Connection, model_server: ScriptedModel) -> None:
    said = f"Incorrect API key provided: {KEY}"
    model_server.answer = lambda request: Reply(status=401, body={"error": {"message": said}})
    page = tried(connection)
    assert [state for state, _s in steps(page)] == ["well", "note", "well", "failed", "skipped"]
    assert "refused the API key" in steps(page)[3][1]
    assert KEY not in page
    assert "Fix the problems above" in page


def test_nobody_there(connection: Connection) -> None:
    connection.base_url = "http://127.0.0.1:9/v1"
    connection.seal_secrets(Secrets(KEY))
    connection.save()
    page = tried(connection)
    assert [state for state, _s in steps(page)] == ["failed"] + 4 * ["skipped"]
    assert "cannot be reached" in steps(page)[0][1]


def test_a_model_without_tools_can_be_chosen_and_is_listed_as_such(
    connection: Connection, model_server: ScriptedModel, browser_of: Callable[[User], Client]
) -> None:
    assert connection.owner
    model_server.answer = lambda request: Reply(text=NUMBERS)
    page = tried(connection)
    assert steps(page)[4][0] == "failed"
    assert "it can only chat" in steps(page)[4][1]
    assert "Start a conversation" in page
    listed = browser_of(connection.owner).get("/settings/connections/").content.decode()
    assert "Answers, but does not call tools" in listed
    assert "Working" not in listed


def test_who_may_not_lead_inside_learns_nothing(connection: Connection, model_server: ScriptedModel) -> None:
    connection.base_url = connection.base_url.replace("http:", "https:")
    connection.inside = False
    connection.seal_secrets(Secrets(KEY))
    connection.save()
    page = tried(connection)
    assert steps(page)[0][0] == "failed"
    assert model_server.requests == []


def test_the_list_shows_the_latest_result_until_the_connection_changes(
    connection: Connection, model_server: ScriptedModel, browser_of: Callable[[User], Client]
) -> None:
    assert connection.owner
    client = browser_of(connection.owner)
    listed = "/settings/connections/"
    model_server.answer = obliging
    tried(connection)
    assert "Working" in client.get(listed).content.decode()
    model_server.answer = lambda _request: Reply(status=401, body={"error": {"message": "wrong key"}})
    tried(connection)
    assert "Test failed: Reply" in client.get(listed).content.decode()
    saved = {"name": "Renamed", "base_url": connection.base_url, "inside": "on"}
    client.post(f"{listed}{connection.pk}/", saved)
    assert "Test failed: Reply" in client.get(listed).content.decode()
    client.post(f"{listed}{connection.pk}/", {**saved, "key": "sk-another"})
    assert "Last tested" not in client.get(listed).content.decode()
