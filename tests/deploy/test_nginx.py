"""A site behind nginx as in `deploy/`: pages, sockets, streams, and refused requests."""

from __future__ import annotations

import re
import ssl
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.agentsite.wire import Wire, message
from tests.deploy.nginx import NAME, nginx
from tests.serving import serving


@dataclass
class Browser:
    """A user signed in through nginx."""

    address: str
    trust: ssl.SSLContext
    opener: urllib.request.OpenerDirector
    jar: CookieJar
    data: Path

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
        yield Browser(address, trust, opener, jar, served.data)


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


def test_no_answer_to_head_becomes_a_strangers(browser: Browser) -> None:
    path = browser.begin("Hello")
    forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    folder = browser.data / "workspaces" / path.split("/")[2]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "forged.txt").write_text(forged * 100_000)
    done = threading.Event()

    def ask_for_heads() -> set[int]:
        statuses = set()
        head = f"HEAD {path}files/download/?path=forged.txt HTTP/1.1"
        while not done.is_set():
            client = browser.wire()
            for _request in range(5):
                client.say(head, f"Cookie: {browser.cookie}")
                statuses.add(client.status())
            client.socket.close()
        return statuses

    def stranger() -> set[bytes]:
        client = browser.wire()
        heard = set()
        for _request in range(100):
            client.say("GET /healthz HTTP/1.1")
            head = client.head().lower()
            if "x-content-type-options" not in head:
                return {head.encode()}  # none of the site's own
            heard.add(client.exactly(int(head.partition("content-length: ")[2].split()[0])))
        client.socket.close()
        return heard

    with ThreadPoolExecutor() as pool:
        asking = [pool.submit(ask_for_heads) for _ in range(2)]
        strangers = [pool.submit(stranger) for _ in range(2)]
        try:
            assert [each.result() for each in strangers] == [{b"ok\n"}] * 2
        finally:
            done.set()
        assert [each.result() for each in asking] == [{200}] * 2


@pytest.mark.parametrize("where", ["/accounts/login/", "/admin/login/"])
def test_trying_passwords_is_slowed_down_at_nginx(browser: Browser, where: str) -> None:
    """The limit is one for both addresses; whatever is no attempt to sign in has none."""
    answers = [ask(browser, f"POST {where} HTTP/1.1") for _n in range(14)]
    assert answers[-1] == 429
    assert set(answers) <= {403, 429}, "the site refuses what has no token, nginx what is too much"
    assert {ask(browser, f"GET {where} HTTP/1.1") for _n in range(14)} <= {200, 302}


def ask(browser: Browser, line: str) -> int:
    client = browser.wire()
    client.say(line, "Content-Length: 0", "Connection: close")
    status = client.status()
    client.socket.close()
    return status


def test_units_name_what_exists() -> None:
    root = Path(__file__).resolve().parents[2]
    for unit in root.glob("deploy/*.service"):
        start = re.search(r"^ExecStart=\S+ (manage.py) (\w+)", unit.read_text(), re.MULTILINE)
        assert start
        assert (root / start[1]).exists()
        assert (root / "chat" / "management" / "commands" / f"{start[2]}.py").exists()
