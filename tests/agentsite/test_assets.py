"""One stylesheet and one script: joined in order, named by content, served to be kept."""

from __future__ import annotations

import gzip
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.templatetags.static import static

from agentsite.static_files import APART, joined

SOURCES = Path(settings.BASE_DIR) / "static"
YEAR = 365 * 24 * 3600


@pytest.fixture
def served(collected: None) -> Any:
    """The application as `serve` loads it: with the files that were collected."""
    return runpy.run_path(f"{settings.BASE_DIR}/agentsite/asgi.py")["router"]


async def ask(application: Any, where: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body that the application answers a GET with."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": where,
        "raw_path": where.encode(),
        "query_string": b"",
        "headers": [
            (name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()
        ],
    }
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "http.request", "body": b""})
    start = await communicator.receive_output(5)
    body = b""
    while (part := await communicator.receive_output(5)).get("more_body"):
        body += part["body"]
    told = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return start["status"], told, body + part["body"]


def places(script: bytes, folder: str, pattern: str) -> list[int]:
    sources = [
        file
        for file in sorted((SOURCES / folder).glob(pattern))
        if not any(file.name in names for names in APART.values())
    ]
    return [script.index(file.read_bytes().rstrip()) for file in sources]


def test_the_script_is_htmx_then_its_sockets_then_ours() -> None:
    script = joined()["app.js"]
    vendored, ours = places(script, "vendor", "*.js"), places(script, "js", "*.js")
    assert len(vendored) == 2
    assert vendored == sorted(vendored)
    assert script.startswith(b"var htmx=")
    assert b"hx-ws" in script[vendored[1] :]
    assert ours == sorted(ours)
    assert max(vendored) < min(ours)


def test_read_only_pages_have_a_script_of_their_own_without_htmx() -> None:
    own = [(SOURCES / "js" / name).read_bytes() for name in APART["read-only.js"]]
    assert joined()["read-only.js"] == b"\n".join(own)
    assert not [part for part in own if part in joined()["app.js"]]
    assert b"htmx" not in joined()["read-only.js"]


def test_the_stylesheet_begins_with_its_layers() -> None:
    sheet = joined()["app.css"]
    assert sheet.startswith((SOURCES / "css" / "00-layers.css").read_bytes().rstrip())
    assert len(places(sheet, "css", "*.css")) == len(list(SOURCES.glob("css/*.css")))
    declared = re.findall(rb"^@layer ([^{;]+);", sheet, re.MULTILINE)
    assert len(declared) == 1, "the order of the layers is said once, ahead of every rule"


def test_the_stylesheet_asks_for_nothing_elsewhere() -> None:
    sheet = joined()["app.css"]
    assert b"@import" not in sheet
    assert not re.search(rb"url\(\s*['\"]?(https?:)?//", sheet)


@pytest.mark.parametrize("name", ["app.css", "app.js", "read-only.js", "fault.js", "icon.svg"])
@pytest.mark.usefixtures("collected")
def test_names_carry_the_contents_hash(name: str) -> None:
    stem, suffix = name.split(".")
    assert re.fullmatch(rf"/static/{stem}\.[0-9a-f]{{12}}\.{suffix}", static(name))


@pytest.mark.parametrize("name", ["app.css", "app.js", "read-only.js"])
async def test_files_are_kept_for_ever_and_sent_small(served: Any, name: str) -> None:
    status, headers, body = await ask(served, static(name), **{"accept-encoding": "gzip"})
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert len(body) < len(joined()[name]) / 2
    assert gzip.decompress(body).startswith(joined()[name][:20])
    assert "immutable" in headers["cache-control"]
    assert int(re.search(r"max-age=(\d+)", headers["cache-control"])[1]) >= YEAR  # type: ignore[index]
    assert headers["vary"] == "Accept-Encoding"
    assert "access-control-allow-origin" not in headers


async def test_a_browser_that_takes_no_gzip_gets_it_plain(served: Any) -> None:
    status, headers, body = await ask(served, static("app.js"))
    assert (status, "content-encoding" in headers, body) == (200, False, joined()["app.js"])
    assert headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("where", ["/static/nothing.js", "/static/../manage.py", "/static/%2e%2e/manage.py"])
@pytest.mark.django_db(transaction=True)
async def test_nothing_else_is_served(served: Any, where: str) -> None:
    status, _headers, body = await ask(served, where)
    assert status == 404
    assert b"django" not in body
