"""The count of rounds; test_reminded_turn tests how reminders are sent."""

from __future__ import annotations

import pytest

from chat.agent.prompts import Language
from chat.agent.todo import Reminders, TodoList, with_first_reminder
from tests.agent.todo.lists import STATES, item, written

LATER = {
    "focused": (11, "11+ turns without todo update. Please update todos."),
    "lean": (10, "10+ turns without todo update. Please update todos."),
    "checklist": (3, "Update your todos."),
}


def working_on_one(policy: str, language: Language = "en") -> TodoList:
    todos = TodoList(policy, language=language)
    todos.write(written(policy, "a"))
    return todos


def after(rounds: int, reminders: Reminders) -> str:
    """The reminder after some rounds without a list; checks that none is due before."""
    for _ in range(rounds - 1):
        reminders.count_round(wrote=False)
        assert reminders.due() == ""
    reminders.count_round(wrote=False)
    return reminders.due()


@pytest.mark.parametrize("policy", sorted(LATER))
def test_a_reminder_is_due_after_as_many_rounds_as_the_policy_has(policy: str) -> None:
    rounds, text = LATER[policy]
    assert after(rounds, Reminders(working_on_one(policy))) == text


@pytest.mark.parametrize("policy", sorted(LATER))
def test_in_chinese_it_asks_for_an_update(policy: str) -> None:
    assert after(LATER[policy][0], Reminders(working_on_one(policy, "zh"))) == "请更新你的任务列表"


@pytest.mark.parametrize("policy", sorted(LATER))
def test_a_reminder_starts_the_count_again(policy: str) -> None:
    reminders = Reminders(working_on_one(policy))
    rounds, text = LATER[policy]
    assert [after(rounds, reminders) for _ in range(3)] == [text] * 3


def test_the_number_is_the_true_one_of_a_count_that_was_carried_on() -> None:
    reminders = Reminders(working_on_one("focused"), rounds=14)
    assert reminders.due() == "14+ turns without todo update. Please update todos."


def test_a_list_that_was_written_starts_the_count_again() -> None:
    reminders = Reminders(working_on_one("checklist"))
    for _ in range(2):
        reminders.count_round(wrote=False)
    reminders.count_round(wrote=True)
    assert after(3, reminders) == "Update your todos."


def test_it_stops_when_the_list_is_complete() -> None:
    todos = TodoList("checklist")
    todos.write({"items": [item("checklist", "a", STATES["checklist"])]})
    reminders = Reminders(todos)
    for _ in range(10):
        reminders.count_round(wrote=False)
        assert reminders.due() == ""


def test_without_a_list_it_fires_once_a_turn() -> None:
    reminders = Reminders(TodoList("checklist"))
    assert after(3, reminders) == "Update your todos."
    for _ in range(10):
        reminders.count_round(wrote=False)
        assert reminders.due() == ""


def test_without_a_list_a_turn_taken_up_again_remembers_that_it_fired() -> None:
    assert Reminders(TodoList("checklist"), rounds=3, sent=1).due() == ""


@pytest.mark.parametrize(
    ("language", "text"), [("en", "Use TodoWrite for multi-step tasks."), ("zh", "请先规划，再执行")]
)
def test_the_first_reminder_stands_ahead_of_the_conversations_first_message(
    language: Language, text: str
) -> None:
    conversation = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": "again"},
    ]
    reminded = with_first_reminder(conversation, language)
    assert reminded[0]["content"] == f"<reminder>{text}</reminder>\nhello"
    assert reminded[1:] == conversation[1:]
    assert conversation[0]["content"] == "hello"


def test_the_first_reminder_joins_content_that_comes_in_parts() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    reminded = with_first_reminder([{"role": "user", "content": [picture]}], "en")
    assert reminded[0]["content"] == [
        {"type": "text", "text": "<reminder>Use TodoWrite for multi-step tasks.</reminder>\n"},
        picture,
    ]
