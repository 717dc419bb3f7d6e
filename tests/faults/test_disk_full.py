"""The disk is full in the middle of a turn, and has space again later; nobody restarts anything."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from chat.demo.reply import Call, Reply
from chat.models import Turn
from tests.faults.conftest import SLOWER, SOAK
from tests.faults.person import AWAY, Person, Tab
from tests.faults.records import Records
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.serving import PATIENCE, Served, until

SIZE = 24 * 1024 * 1024
PAGE = 4096


class SmallDisk(Served):
    """The site, and its disk."""

    def __init__(self, data: Path, **surroundings: str) -> None:
        super().__init__(data, **surroundings)
        data.mkdir()
        disk = ["--size", str(SIZE), "--tmpfs", str(data)]
        self.around = ["bwrap", "--dev-bind", "/", "/", *disk, "--die-with-parent", "--"]

    def stop(self) -> None:
        """End it in order; bubblewrap itself would pass no signal on."""
        os.kill(self.site, signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.written()

    @property
    def site(self) -> int:
        """The process id of the site, which bubblewrap waits for."""
        pid = self.process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    @property
    def disk(self) -> Path:
        """The data folder, as it is seen from outside."""
        return Path(f"/proc/{self.site}/root{self.data}")

    @contextmanager
    def full(self) -> Iterator[None]:
        """Not a page is free within; what the site frees is taken, too."""
        ballast = self.disk / "ballast"
        emptied = threading.Event()
        filling = threading.Thread(target=_keep_full, args=(ballast, emptied))
        with ballast.open("wb", buffering=0) as file:
            _fill(file.fileno())
        filling.start()
        try:
            yield
        finally:
            emptied.set()
            filling.join()
            ballast.unlink()


def _keep_full(ballast: Path, emptied: threading.Event) -> None:
    with ballast.open("ab", buffering=0) as file:
        while not emptied.is_set():
            _fill(file.fileno())
            time.sleep(0.005)


def _fill(file: int) -> None:
    with contextlib.suppress(OSError):  # ENOSPC, at last
        while True:
            os.write(file, bytes(16 * PAGE))
    with contextlib.suppress(OSError):
        while True:
            os.write(file, bytes(PAGE))


ANSWERED = 12.0 * SLOWER  # seconds in which the site answers, whatever it answers
HEALED = 15.0 * SLOWER  # seconds after which a turn has ended that the full disk cut off
LATE = "Sent while it is full"
TURN = re.compile(r'<article class="turn" id="turn-(\d+)" data-status="(\w+)"')
SENTENCE = "Database unavailable"


@pytest.fixture
def served(tmp_path: Path, model: ScriptedModel) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path / "data", OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted")
    made.start()
    yield made
    made.stop()


@pytest.mark.parametrize("seconds", [0, 12] if SOAK else [0])
def test_a_turn_outlives_a_full_disk(
    served: SmallDisk, model: ScriptedModel, person: Person, seconds: float
) -> None:
    """Also where that lasts so long that its worker gives up telling how it ended."""
    gate = threading.Event()
    model.script(Reply(text="It has begun, and it ends.", piece=6, stall_after=3, gate=gate))
    model.answer = lambda request: model.replies.popleft() if model.replies else Reply(text="Said anew.")
    person.sign_in(served.link)
    conversation = person.begin(served.address, "Begin", uuid.uuid4())
    address = f"{served.address}/conversations/{conversation}/"
    assert conversation
    tab = person.open(served.address, conversation)
    tab.until("It has")
    with served.full():
        gate.set()
        until(lambda: "recording the end of turn" in served.written(), served.written)
        assert status(person, address) in (200, 503)
        assert status(person, f"{served.address}/", text="Not taken", client_id=str(uuid.uuid4())) == 503
        assert status(person, f"{served.address}/healthz") == 200
        late = told_later(tab)
        time.sleep(seconds)  # the fault itself
    space = time.monotonic()
    until(lambda: ended(person.get(address)), served.written, seconds=HEALED)
    print(f"disk full: the turn ended {time.monotonic() - space:.1f} s after there was space")  # noqa: T201
    deliver(tab, late)
    until(lambda: tab.accepted(late) and len(ended(person.get(address))) == 2, served.written)
    page = person.get(address)
    assert page.count(LATE) == 1
    assert ended(page)[0][1] in ("completed", "failed")
    assert ended(page)[1][1] == "completed"
    turn = Turn(pk=int(ended(page)[1][0]))
    until(lambda: any(article(page, turn) in frame for frame in tab.received))
    assert "Not taken" not in person.get(f"{served.address}/conversations/")


def told_later(tab: Tab) -> uuid.UUID:
    """The id of a message that the page is told to send again."""
    until(lambda: tab.socket)
    client_id = tab.send(LATE)
    tab.until('"later"')
    assert not tab.accepted(client_id)
    return client_id


def deliver(tab: Tab, client_id: uuid.UUID) -> None:
    """Send the message over every new socket, as the page does, until it is accepted."""
    tried = 0

    def accepted() -> bool:
        nonlocal tried
        if tab.socket and tab.openings > tried:
            tried = tab.openings
            with contextlib.suppress(*AWAY):
                tab.send(LATE, client_id)
        return tab.accepted(client_id)

    until(accepted)


def ended(page: str) -> list[tuple[str, str]]:
    """Key and status of every turn, once none is active."""
    turns = TURN.findall(page)
    return [] if {"queued", "running", "waiting"} & {status for _key, status in turns} else turns


def status(person: Person, address: str, **fields: str) -> int:
    """The status of an answer, which comes in time and says in a sentence what is wrong."""
    began = time.monotonic()
    code, page = person._wait(answer(person.session, address, fields))
    assert time.monotonic() - began < ANSWERED
    assert code == 200 or SENTENCE in page, page
    assert "Traceback" not in page
    return code


async def answer(session: aiohttp.ClientSession, address: str, fields: dict[str, str]) -> tuple[int, str]:
    """Status and page that a form's fields come to, or an address without any."""
    token = session.cookie_jar.filter_cookies(URL(address))["csrftoken"].value
    posting = session.request(
        "POST" if fields else "GET", address, data=fields or None, headers={"X-CSRFToken": token}
    )
    async with posting as answered:
        return answered.status, await answered.text()


