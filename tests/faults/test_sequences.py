"""Whatever a user and chance do in whatever order, every promise holds; Hypothesis makes it up."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chat.demo.reply import Call, Reply, Request
from chat.models import FollowUp
from tests.faults import promises
from tests.faults.conftest import SOAK
from tests.faults.person import AWAY, Person, Tab
from tests.faults.records import ALIAS, Records
from tests.faults.work import items, plan
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.serving import Served, until

EXAMPLES = 150 if SOAK else 5

REPLIES: dict[str, Callable[[], Reply]] = {
    "text": lambda: Reply(text="That is all."),
    "slow text": lambda: Reply(text="This takes a moment to say.", piece=4, delay=0.05),
    "command": lambda: Reply(tool_calls=[Call("bash", {"command": "echo here"})]),
    "failing command": lambda: Reply(text="I try.", tool_calls=[Call("bash", {"command": "exit 3"})]),
    "list": lambda: Reply(tool_calls=[plan(done=False)]),
    "refused list": lambda: Reply(tool_calls=[Call("TodoWrite", {"items": [{"content": ""}]})]),
    "unknown tool": lambda: Reply(tool_calls=[Call("nonsense", {}), Call("read_file", "{broken")]),
    "refusal": lambda: Reply(status=400, body={"error": {"message": "I will not."}}),
    "cut": lambda: Reply(text="This is cut off here.", piece=4, cut_after=3),
}
ACTIONS = st.one_of(
    st.tuples(st.just("send"), st.lists(st.sampled_from(sorted(REPLIES)), max_size=3)),
    st.tuples(st.sampled_from(["stop", "reconnect", "settle"]), st.none()),
    st.tuples(st.just("kill"), st.none()),
)


class Story:
    """One conversation, and what was accepted in it."""

    def __init__(self, served: Served, model: ScriptedModel, person: Person, records: Records) -> None:
        self.served = served
        self.model = model
        self.person = person
        self.records = records
        self.sent: dict[uuid.UUID, str] = {}
        model.replies.clear()
        model.take_requests()
        model.answer = self._answer
        first = uuid.uuid4()
        self.sent[first] = "Message 0"
        begun = person.begin(served.address, self.sent[first], first)
        assert begun
        self.conversation = begun
        self.tab = self._open()

    def send(self, replies: list[str]) -> None:
        """Send a message, again until it is accepted, and then once more."""
        self.model.script(*(REPLIES[name]() for name in replies))
        client_id, text = uuid.uuid4(), f"Message {len(self.sent)}"
        until(lambda: self._sent(text, client_id) and self.tab.accepted(client_id), self.served.written)
        self.sent[client_id] = text
        self._sent(text, client_id)

    def stop(self, _: None) -> None:
        self.person.post(f"{self.served.address}/conversations/{self.conversation}/stop/", then="send")

    def reconnect(self, _: None) -> None:
        self.person.close(self.tab)
        self.tab = self._open()

    def settle(self, _: None) -> None:
        """Wait until nothing runs and nothing is held; what a failed turn left held is sent on."""
        until(self._is_quiet, self.served.written)

    def kill(self, _: None) -> None:
        self.served.kill()
        self.served.start()

    def check(self) -> None:
        self.settle(None)
        turns = self.records.turns(self.conversation)
        page = self.person.get(f"{self.served.address}/conversations/{self.conversation}/?from=all")
        said = [m.text for turn in turns for m in turn.messages.all() if m.role == "user"]
        assert [line for text in said for line in text.split("\n\n")] == list(self.sent.values())
        promises.check_ended(turns)
        promises.check_page(page, turns)
        listed = any(hasattr(call, "revision") for turn in turns for call in turn.tool_calls.all())
        promises.check_list(page, turns, items(done=False) if listed else None)
        for request in self.model.requests:
            promises.check_history(request["messages"])
        until(lambda: self.tab.shown(turns[-1].pk) == article(page, turns[-1]))

    def _answer(self, _request: Request) -> Reply:
        return self.model.replies.popleft() if self.model.replies else Reply(text="Nothing more.")

    def _open(self) -> Tab:
        tab = self.person.open(self.served.address, self.conversation)
        until(lambda: tab.received)
        return tab

    def _sent(self, text: str, client_id: uuid.UUID) -> bool:
        try:
            self.tab.send(text, client_id)
        except AWAY:
            return False
        return True

    def _is_quiet(self) -> bool:
        if self.records.active():
            return False
        held = FollowUp.objects.using(ALIAS).filter(conversation=self.conversation, status="held")
        if not held.exists():
            return True
        self.person.post(f"{self.served.address}/conversations/{self.conversation}/follow-ups/send/")
        return False


@pytest.fixture(scope="module")
def place(tmp_path_factory: Any) -> Iterator[tuple[Served, ScriptedModel, Person]]:
    with ScriptedModel() as model, Person() as person:
        data = tmp_path_factory.mktemp("sequences") / "data"
        served = Served(data, OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted")
        served.start()
        person.sign_in(served.link)
        yield served, model, person
        served.kill()


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    phases=[Phase.explicit, Phase.generate],  # each example starts processes, so a smaller one costs minutes
    database=None,
)
@given(actions=st.lists(ACTIONS, min_size=2, max_size=8))
def test_any_sequence(
    place: tuple[Served, ScriptedModel, Person], actions: list[tuple[str, list[str] | None]]
) -> None:
    records = Records(f"sqlite:///{place[0].data / 'db.sqlite3'}")
    story = Story(*place, records)
    for name, what in actions:
        getattr(story, name)(what)
    story.check()
    story.person.close(story.tab)
    records.close()
