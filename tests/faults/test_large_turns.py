"""Turns and conversations of any size: every tab soon shows the record, no frame is large, memory stays.

The sizes here are enough to see any that grows with them; a soak takes the full ones.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from chat.demo.reply import Reply
from tests.agentsite.test_guard import is_ready
from tests.agentsite.wire import memory
from tests.faults.careful_tab import CarefulTab, shown_by
from tests.faults.conftest import SLOWER, SOAK
from tests.faults.person import Person
from tests.faults.records import Records
from tests.model_server import ScriptedModel
from tests.serving import Served, serving, until

ANSWER = 1_000_000 if SOAK else 200_000  # characters
OUTPUTS = 50 if SOAK else 10
CALLS = 200 if SOAK else 40
ITEMS = 100
TURNS = 500 if SOAK else 50
PARAGRAPH = f"{'A sentence of some words with **weight** and `code`. ' * 5}\n\n- one\n- two\n\n"
LISTS = 3  # that a turn writes

SOON = 2.0 * SLOWER  # seconds after a turn's end
LARGE = 256 * 1024  # characters of a frame
GROWTH = 30.0  # MiB

LIMITS = (
    f"from chat.models import Profile; Profile.objects.update(max_todos={ITEMS}, max_tool_calls={CALLS + 1})"
)
LONG_CONVERSATION = f"""
import uuid
from chat.models import Conversation, Message, Turn, site_owner
made = Conversation.objects.create(owner=site_owner(), title="Long")
for number in range({TURNS}):
    turn = Turn.objects.create(conversation=made, client_id=uuid.uuid4(), status="completed")
    Message.objects.create(turn=turn, role="user", text=f"question {{number}}")
    Message.objects.create(turn=turn, role="assistant", text="answer " * 100)
print(made.pk)
"""
DONE = Reply(text="Done.")


class TimedTab(CarefulTab):
    """Knows when it last showed something new."""

    latest = 0.0

    def _take_in(self, data: str) -> None:
        super()._take_in(data)
        self.latest = time.monotonic()


@dataclass
class Taken:
    """What a turn took: seconds from its end until both tabs showed the record, characters, MiB of memory."""

    seconds: float
    largest: int
    sent: int
    grown: float

    def __str__(self) -> str:
        frames = f"largest frame {self.largest / 1024:.0f} KB of {self.sent / 1024:.0f} KB"
        return f"{self.seconds:.2f} s, {frames}, {self.grown:+.0f} MiB"


@dataclass
class Large:
    """A served site whose model does much, and its user."""

    served: Served
    person: Person
    model: ScriptedModel

    def turn(self, conversation: uuid.UUID, *replies: Reply) -> Taken:
        """A turn with these replies, before two tabs that show the conversation."""
        site, tabs = self.served, [self._tab(conversation) for _ in range(2)]
        address = f"{site.address}/conversations/{conversation}/"
        page = f"{address}?from=all"
        before = shown_by(self.person.get(page))
        until(lambda: all(tab.display == before for tab in tabs), site.written)
        known, start = [len(tab.received) for tab in tabs], memory(site)
        self.model.script(*replies)
        self.person.post(f"{address}messages/", text="Go on", client_id=str(uuid.uuid4()))
        ended = self.end()
        fresh = shown_by(self.person.get(page))
        until(lambda: all(tab.display == fresh for tab in tabs), site.written)
        grown = memory(site) - start
        sent = [[len(each) for each in tab.received[at:]] for tab, at in zip(tabs, known, strict=True)]
        for tab in tabs:
            self.person.close(tab)
        seconds = max(tab.latest for tab in tabs) - ended
        return Taken(seconds, max(map(max, sent)), max(map(sum, sent)), grown)

    def _tab(self, conversation: uuid.UUID) -> TimedTab:
        address = f"{self.served.address.replace('http', 'ws')}/ws/conversations/{conversation}/"
        self.person.tabs.append(tab := TimedTab(self.person, address, self.served.address))
        return tab

    def end(self) -> float:
        """When no turn is active any more, by the monotonic clock."""
        records = Records(f"sqlite:///{self.served.data / 'db.sqlite3'}")
        until(lambda: not records.active(), self.served.written, 300)
        records.close()
        return time.monotonic()


def outputs() -> Iterator[Reply]:
    """Commands that print 64 KB, four a step."""
    for first in range(0, OUTPUTS, 4):
        numbers = range(first, min(first + 4, OUTPUTS))
        command = "yes a line of some words | head -c 64000; echo"
        yield Reply(tool_calls=[("bash", {"command": f"{command} {number}"}) for number in numbers])
    yield DONE


def calls() -> Iterator[Reply]:
    """Looks at a file that is not there, ten a step."""
    for first in range(0, CALLS, 10):
        yield Reply(tool_calls=[("read_file", {"path": f"{first + each}.txt"}) for each in range(10)])
    yield DONE


def lists() -> Iterator[Reply]:
    """Lists as long as the profile allows, streamed a few characters at a time."""
    for done in range(LISTS):
        items = [
            {
                "content": f"Item {number} of many, in some words",
                "status": "completed" if number < done else "pending",
                "activeForm": f"Doing item {number}",
            }
            for number in range(ITEMS)
        ]
        yield Reply(tool_calls=[("TodoWrite", {"items": items})], piece=100)
    yield DONE


@pytest.fixture
def large(model: ScriptedModel, person: Person) -> Iterator[Large]:
    with serving(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="scripted") as served:
        served.shell(LIMITS)
        until(lambda: is_ready(served), served.written)
        person.sign_in(served.link)
        yield Large(served, person, model)


def test_turns_of_any_size(large: Large) -> None:
    large.model.script(
        Reply(tool_calls=[("bash", {"command": "true"})]), DONE
    )  # what is loaded once is loaded
    begun = large.person.begin(large.served.address, "Hello", uuid.uuid4())
    assert begun
    large.end()
    long = uuid.UUID(large.served.shell(LONG_CONVERSATION))
    answer = Reply(text=PARAGRAPH * (ANSWER // len(PARAGRAPH)), piece=500, delay=0.002)
    turns = {
        f"{OUTPUTS} outputs of 64 KB": (begun, [*outputs()], LARGE),
        f"{CALLS} calls": (begun, [*calls()], LARGE),
        f"{LISTS} lists of {ITEMS}": (begun, [*lists()], LARGE),
        f"a conversation of {TURNS} turns": (long, [DONE], LARGE),
        # It is there to be read, so it is not folded: its last frame has all of it, as HTML.
        f"an answer of {ANSWER} characters": (begun, [answer], 3 * ANSWER),
    }
    for name, (conversation, replies, largest) in turns.items():
        taken = large.turn(conversation, *replies)
        print(f"{name}: {taken}")  # noqa: T201 (shown when a test fails, and in a soak)
        assert taken.seconds < SOON, name
        assert taken.largest < largest, name
        assert taken.grown < GROWTH, name
    assert taken.sent < 8 * ANSWER
    assert not large.model.replies
