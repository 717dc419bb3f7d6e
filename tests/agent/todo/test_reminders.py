"""The count of rounds; test_reminded_turn tests how reminders are sent."""

from __future__ import annotations

import pytest

from chat.agent.prompts import Language
from chat.agent.todo import Reminders, TodoList, with_first_reminder
from tests.agent.todo.lists import written

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
def test_in_chinese_it_asks_for_an_update(policy: str) -> None:
    assert after(LATER[policy][0], Reminders(working_on_one(policy, "zh"))) == "请更新你的任务列表"


def test_the_number_is_the_true_one_of_a_count_that_was_carried_on() -> None:
    reminders = Reminders(working_on_one("focused"), rounds=14)
    assert reminders.due() == "14+ turns without todo update. Please update todos."


def test_without_a_list_a_turn_taken_up_again_remembers_that_it_fired() -> None:
    assert Reminders(TodoList("checklist"), rounds=3, sent=1).due() == ""


def test_the_first_reminder_joins_content_that_comes_in_parts() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    reminded = with_first_reminder([{"role": "user", "content": [picture]}], "en")
    assert reminded[0]["content"] == [
        {"type": "text", "text": "<reminder>Use TodoWrite for multi-step tasks.</reminder>\n"},
        picture,
    ]
