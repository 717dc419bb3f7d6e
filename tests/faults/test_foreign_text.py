"""Text made to stop the site: the process goes on answering, whoever reads or imports it."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from http.cookiejar import CookieJar
from typing import Any

import pytest

from tests.serving import Served, serving, until

NOW = "2026-01-01T00:00:00Z"
# An answer takes milliseconds where nothing else is done; one lexer's match took 5.7 s, and one import 24 s.
MOST_SECONDS = 4.0
# Each froze the process where Pygments chose the lexer: 1,301 bytes of tabs for 5.7 s.
FENCES = {
    "easytrieve": "\t" * 1301,
    "autohotkey": "a " * 8000,
    "autoit": "a=" * 8000,
    "python": "\n " * 8000,
    "javascript": '\\"' * 8000,
    "yaml": "\t" * 16000,
    "c": "\n " * 8000,
}


class Browser:
    """A browser of the site's owner."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.page(served.link)

    def open(self, where: str, data: bytes | None = None, kind: str = "") -> Any:
        """The answer at an address, as far as it is there."""
        address = where if where.startswith("http") else self.served.address + where
        request = urllib.request.Request(address, data, {"Origin": self.served.address, "Content-Type": kind})
        try:
            return self.opener.open(request, timeout=120)
        except urllib.error.HTTPError as error:
            return error

    def page(self, where: str) -> str:
        with self.open(where) as answer:
            return str(answer.read().decode())

    def post(self, where: str, file: bytes | None = None, **fields: str) -> Any:
        """The answer to a form with these fields, or with a file."""
        page = self.page("/conversations/import/")
        token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        mark = uuid.uuid4().hex
        parts = [
            f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in {"csrfmiddlewaretoken": token, **fields}.items()
        ]
        if file is not None:
            head = 'Content-Disposition: form-data; name="file"; filename="c.json"'
            parts.append(f"--{mark}\r\n{head}\r\n\r\n".encode() + file + b"\r\n")
        body = b"".join([*parts, f"--{mark}--\r\n".encode()])
        return self.open(where, body, f"multipart/form-data; boundary={mark}")

    def imports(self, file: bytes) -> tuple[str, str]:
        """The page that an import ends with, and its address."""
        with self.post("/conversations/import/", file) as answer:
            return answer.read().decode(), answer.url


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def browser(served: Served) -> Browser:
    return Browser(served)


def turn(texts: list[str], calls: int = 0) -> dict[str, Any]:
    """A turn as a file has it, with an answer for each text."""
    call = {"wire_id": "c", "name": "bash", "arguments": "{}", "created_at": NOW, "status": "succeeded"}
    question = {"role": "user", "text": "Go on", "created_at": NOW, "step": None}
    answers = [
        {"role": "assistant", "text": text, "created_at": NOW, "step": number}
        for number, text in enumerate(texts, 1)
    ]
    return {
        "status": "completed",
        "created_at": NOW,
        "ended_at": NOW,
        "follows": None,
        "steps": [{"number": number, "started_at": NOW} for number in range(1, max(len(texts), 1) + 1)],
        "side_calls": [],
        "messages": [question, *answers],
        "tool_calls": [{**call, "step": 1, "index": index, "shortened_in": None} for index in range(calls)],
        "summaries": [],
    }


def file_of(turns: list[dict[str, Any]]) -> bytes:
    """A conversation's file."""
    times = {"created_at": NOW, "updated_at": NOW}
    file = {
        "format": "agent-conversation",
        "version": 1,
        "exported_at": NOW,
        "conversation": {"title": "From elsewhere", **times},
        "turns": turns,
        "revisions": [],
        "follow_ups": [],
        "pictures": [],
    }
    return json.dumps(file).encode()


@contextmanager
def slowest(ask: Any) -> Iterator[list[float]]:
    """Ask again and again while something else is done; the seconds of each answer."""
    taken, done = [0.0], threading.Event()

    def keep_asking() -> None:
        while not done.is_set():
            began = time.monotonic()
            ask()
            taken.append(time.monotonic() - began)
            done.wait(0.02)

    thread = threading.Thread(target=keep_asking)
    thread.start()
    try:
        yield taken
    finally:
        done.set()
        thread.join()


def answers(served: Served) -> None:
    """That the process is up."""
    with urllib.request.urlopen(f"{served.address}/healthz", timeout=60) as answer:
        assert answer.status == 200


def rows_in(served: Served, table: str) -> int:
    with sqlite3.connect(served.data / "db.sqlite3", timeout=60) as database:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_no_fence_freezes_the_site(served: Served, browser: Browser) -> None:
    texts = [f"```{language}\n{code}\n```\n" for language, code in FENCES.items()]
    _page, address = browser.imports(file_of([turn(texts)]))
    path = address.removeprefix(served.address)
    with browser.post(f"{path}share/") as answer:
        sharing = answer.read().decode()
    link = unescape(re.findall(r'value="(http[^"]*/shared/[^"]*)"', sharing)[0])
    with slowest(lambda: answers(served)) as taken:
        shown = browser.page(path)
        with urllib.request.urlopen(link, timeout=120) as answer:
            shared = answer.read().decode()
    assert shown.count("language-easytrieve") == shared.count("language-easytrieve") == 1
    assert max(taken) < MOST_SECONDS


def test_no_file_freezes_the_site(served: Served, browser: Browser) -> None:
    repeated = "{" + ",".join(f'"{name}":1' for name in [*range(40_000), 39_999]) + "}"
    before = rows_in(served, "chat_conversation")
    began = time.monotonic()
    with slowest(lambda: answers(served)) as taken:
        page, _address = browser.imports(repeated.encode())
    assert "contains “39999” twice" in page
    assert time.monotonic() - began < 10
    assert max(taken) < MOST_SECONDS
    assert rows_in(served, "chat_conversation") == before


def test_others_write_while_a_large_file_comes_in(served: Served, browser: Browser) -> None:
    file = file_of([turn(["x" * 60] * 2, calls=8) for _turn in range(800)])

    def write() -> None:
        with sqlite3.connect(served.data / "db.sqlite3", timeout=60, isolation_level=None) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")

    with slowest(write) as locked, slowest(lambda: answers(served)) as taken:
        page, address = browser.imports(file)
    assert 'value="9' in page  # the progress, told as it went
    assert "Import finished." in page
    assert max(locked) < MOST_SECONDS
    assert max(taken) < MOST_SECONDS
    assert address.endswith("/conversations/import/")
    path = page.rpartition('content="0; url=')[2].partition('"')[0]
    assert path in browser.page("/conversations/")


def test_who_leaves_ends_the_import_and_one_at_a_time_is_taken(served: Served, browser: Browser) -> None:
    file = file_of([turn(["x" * 60] * 2, calls=8) for _turn in range(800)])
    before = [rows_in(served, table) for table in ("chat_conversation", "chat_turn", "chat_toolcall")]

    with browser.post("/conversations/import/", file):  # its beginning, while the rest is still to come
        refused, _address = browser.imports(file_of([turn([])]))
        assert "You already have an import running." in refused
    until(lambda: [rows_in(served, t) for t in ("chat_conversation", "chat_turn", "chat_toolcall")] == before)
    assert "/conversations/import/" not in browser.imports(file_of([turn([])]))[1]
