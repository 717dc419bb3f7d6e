"""What a tab is told to show beside the turns is what is drawn, whatever changes in the meantime."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from chat.live.beside import Beside, look_beside
from chat.live.frames import key_frame
from chat.models import Conversation, Turn

MOST_QUERIES = 60


@pytest.fixture
def conversation(owner: User) -> Conversation:
    """One whose first turn waits, so that what is said next is held."""
    return Conversation.begin(owner, "Hello", uuid.uuid4(), None)


def interrupt(conversation: Conversation) -> None:
    """Hold a message and give another title, as another tab does."""
    fresh = Conversation.objects.get(pk=conversation.pk)
    fresh.send("Held", uuid.uuid4())
    fresh.rename("Called otherwise")


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


def shown_in(html: str) -> tuple[tuple[int, ...], str]:
    """The held messages' keys and the title that a drawing shows."""
    held = tuple(int(pk) for pk in re.findall(r'<li class="follow-up" id="follow-up-(\d+)"', html))
    titles = re.findall(r'hx-target="head &gt; title" hx-swap="innerHTML">([^<]*)<', html)
    return held, titles[0]


@pytest.mark.parametrize("number", range(1, MOST_QUERIES))
def test_a_frame_tells_what_it_shows(conversation: Conversation, number: int) -> None:
    turn = conversation.turns.get()
    with before_query(number, lambda: interrupt(conversation)) as queries:
        frame = key_frame(turn, 0)
    assert len(queries) < MOST_QUERIES
    told = Beside.told(frame["beside"])
    assert shown_in("".join(frame["messages"])) == (told.held, told.title)


def test_a_look_draws_what_it_read(conversation: Conversation) -> None:
    beside, held = look_beside(conversation)
    interrupt(conversation)
    assert beside.messages(conversation, held, beside) == []
    drawn = "".join(beside.messages(conversation, held, Beside()))
    assert shown_in(drawn) == ((), "Hello")


@pytest.mark.parametrize("number", range(1, MOST_QUERIES))
def test_no_page_rests_while_its_turn_is_drawn_at_work(conversation: Conversation, number: int) -> None:
    turn = Turn.claim("worker", conversation.turns.get().pk)
    assert turn
    with before_query(number, lambda: turn.end(Turn.Status.COMPLETED)):
        html = "".join(key_frame(turn, 1)["messages"])
    [drawn] = re.findall(rf'<article class="turn" id="turn-{turn.pk}" data-status="(\w+)"', html)
    [works] = re.findall(r'<main id="conversation"[^>]* data-status="(\w+)"', html)
    assert (drawn == "running") == (works == "running")
