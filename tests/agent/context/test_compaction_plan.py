"""What is left out of a conversation, whatever it was like."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chat.agent import Compacted
from chat.agent.context import as_sent, compacted
from chat.agent.context.annotations import last_turn, sent
from chat.agent.context.context import Plan, latest_step
from chat.agent.meter import message_tokens
from tests.agent.context.histories import histories
from tests.agent.context.small_window import check_valid

Messages = list[dict[str, Any]]
SYSTEM = {"role": "system", "content": "You are an agent."}
SUMMARY = "<summary>\nIt was said.\n</summary>"


def counts(messages: Messages) -> list[int]:
    return [message_tokens(sent(message)) for message in messages]


def made(messages: Messages, space: int) -> tuple[Plan, Messages]:
    """The plan for so many tokens, and what is left of the messages."""
    plan = Plan(messages, counts(messages), space, "en")
    plan.make()
    plan.cut_latest()
    event = Compacted(1, len(messages), plan.shortened, plan.kept_from, SUMMARY if plan.kept_from else "")
    return plan, compacted(messages, event)


few = settings(max_examples=40)
spaces = st.sampled_from([200, 1000, 5000, 20_000])


@few
@given(histories, spaces)
def test_what_is_left_is_a_valid_history(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    check_valid([SYSTEM, *as_sent(left, "en")])


@few
@given(histories, spaces)
def test_the_persons_words_in_the_latest_turn_stay(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    begin = last_turn(left)
    said = "\n\n".join(message["content"] for message in left[begin:] if message["role"] == "user")
    before = [message["content"] for message in messages[last_turn(messages) :] if message["role"] == "user"]
    assert said == "\n\n".join(before)


@few
@given(histories, spaces)
def test_the_latest_results_stay_whole_where_they_can(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    first = latest_step(messages)
    if last_turn(messages) < first and sum(counts(messages[last_turn(messages) :])) <= space // 4:
        assert left[len(left) - len(messages) + first :] == messages[first:]


@few
@given(histories, spaces)
def test_it_fits_unless_the_persons_own_words_do_not(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    said = sum(counts([message for message in left[last_turn(left) :] if message["role"] != "tool"]))
    results = sum(message["role"] == "tool" for message in left)
    assert sum(counts(left)) <= max(space, said + results * 128)


@few
@given(histories, spaces)
def test_what_is_short_enough_stays_as_it_is(messages: Messages, space: int) -> None:
    if sum(counts(messages)) <= space // 2:
        assert made(messages, space)[1] == messages


@few
@given(histories, spaces, spaces)
def test_it_can_be_done_again_and_again(messages: Messages, space: int, less: int) -> None:
    _plan, left = made(messages, space)
    _plan, least = made(left, less)
    check_valid([SYSTEM, *as_sent(least, "en")])
    assert sum("carried" in message for message in least) <= 1
