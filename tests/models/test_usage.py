"""Totals of model calls, in memory and in the database."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest

from chat.models import Conversation, SideCall, Step, Turn
from chat.models.usage import TOKENS, Totals


@pytest.fixture
def turn(owner: Any) -> Turn:
    return Conversation.begin(owner, "Look around", uuid.uuid4(), None).turns.get()


def step(turn: Turn, number: int, tokens: int, **more: Any) -> Step:
    return Step.objects.create(turn=turn, number=number, input_tokens=tokens, output_tokens=10, **more)


def test_calls_are_summed_by_currency(turn: Turn) -> None:
    step(turn, 1, 100, cost=Decimal("0.1"), currency="USD", cached_tokens=50)
    step(turn, 2, 200, cost=Decimal("0.2"), currency="USD", reasoning_tokens=5)
    step(turn, 3, 300, cost=Decimal("0.4"), currency="EUR")
    step(turn, 4, 400, estimated=True)
    SideCall.objects.create(turn=turn, purpose="title", input_tokens=7, output_tokens=1)
    totals = Totals.of_conversation(turn.conversation_id)
    costs = (("EUR", Decimal("0.4")), ("USD", Decimal("0.3")))
    assert totals == Totals(5, 1007, 41, 50, 5, True, costs, unpriced=True)
    assert totals == Totals.of([*turn.steps.all(), *turn.side_calls.all()])
    assert totals.amount(TOKENS) == 1048
    assert (totals.amount("USD"), totals.amount("GBP")) == (Decimal("0.3"), 0)


def test_calls_that_took_nothing_count_nothing(turn: Turn) -> None:
    Step.objects.create(turn=turn, number=1)
    assert Totals.of_conversation(turn.conversation_id) == Totals.of(turn.steps.all()) == Totals()


def test_a_conversation_is_all_its_turns_and_no_others(turn: Turn, owner: Any) -> None:
    other = Conversation.begin(owner, "Another", uuid.uuid4(), None).turns.get()
    turn.request_stop()
    later = turn.conversation.start_turn("And now", uuid.uuid4())
    for each, tokens in ((turn, 1), (later, 10), (other, 100)):
        step(each, 1, tokens)
    assert Totals.of_conversation(turn.conversation_id).input_tokens == 11


def test_they_are_summed_in_one_query(turn: Turn, django_assert_num_queries: Any) -> None:
    for number in range(20):
        step(turn, number, 100, cost=Decimal(1), currency="USD")
    with django_assert_num_queries(1):
        Totals.of_conversation(turn.conversation_id)
