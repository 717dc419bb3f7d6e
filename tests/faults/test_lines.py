"""Bad lines: between browser and site, and between worker and model."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from chat.demo.reply import Reply
from tests.faults.conftest import SOAK
from tests.faults.person import Person
from tests.faults.proxy import Proxy
from tests.faults.records import Records
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.serving import Served, serving, until

LONG = "A paragraph of many words, which is said in pieces.\n\n" * 12


@pytest.fixture(scope="module")
def shared_model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as made:
        yield made


@pytest.fixture(scope="module")
def way_to_model(shared_model: ScriptedModel) -> Iterator[Proxy]:
    with Proxy(urlsplit(shared_model.base_url).port or 0) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def served(way_to_model: Proxy) -> Iterator[Served]:
    with serving(OPENAI_BASE_URL=f"{way_to_model.address}/v1", OPENAI_MODEL="scripted") as made:
        yield made


@pytest.fixture
def records(served: Served) -> Iterator[Records]:
    made = Records(f"sqlite:///{served.data / 'db.sqlite3'}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def home(served: Served) -> Iterator[Person]:
    with Person() as person:
        person.sign_in(served.link)
        yield person


@pytest.fixture(autouse=True)
def well(shared_model: ScriptedModel, way_to_model: Proxy) -> None:
    """Nothing is left of the test before."""
    shared_model.replies.clear()
    shared_model.answer = None
    way_to_model.latency = way_to_model.drip = 0.0
    way_to_model.flow()


@pytest.mark.parametrize("fault", [Proxy.cut, Proxy.reset, Proxy.stall] if SOAK else [Proxy.cut])
def test_a_tab_has_no_hole_after_five_seconds_without_a_line(
    served: Served,
    home: Person,
    records: Records,
    shared_model: ScriptedModel,
    fault: Callable[[Proxy], None],
) -> None:
    shared_model.script(Reply(text=LONG, piece=5, delay=0.04))
    with Proxy(served.port) as line:
        conversation = home.begin(served.address, "Speak long", uuid.uuid4())
        assert conversation
        tab = home.open(line.address, conversation)
        tab.until("A paragraph")
        fault(line)
        time.sleep(5)  # the cut itself
        line.flow()
        mended = time.monotonic()
        until(lambda: not records.active(), served.written)
        [turn] = records.turns(conversation)
        page = home.get(f"{served.address}/conversations/{conversation}/")
        until(lambda: tab.shown(turn.pk) == article(page, turn))
        print(f"{fault.__name__}: no hole {time.monotonic() - mended:.1f} s after")  # noqa: T201
    assert turn.status == "completed"


@pytest.mark.parametrize("latency", [0.0, 0.15])
def test_a_slow_line_tells_everything(
    served: Served, home: Person, records: Records, shared_model: ScriptedModel, latency: float
) -> None:
    """Byte by byte, or each piece late."""
    shared_model.script(Reply(text=LONG[:100], piece=20))
    with Proxy(served.port) as line:
        line.latency, line.drip = latency, 0.0 if latency else 0.0001
        conversation = home.begin(served.address, "Speak", uuid.uuid4())
        assert conversation
        tab = home.open(line.address, conversation)
        until(lambda: not records.active(), served.written)
        [turn] = records.turns(conversation)
        page = home.get(f"{served.address}/conversations/{conversation}/")
        until(lambda: tab.shown(turn.pk) == article(page, turn))


@pytest.mark.parametrize("fault", [Proxy.end, Proxy.reset, Proxy.half_close])
def test_a_reply_that_is_cut_is_never_taken_for_whole(
    served: Served,
    home: Person,
    records: Records,
    shared_model: ScriptedModel,
    way_to_model: Proxy,
    fault: Callable[[Proxy], None],
) -> None:
    """The turn fails, says why, keeps what was said, and the next one works."""
    gate = threading.Event()
    shared_model.script(Reply(text=LONG, piece=6, stall_after=4, gate=gate))
    conversation = home.begin(served.address, "Speak long", uuid.uuid4())
    assert conversation
    tab = home.open(served.address, conversation)
    tab.until("A paragraph")
    fault(way_to_model)
    until(lambda: not records.active(), served.written)
    gate.set()
    [turn] = records.turns(conversation)
    assert turn.status == "failed"
    assert turn.status_message.endswith(".")
    assert "A paragraph" in turn.rows()[-1].text  # type: ignore[union-attr]
    page = home.get(f"{served.address}/conversations/{conversation}/")
    until(lambda: tab.shown(turn.pk) == article(page, turn))
    shared_model.script(Reply(text="All is well."))
    more = tab.send("And now?")
    until(lambda: records.started_with(more) and not records.active(), served.written)
    assert records.started_with(more)[0].status == "completed"


def test_a_reply_that_stalls_can_be_stopped(
    served: Served, home: Person, records: Records, shared_model: ScriptedModel, way_to_model: Proxy
) -> None:
    gate = threading.Event()
    shared_model.script(Reply(text=LONG, piece=6, stall_after=4, gate=gate))
    conversation = home.begin(served.address, "Speak long", uuid.uuid4())
    assert conversation
    tab = home.open(served.address, conversation)
    tab.until("A paragraph")
    way_to_model.stall()
    gate.set()
    home.post(f"{served.address}/conversations/{conversation}/stop/")
    until(lambda: not records.active(), served.written)
    assert records.turns(conversation)[0].status == "stopped"
