"""Compaction of random conversations."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat.agent import Compacted
from chat.agent.context import compacted, render_messages
from chat.agent.context.annotations import last_turn_start, render_message
from chat.agent.context.context import CompactionPlan, last_reply_index
from chat.agent.meter import message_tokens
from tests.agent.context.small_window import check_valid

Message = dict[str, Any]

sizes = st.sampled_from([1, 30, 300, 1500])
words = sizes.map(lambda size: ("words and " * size)[: size * 4].strip() or "w")
reminders = st.sampled_from(["", "", "Update your todos."])
steps = st.tuples(words, st.lists(words, min_size=1, max_size=3), reminders, st.lists(words, max_size=2))
ended = st.tuples(words, st.lists(steps, max_size=4), words)
at_work = st.tuples(words, st.lists(steps, max_size=6))
histories = st.tuples(st.lists(ended, max_size=6), at_work).map(lambda parts: history(*parts))


def history(turns: list[Any], current: Any) -> list[Message]:
    """The messages of finished turns and of a running one."""
    messages: list[Message] = []
    for question, asked, answer in turns:
        messages += [{"role": "user", "content": question}, *_steps(asked)]
        messages.append({"role": "assistant", "content": answer})
    question, asked = current
    return [*messages, {"role": "user", "content": question}, *_steps(asked)]


def _steps(asked: list[Any]) -> list[Message]:
    messages: list[Message] = []
    for number, (said, results, reminder, notes) in enumerate(asked):
        # Ids are the step's own, as some models number theirs.
        calls = [_call(f"look:{place}", number) for place, _result in enumerate(results)]
        messages.append({"role": "assistant", "content": said, "tool_calls": calls})
        answers: list[Message] = [
            {"role": "tool", "tool_call_id": call["id"], "content": result}
            for call, result in zip(calls, results, strict=True)
        ]
        if reminder:
            answers[0]["reminder"] = reminder
        messages += answers
        messages += [{"role": "user", "content": note, "note": True} for note in notes]
    return messages


def _call(identity: str, number: int) -> Message:
    function = {"name": "read_file", "arguments": f'{{"path": "file-{number}"}}'}
    return {"id": identity, "type": "function", "function": function}


Messages = list[dict[str, Any]]
SYSTEM = {"role": "system", "content": "You are an agent."}
SUMMARY = "<summary>\nIt was said.\n</summary>"


def counts(messages: Messages) -> list[int]:
    return [message_tokens(render_message(message)) for message in messages]


def made(messages: Messages, space: int) -> tuple[CompactionPlan, Messages]:
    """The plan for `space` tokens, and the messages that remain."""
    plan = CompactionPlan(messages, counts(messages), space, "en")
    plan.build()
    plan.cut_latest_results()
    event = Compacted(1, len(messages), plan.shortened, plan.kept_from, SUMMARY if plan.kept_from else "")
    return plan, compacted(messages, event)


few = settings(max_examples=40)
spaces = st.sampled_from([200, 1000, 5000, 20_000])


@few
@given(histories, spaces)
def test_what_is_left_is_a_valid_history(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    check_valid([SYSTEM, *render_messages(left, "en")])


@few
@given(histories, spaces)
def test_the_persons_words_in_the_latest_turn_stay(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    begin = last_turn_start(left)
    said = "\n\n".join(message["content"] for message in left[begin:] if message["role"] == "user")
    before = [
        message["content"] for message in messages[last_turn_start(messages) :] if message["role"] == "user"
    ]
    assert said == "\n\n".join(before)


@few
@given(histories, spaces)
def test_the_latest_results_stay_whole_where_they_can(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    first = last_reply_index(messages)
    if last_turn_start(messages) < first and sum(counts(messages[last_turn_start(messages) :])) <= space // 4:
        assert left[len(left) - len(messages) + first :] == messages[first:]


LONG = ("words and " * 300)[:1200].strip()


@few
@given(histories, spaces)
@example(history([], ("word", [("word", ["word"], "", []), ("word", [LONG], "", [])])), 200)
@example(history([], ("word", [("word", [LONG, LONG], "Update your todos.", [])])), 200)
def test_it_fits_unless_the_persons_own_words_do_not(messages: Messages, space: int) -> None:
    _plan, left = made(messages, space)
    said = sum(counts([message for message in left[last_turn_start(left) :] if message["role"] != "tool"]))
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
    check_valid([SYSTEM, *render_messages(least, "en")])
    assert sum("carried" in message for message in least) <= 1