def test_tools_say_that_the_disk_is_full(tmp_path: Path, model: ScriptedModel, person: Person) -> None:
    """The records are elsewhere: only the workspace is full. A file is there whole, or as it was before."""
    text = "A line of a text that is long.\n" * 4000
    calls = [
        Call("write_file", {"path": "new.txt", "content": text}),
        Call("write_file", {"path": "old.txt", "content": text}),
        Call("bash", {"command": "head -c 100000 /dev/zero > made || echo it was not made"}),
    ]
    gate = threading.Event()
    model.script(
        Reply(tool_calls=[Call("write_file", {"path": "old.txt", "content": "As it was."})]),
        Reply(text="Now more.", tool_calls=calls, gate=gate, stall_after=1),
        Reply(text="It is full."),
        Reply(tool_calls=calls[:1]),
        Reply(text="Now it went."),
    )
    records = Records(f"sqlite:///{tmp_path / 'db.sqlite3'}")
    made = SmallDisk(
        tmp_path / "data",
        OPENAI_BASE_URL=model.base_url,
        OPENAI_MODEL="scripted",
        DATABASE_URL=f"sqlite:///{tmp_path / 'db.sqlite3'}",
    )
    made.start()
    person.sign_in(made.link)
    conversation = person.begin(made.address, "Write", uuid.uuid4())
    assert conversation
    tab = person.open(made.address, conversation)
    until(lambda: len(model.requests) == 2, made.written)
    workspace = made.disk / "workspaces" / str(conversation)
    with made.full():
        gate.set()
        until(lambda: not records.active(), made.written)
        [turn] = records.turns(conversation)
        outputs = [call.output for call in turn.tool_calls.all()][1:]
        assert [file.name for file in workspace.iterdir() if file.name != "made"] == ["old.txt"]
        assert (workspace / "old.txt").read_text() == "As it was."
    more = tab.send("Again")
    until(lambda: records.started_with(more) and not records.active(), made.written)
    assert (workspace / "new.txt").read_text() == text
    made.stop()
    assert [output.splitlines()[0] for output in outputs] == [
        "Error: new.txt could not be written: the disk is full.",
        "Error: old.txt could not be written: the disk is full.",
        "head: error writing 'standard output': No space left on device",
    ]
    records.close()
