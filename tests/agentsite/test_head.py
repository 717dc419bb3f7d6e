"""The answer to HEAD is the head of that to GET, and the next answer on its connection follows at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.agentsite.wire import Wire, signed_in, wire
from tests.pages.routes import address, routes
from tests.serving import Served, serving

FORGED = "HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\n\\r\\nforged"
PREPARE = f"""
import datetime, json
from django.utils import timezone
from chat.files.conversation_workspace import folder_of, workspace_of
from chat.files.shared_files import shareable
from chat.models import Attachment, ShareLink, ToolCall, site_owner
from chat.models.connection import Connection
from tests.export.rich import Rich
owner = site_owner()
type(owner).objects.update(is_staff=True, is_superuser=True)
made = Rich(owner, 3, turns=6, calls=4).conversation
folder = folder_of(made)
folder.mkdir(parents=True, exist_ok=True)
(folder / "large.txt").write_text("{FORGED}" * 40000)
month = timezone.now() + datetime.timedelta(days=30)
link = ShareLink.make(made, month, shareable(workspace_of(made)))
connection = Connection.objects.create(owner=owner, base_url="http://127.0.0.1:9/v1")
print(json.dumps(dict(
    conversation_id=str(made.pk),
    turn_id=made.turns.first().pk,
    tool_call_id=ToolCall.objects.filter(turn__conversation=made).first().pk,
    digest=Attachment.objects.exclude(digest="").first().digest,
    token=link.token,
    connection_id=connection.pk,
)))
"""
# Expected content, so that the test does not pass with "not found" pages.
FOUND = {"conversation", "plan", "export_json", "export_markdown", "export_html", "replay"}
FOUND |= {"new_conversation", "conversations", "file", "file_download", "files_zip", "picture", "metrics"}
FOUND |= {"usage_file", "plan_figures_file", "try_connection", "admin:index", "admin:auth_user_changelist"}
ANYBODYS = {"shared", "shared_replay", "shared_picture", "shared_file", "healthz", "static file"}
GET_ONLY = {"sign_in", "admin:login"}  # where GET alone spends the link, or leads on who is signed in
SAME = {"content-type", "content-length", "content-disposition", "location", "etag"}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as site:
        yield site


@pytest.fixture(scope="module")
def paths(served: Served) -> dict[str, str]:
    """A path for each address, and some that lead to no view; most with something there."""
    parts: dict[str, Any] = {**json.loads(served.shell(PREPARE)), "path": "large.txt"}
    return {
        **{name: address(name, **parts) for name in routes()},
        **{name: f"{address(name, **parts)}?path=large.txt" for name in ("file", "file_download")},
        "static file": "/static/app.css",
        "nothing": "/nothing-here/",
        "no slash": "/conversations",
        "broken query": "/conversations/?q=%ff",
    }


@pytest.mark.parametrize("who", ["anybody", "owner"])
def test_head_is_answered_without_a_body(served: Served, paths: dict[str, str], who: str) -> None:
    cookie = f"Cookie: {signed_in(served)}" if who == "owner" else "X-Nobody: here"
    found = set()
    with wire(served) as client:
        for name, path in paths.items():
            got = whole_answer(served, path, cookie)
            client.say(f"HEAD {path} HTTP/1.1", cookie)
            client.say("GET /healthz HTTP/1.1")
            headed = answer(client)
            assert answer(client).status == 200, f"the answer that follows the one to HEAD {path}"
            assert client.exactly(3) == b"ok\n"
            if got.status == 405 or name in GET_ONLY:
                continue
            assert headed.status == got.status, name
            for header in SAME - ({"content-length"} if name == "metrics" else set()):  # its figures move
                assert headed.headers.get(header) == got.headers.get(header), (name, header)
            assert "transfer-encoding" not in headed.headers, name
            if headed.status == 200:
                found.add(name)
    assert found >= (FOUND | ANYBODYS if who == "owner" else ANYBODYS)


def test_a_refused_head_has_no_body(served: Served) -> None:
    for lines in (
        ["HEAD /accounts/login/ HTTP/1.1", f"Content-Length: {400 * 2**20}"],
        ["HEAD / HTTP/1.1", "X-Y: a\0b", "Connection: close"],
        ["HEAD /\xff HTTP/1.1", "Connection: close"],
        ["HEAD /ws/board/ HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket"],
    ):
        with wire(served) as client:
            client.say(*lines)
            assert 400 <= answer(client).status < 500, lines
            assert client.rest() == b"", lines


def answer(client: Wire) -> Answer:
    """The head of the next answer."""
    first, *lines = client.head().splitlines()
    assert first.startswith("HTTP/1.1 "), f"{first!r} begins no answer"
    pairs = [line.partition(":") for line in lines if line]
    return Answer(int(first.split()[1]), {name.lower(): value.strip() for name, _colon, value in pairs})


def whole_answer(served: Served, path: str, cookie: str) -> Answer:
    """The head of the answer to GET, whose body is as long as it says."""
    with wire(served) as client:
        client.say(f"GET {path} HTTP/1.1", cookie, "Connection: close")
        got = answer(client)
        body = client.rest()
        assert int(got.headers.get("content-length", len(body))) == len(body)
    return got
