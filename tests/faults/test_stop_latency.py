"""From a click on Stop to the terminal state on a screen, in every phase of a turn."""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from chat.demo.reply import Call, Reply
from chat.models import Turn
from tests.faults.conftest import SLOWER, SOAK
from tests.faults.person import Person, Tab
from tests.faults.records import Records
from tests.model_server import ScriptedModel
from tests.serving import Served, serving, until

TIMES = 40 if SOAK else 3
BOUND = 2.0 * SLOWER  # seconds, for each; what a quiet machine needs is printed

Reached = Callable[[Turn], bool]


def connecting(turn: Turn) -> bool:
    return turn.status == "running"


def streaming(turn: Turn) -> bool:
    return any(message.role == "assistant" for message in turn.messages.all())


def waiting(turn: Turn) -> bool:
    return bool(turn.status_message)


def commanding(turn: Turn) -> bool:
    return any(call.status == "running" for call in turn.tool_calls.all())


def queued(turn: Turn) -> bool:
    return turn.status == "queued"


ENDLESS = Reply(text="It goes on and on.", piece=4, stall_after=3)
PHASES: dict[str, tuple[Reply, Reached]] = {
    "connecting": (Reply(text="Late.", first_delay=60), connecting),
    "streaming": (ENDLESS, streaming),
    "retry wait": (Reply(status=503, body="{}", headers={"retry-after": "60"}), waiting),
    "running a command": (Reply(tool_calls=[Call("bash", {"command": "sleep 60"})]), commanding),
    "queued": (ENDLESS, queued),
}


@pytest.fixture
def served(model: ScriptedModel) -> Iterator[Served]:
    with serving(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted", MAX_TURNS="1") as made:
        yield made


def test_stop_is_quick_in_every_phase(served: Served, model: ScriptedModel, person: Person) -> None:
    person.sign_in(served.link)
    records = Records(f"sqlite:///{served.data / 'db.sqlite3'}")
    everything = []
    for phase, (reply, reached) in PHASES.items():
        model.answer = lambda _request, reply=reply: reply
        busy = hold_the_worker(served, person, records) if phase == "queued" else None
        taken = [stopped_in(served, model, person, records, reached) for _ in range(TIMES)]
        if busy:
            person.post(f"{served.address}/conversations/{busy}/stop/")
        print(f"stop while {phase}: {figures(taken)}")  # noqa: T201
        everything += taken
    print(f"stop: {figures(everything)}")  # noqa: T201
    records.close()
    assert max(everything) < BOUND


def hold_the_worker(served: Served, person: Person, records: Records) -> uuid.UUID:
    """Give the worker, which takes one turn at a time, something to do."""
    client_id = uuid.uuid4()
    conversation = person.begin(served.address, "Keep busy", client_id)
    until(lambda: streaming(records.started_with(client_id)[0]))
    assert conversation
    return conversation


def stopped_in(
    served: Served, model: ScriptedModel, person: Person, records: Records, reached: Reached
) -> float:
    """Seconds from the click to the screen."""
    model.take_requests()
    client_id = uuid.uuid4()
    conversation = person.begin(served.address, "Begin", client_id)
    assert conversation
    tab = person.open(served.address, conversation)
    until(lambda: tab.received and reached(records.started_with(client_id)[0]), served.written)
    turn = records.started_with(client_id)[0]
    if turn.status == "running":
        model.wait_for_requests()
    clicked = time.monotonic()
    person.post(f"{served.address}/conversations/{conversation}/stop/")
    while not shows_stopped(tab, turn):
        assert time.monotonic() - clicked < 60, served.written()
        time.sleep(0.001)
    taken = time.monotonic() - clicked
    assert records.started_with(client_id)[0].status == "stopped"
    person.close(tab)
    return taken


def shows_stopped(tab: Tab, turn: Turn) -> bool:
    """Whether the turn itself does; rows of the sidebar have a status as well."""
    return any(f'id="turn-{turn.pk}" data-status="stopped"' in frame for frame in tab.received[-3:])


def figures(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"p50 {statistics.median(ordered) * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, of {len(ordered)}"
