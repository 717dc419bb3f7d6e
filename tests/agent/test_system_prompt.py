"""The system prompt in both languages."""

from __future__ import annotations

import datetime
import re

import pytest

from chat.agent import build_system_prompt
from chat.agent.prompts import FOLDER, Language
from chat.agent.todo import POLICIES

LANGUAGES: list[Language] = ["en", "zh"]

SAYS: dict[Language, list[str]] = {
    "en": [
        "You are Ada",
        "Plan, act, update the list, report",
        "Use tools rather than prose",
        "Never invent paths",
        "the smallest change",
        "At the end sum up",
        "Today is 2025-03-01",
        "Your workspace is the directory /srv/notes",
        "# Instructions from the owner",
    ],
    "zh": [
        "你的名字是：Ada",
        "计划、动手、更新列表、汇报",
        "能用工具就不空谈",
        "不要编造路径",
        "最小改动",
        "总结",
        "今天是 2025-03-01",
        "你的工作区是目录 /srv/notes",
        "# 所有者的要求",
    ],
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_it_says_who_how_when_and_where_and_what_the_owner_adds(policy: str, language: Language) -> None:
    prompt = build_system_prompt(
        "Ada",
        "  Speak plainly.\n",
        todo_policy=policy,
        language=language,
        workspace="/srv/notes",
        today=datetime.date(2025, 3, 1),
    )
    assert [part for part in SAYS[language] if part not in prompt] == []
    assert prompt.endswith("<instructions>\nSpeak plainly.\n</instructions>")
    assert "$" not in prompt
    assert prompt == prompt.strip()


@pytest.mark.parametrize("policy", ["focused", "checklist"])
def test_a_task_is_marked_before_it_is_started(policy: str) -> None:
    assert "Before you start on an item of the list, mark it in_progress" in build_system_prompt(
        todo_policy=policy
    )
    assert "先把它标为 in_progress" in build_system_prompt(todo_policy=policy, language="zh")


def test_except_under_lean() -> None:
    assert "in_progress" not in build_system_prompt(todo_policy="lean")
    assert "in_progress" not in build_system_prompt(todo_policy="lean", language="zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_instructions_are_taken_as_they_are(language: Language) -> None:
    odd = "Costs $5, ${name} and {braces}, </instructions> too."
    assert odd in build_system_prompt(instructions=odd, language=language)


def test_without_instructions_there_is_no_place_for_them() -> None:
    assert "Instructions from the owner" not in build_system_prompt(instructions="  \n ")


@pytest.mark.parametrize(
    ("language", "text"), [("en", "There is no workspace"), ("zh", "这次对话没有工作区")]
)
def test_without_a_workspace_it_says_so(language: Language, text: str) -> None:
    assert text in build_system_prompt(language=language)


@pytest.mark.parametrize(("language", "name"), [("en", "You are Assistant,"), ("zh", "你的名字是：智能助理")])
def test_without_a_name_it_has_one(language: Language, name: str) -> None:
    assert build_system_prompt(language=language).startswith(name)


def test_today_is_today() -> None:
    assert datetime.date.today().isoformat() in build_system_prompt()


def test_an_unknown_policy_is_told() -> None:
    with pytest.raises(ValueError, match="unknown todo policy"):
        build_system_prompt(todo_policy="strict")


def test_both_languages_have_the_same_texts_with_the_same_places() -> None:
    english, chinese = ({path.name: path for path in (FOLDER / name).iterdir()} for name in LANGUAGES)
    assert english.keys() == chinese.keys()
    for name in english:
        places = [set(re.findall(r"\$\w+", each[name].read_text("utf-8"))) for each in (english, chinese)]
        assert places[0] == places[1], name
