"""A page reports what it has and is sent what it lacks, whatever changes in the meantime."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection

from chat.live.broadcast import whole_turn
from chat.live.frames import END, Position
from chat.live.regions import REGIONS, ConversationState, comparable_states_of, state_of
from chat.live.resync import Coalescer, Have, drawn_regions, drawn_turn, lacking, turns_after
from chat.live.stream import TurnStream
from chat.models import Conversation, FollowUp, TodoRevision, Turn
from tests.live.site import REGION, PageState

MOST_QUERIES = 60


@pytest.fixture
def conversation(owner: User) -> Conversation:
    """One whose first turn waits, so that what is said next is held."""
    return Conversation.begin(owner, "Hello", uuid.uuid4(), None)


def interrupt(conversation: Conversation) -> None:
    """Hold a message, give another title, and pin it, as another tab does."""
    fresh = Conversation.objects.get(pk=conversation.pk)
    fresh.send("Held", uuid.uuid4())
    fresh.rename("Another title")
    Conversation.objects.filter(pk=fresh.pk).update(pinned=True)


def revert(conversation: Conversation) -> None:
    """Take all that back."""
    for held in FollowUp.held_in(conversation.pk):
        held.take_back()
    Conversation.objects.get(pk=conversation.pk).rename("Hello")
    Conversation.objects.filter(pk=conversation.pk).update(pinned=False)


@contextmanager
def before_query(number: int, deed: Callable[[], None]) -> Iterator[list[str]]:
    """Do something just before the query of that number; gives the queries."""
    queries: list[str] = []

    def run(execute: Any, sql: str, *rest: Any) -> Any:
        queries.append(sql)
        if len(queries) == number:
            deed()
        return execute(sql, *rest)

    with connection.execute_wrapper(run):
        yield queries


def state(conversation: Conversation) -> ConversationState:
    return comparable_states_of([conversation.pk])[conversation.pk]


def versions(html: str) -> dict[str, str]:
    return dict(REGION.findall(html))


@pytest.mark.parametrize("reverts", [False, True])
def test_what_a_page_shows_in_the_current_version_is_current(
    conversation: Conversation, reverts: bool
) -> None:
    """Whatever changes while regions are read: a page with the current version shows the current state."""
    for name in sorted(set(REGIONS) - {"sidebar"}):  # who changes what the list shows publishes it
        for number in range(1, MOST_QUERIES):
            with before_query(number, lambda: interrupt(conversation)) as queries:
                drawn = drawn_regions(state(conversation), [name])
            if number > len(queries):
                break
            if reverts:
                revert(conversation)
            now = state(conversation)
            if versions(drawn).get(name) == REGIONS[name].version(now):
                assert drawn == drawn_regions(now, [name]), f"{name}, query {number}"
            revert(conversation)
        assert number < MOST_QUERIES


def test_no_page_rests_while_its_turn_is_drawn_as_running(conversation: Conversation) -> None:
    for number in range(1, MOST_QUERIES):
        turn = Turn.claim("worker", conversation.turns.last().pk)
        assert turn
        stream = TurnStream(turn)
        with before_query(number, lambda turn=turn: turn.end(Turn.Status.COMPLETED)) as queries:  # type: ignore[misc]
            html = stream._whole_frame()
        async_to_sync(stream.close)()
        assert len(queries) < MOST_QUERIES
        [drawn] = re.findall(rf'<article class="turn" id="turn-{turn.pk}" data-status="(\w+)"', html)
        [works] = re.findall(r'<main id="conversation"[^>]* data-status="(\w+)"', html)
        assert (drawn == "running") == (works == "running")
        if number > len(queries):
            return
        conversation.send("And again", uuid.uuid4())
    pytest.fail("the frame never came to its end")


def test_a_turn_that_a_worker_has_is_not_drawn_by_others(conversation: Conversation) -> None:
    """Their frame would have the number of one of the worker's, which pages would then drop."""
    turn = conversation.turns.last()
    assert f'id="turn-{turn.pk}" data-status="queued"' in whole_turn(turn)[1]
    claimed = Turn.claim("worker", turn.pk)
    assert claimed
    assert whole_turn(turn) == (conversation.owner_id, "")
    claimed.end(Turn.Status.COMPLETED)
    assert f'id="turn-{turn.pk}" data-status="completed"' in whole_turn(turn)[1]


def test_a_frame_that_ends_a_turn_has_the_list_that_it_wrote(conversation: Conversation) -> None:
    """A worker reads for a frame of the turn's beginning, and meanwhile the turn writes its list and ends."""
    item = {"id": "1", "content": "Look", "status": "completed", "active_form": "Looking"}

    def list_and_end(turn: Turn) -> None:
        step = turn.steps.create(number=1)
        call = turn.tool_calls.create(step=step, index=0, call_id="call_1", name="TodoWrite", arguments="{}")
        TodoRevision.objects.create(conversation=conversation, turn=turn, tool_call=call, items=[item])
        turn.end(Turn.Status.COMPLETED)

    for number in range(1, MOST_QUERIES):
        turn = Turn.claim("worker", conversation.turns.last().pk)
        assert turn
        stream = TurnStream(turn)
        with before_query(number, lambda turn=turn: list_and_end(turn)) as queries:  # type: ignore[misc]
            html = stream._whole_frame()
        async_to_sync(stream.close)()
        if html.startswith(f"<!--{turn.pk}.{turn.fence}.{END} "):
            assert f'id="todo-panel" class="todo-panel" data-turn="{turn.pk}"' in html, f"query {number}"
        if number > len(queries):
            return
        TodoRevision.objects.all().delete()
        conversation.send("And again", uuid.uuid4())
    pytest.fail("the frame never came to its end")


