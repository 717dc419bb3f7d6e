"""Questions outlive every process: killed while one waits, the site still asks, and goes on when answered."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat.demo.reply import Call, Reply
from chat.models import Profile, ToolCall, Turn
from tests.faults import promises
from tests.faults.machines import Machines, machines
from tests.faults.person import Person
from tests.faults.records import ALIAS
from tests.model_server import ScriptedModel
from tests.serving import until

TASK = "Leave a trace"


@pytest.fixture
def site(tmp_path: Path, model: ScriptedModel, person: Person) -> Iterator[Machines]:
    """Two web processes and a worker, with an agent that asks before it leaves its trace."""
    model.script(
        Reply(tool_calls=[Call("bash", {"command": "echo one >> traces; echo left one"})]),
        Reply(text="Left."),
    )
    with machines(tmp_path, model, webs=2, workers=1) as made:
        person.sign_in(made.webs[0].link)
        yield made


class Case:
    """The conversation, its turn and its call, as the rows tell them."""

    def __init__(self, site: Machines, person: Person) -> None:
        self.site = site
        self.person = person
        site.records.close()
        asks = Profile.objects.using(ALIAS).get(title="Asks first")
        address = site.webs[0].address
        where = person.post(f"{address}/", text=TASK, client_id=str(uuid.uuid4()), profile=str(asks.pk))
        self.id = uuid.UUID(where.split("/")[-2])
        until(lambda: self.turn.status == "waiting", self.state)

    @property
    def turn(self) -> Turn:
        [turn] = self.site.records.turns(self.id)
        return turn

    @property
    def call(self) -> ToolCall:
        [call] = self.turn.tool_calls.all()
        return call

    def page(self, web: int = 0) -> str:
        return self.person.get(f"{self.site.webs[web].address}/conversations/{self.id}/")

    def answer(self, decision: str, web: int = 0) -> None:
        address = f"{self.site.webs[web].address}/conversations/{self.id}/tool-calls/{self.call.pk}/decide/"
        self.person.post(address, decision=decision)

    def check(self, left: list[str]) -> None:
        """The turn ended as it should, and the command ran as often as it should."""
        until(lambda: not self.turn.is_active, self.state)
        turn = self.turn
        assert turn.status == "completed", turn.status_message
        promises.check_ended([turn])
        promises.check_page(self.page(), [turn])
        traces = self.site.data / "workspaces" / str(self.id) / "traces"
        assert (traces.read_text().split() if traces.exists() else []) == left

    def state(self) -> str:
        return f"{self.turn}: {self.turn.status_message}\n{self.site.workers[0].written()}"


def test_kills_of_everything_while_a_question_waits(site: Machines, person: Person) -> None:
    case = Case(site, person)
    tab = person.open(site.webs[0].address, case.id)
    tab.until("Allow once")
    site.workers[0].kill()
    site.webs[0].kill()
    site.workers[0].start()
    site.webs[0].start()
    assert case.turn.status == "waiting"
    assert "Allow once" in case.page()
    case.answer("once")
    case.check(["one"])
    assert case.turn.crash_count == 0, "nobody held it, so nobody died of it"
    tab.until("left one")


def test_a_worker_killed_after_the_answer(site: Machines, person: Person) -> None:
    """Answered while no worker lives: the next one takes the turn up, and asks for nothing again."""
    case = Case(site, person)
    site.workers[0].kill()
    case.answer("once")
    assert case.turn.status == "queued"
    assert "Allow once" not in case.page()
    site.workers[0].start()
    case.check(["one"])
    assert case.call.decision == "once"


def test_an_answer_on_one_machine_is_seen_on_another(site: Machines, person: Person) -> None:
    case = Case(site, person)
    tab = person.open(site.webs[0].address, case.id)
    tab.until("Allow once")
    site.redis.freeze()  # no doorbell rings: what is seen comes from the rows
    try:
        case.answer("denied", web=1)
        until(lambda: not case.turn.is_active, case.state)
        tab.until("Denied by you")
    finally:
        site.redis.wake()
    case.check([])
