"""A site behind nginx as `deploy/` has it: pages, sockets, streams, and what does not get through."""

from __future__ import annotations

import re
import ssl
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.agentsite.wire import Wire, message
from tests.deploy.nginx import NAME, nginx
from tests.serving import serving


@dataclass
class Browser:
    """Somebody who is signed in by way of nginx."""

    address: str
    trust: ssl.SSLContext
    opener: urllib.request.OpenerDirector
    jar: CookieJar

    def begin(self, text: str) -> str:
        """Start a conversation with the form, as a browser does; its path."""
        page = self.opener.open(self.address, timeout=30).read().decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token
        data = urllib.parse.urlencode({"csrfmiddlewaretoken": token[1], "text": text}).encode()
        request = urllib.request.Request(self.address + "/", data, {"Referer": self.address + "/"})
        with self.opener.open(request, timeout=30) as response:
            return urllib.parse.urlsplit(response.url).path

    @property
    def cookie(self) -> str:
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar)

    def wire(self) -> Wire:
        return Wire(self.address, self.trust)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with (
        serving(TRUST_PROXY="1", ALLOWED_HOSTS=f"{NAME},127.0.0.1", DEMO_PACE="0.05") as served,
        nginx(tmp_path_factory.mktemp("nginx"), served.port) as (address, trust),
    ):
        jar = CookieJar()
        handlers = urllib.request.HTTPSHandler(context=trust), urllib.request.HTTPCookieProcessor(jar)
        opener = urllib.request.build_opener(*handlers)
        opener.open(served.link.replace(served.address, address), timeout=30).close()
        assert all(cookie.secure for cookie in jar)
        yield Browser(address, trust, opener, jar)


def test_an_answer_streams_through(browser: Browser) -> None:
    path = browser.begin("Say hello in a few sentences.")
    client = browser.wire()
    assert client.upgrade(f"/ws{path}", browser.cookie) == 101
    heard = []
    for kind, content in client.frames():
        if kind == 1:
            heard.append(time.monotonic())
        if b'data-status="idle"' in content:
            break
    client.socket.close()
    assert len(heard) >= 5
    assert heard[-1] - heard[0] > 0.2, "it came as it was written, and not all at once"


def test_a_socket_takes_a_message(browser: Browser) -> None:
    path = browser.begin("Hello")
    client = browser.wire()
    assert client.upgrade(f"/ws{path}", browser.cookie) == 101
    client.socket.sendall(message(" "))
    assert any(b'"refused"' in content for _kind, content in client.frames())
    client.socket.close()


@pytest.mark.parametrize("origin", [f"http://{NAME}", f"https://{NAME}", "https://evil.example", "null"])
def test_a_socket_of_another_place_is_refused(browser: Browser, origin: str) -> None:
    path = browser.begin("Hello")
    client = browser.wire()
    assert client.upgrade(f"/ws{path}", browser.cookie, origin) == 403
    client.socket.close()


@pytest.mark.parametrize(("where", "status"), [("/healthz", 200), ("/metrics", 404)])
def test_what_the_world_may_ask(browser: Browser, where: str, status: int) -> None:
    client = browser.wire()
    client.say(f"GET {where} HTTP/1.1")
    assert client.status() == status
    client.socket.close()


def test_a_giant_body_ends_at_nginx(browser: Browser) -> None:
    client = browser.wire()
    client.say("POST /accounts/login/ HTTP/1.1", f"Content-Length: {2**25}")
    assert client.status() == 413
    client.socket.close()


def test_units_name_what_exists() -> None:
    root = Path(__file__).resolve().parents[2]
    for unit in root.glob("deploy/*.service"):
        start = re.search(r"^ExecStart=\S+ (manage.py) (\w+)", unit.read_text(), re.MULTILINE)
        assert start
        assert (root / start[1]).exists()
        assert (root / "chat" / "management" / "commands" / f"{start[2]}.py").exists()