def test_a_page_lacks_what_it_does_not_have(conversation: Conversation) -> None:
    now = state(conversation)
    everything = {name: region.version(now) or "" for name, region in REGIONS.items()}
    turn = now.position.turn
    assert now.position == Position(turn, 0, 0)
    assert not lacking(now, Have(now.position, everything))
    assert lacking(now, Have(now.position, everything | {"title": "old"})).regions == ("title",)
    assert not lacking(now, Have(Position(turn, 0, 7), everything)), "a page may be ahead of the rows"
    behind = lacking(now, Have(Position(turn - 1, 3, END), everything))
    assert behind.turns
    assert set(behind.regions) == {"meter", "panel", "sidebar"}, (
        "a worker keeps these up to date with its frames"
    )
    assert turns_after(now, Have(Position(turn - 1, 3, END))) == [turn]
    assert lacking(now, Have()).regions, "who says nothing is sent everything"


def test_a_page_asked_about_a_running_turn_gets_it_whole_when_frames_are_missing(
    conversation: Conversation,
) -> None:
    turn = Turn.claim("worker", conversation.turns.get().pk)
    assert turn
    turn.frame = 12
    turn.update_leased()
    now = state(conversation)
    assert not lacking(now, Have(Position(turn.pk, 1, 12), _versions(now)))
    assert lacking(now, Have(Position(turn.pk, 1, 11), _versions(now))).turns
    assert turns_after(now, Have(Position(turn.pk, 1, 11))) == [turn.pk]
    page = PageState((turn.pk, 1, 9))
    assert page.takes(f"<!--{turn.pk}.1.14-->") is None, "a gap"
    assert page.takes(drawn_turn(now, turn.pk))
    assert page.at == (turn.pk, 1, 14), "what came while the rows were read is in them"


def test_a_page_that_is_ahead_of_the_rows_does_not_miss_the_end_of_a_turn(conversation: Conversation) -> None:
    """It gets frames while it asks; the turn ends and the next begins while it is answered."""
    turn = Turn.claim("worker", conversation.turns.get().pk)
    assert turn
    page = PageState((turn.pk, 1, 9))
    turn.frame = 8  # rows are saved after frames are sent
    turn.update_leased()
    asked = Have()
    now = state(conversation)
    turn.end(Turn.Status.STOPPED)
    following = conversation.send("Rather this", uuid.uuid4())
    assert isinstance(following, Turn)
    for key in turns_after(now, asked):
        page.takes(drawn_turn(now, key))
    assert page.at[0] == turn.pk, "it still takes in the frame that ends the turn"
    later = state(conversation)
    for key in turns_after(later, Have(Position(*page.at))):
        assert page.takes(drawn_turn(later, key))
    assert page.at == (following.pk, 0, 0)


def _versions(now: ConversationState) -> Mapping[str, str]:
    return {name: region.version(now) or "" for name, region in REGIONS.items()}


def test_the_page_carries_every_version(conversation: Conversation, browser_of: Any, owner: User) -> None:
    html = browser_of(owner).get(f"/conversations/{conversation.pk}/").content.decode()
    now = state_of(conversation)
    assert versions(html) == _versions(now) | {"transcript": "0"}
    assert f'data-at="{now.position}"' in html


class Counted:
    """Work that can be held up; it answers with how often it had begun by then."""

    def __init__(self) -> None:
        self.begun = 0
        self.gate = asyncio.Event()
        self.fails = False

    async def __call__(self, keys: list[str]) -> Mapping[str, int]:
        self.begun += 1
        number = self.begun
        await self.gate.wait()
        if self.fails:
            raise ValueError(number)
        return dict.fromkeys(keys, number)


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_questions_that_arrive_during_a_run_share_the_next() -> None:
    work = Counted()
    ask = Coalescer(work)
    first = [asyncio.ensure_future(ask(key)) for key in "ab"]
    await settled()
    later = [asyncio.ensure_future(ask(key)) for key in "abbc"]
    await settled()
    assert work.begun == 1
    work.gate.set()
    assert await asyncio.gather(*first) == [1, 1]
    assert await asyncio.gather(*later) == [2] * 4
    assert await ask("a") == 3


async def test_a_run_goes_on_when_somebody_stops_waiting() -> None:
    work = Counted()
    ask = Coalescer(work)
    asked = [asyncio.ensure_future(ask("a")) for _ in range(2)]
    asked.pop(0).cancel()
    await settled()
    work.gate.set()
    assert await asked[0] == 1


async def test_a_run_that_fails_is_seen_by_all_who_share_it_and_the_next_is_tried() -> None:
    work = Counted()
    ask = Coalescer(work)
    work.fails = True
    asked = [asyncio.ensure_future(ask("a")) for _ in range(2)]
    await settled()
    later = asyncio.ensure_future(ask("a"))
    work.gate.set()
    told = await asyncio.gather(*asked, later, return_exceptions=True)
    assert [error.args for error in told if isinstance(error, ValueError)] == [(1,), (1,), (2,)]
    work.fails = False
    assert await ask("a") == 3
