"""The planning tool as the model sees it: schema, description, wording by policy and language."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from chat.agent.prompts import Language
from chat.agent.todo import POLICIES, TODO_WRITE, TodoList, todo_tool
from tests.agent.todo.lists import written

LANGUAGES: list[Language] = ["en", "zh"]


@pytest.mark.parametrize(
    ("policy", "argument", "fields", "states"),
    [
        (
            "focused",
            "items",
            {"content", "status", "activeForm"},
            ["pending", "in_progress", "completed"],
        ),
        ("lean", "todos", {"content", "status"}, ["pending", "completed"]),
        ("checklist", "items", {"id", "text", "status"}, ["pending", "in_progress", "done"]),
    ],
)
def test_the_schema_follows_the_policy(
    policy: str, argument: str, fields: set[str], states: list[str]
) -> None:
    schema = todo_tool(TodoList(policy)).parameters
    assert schema["required"] == [argument]
    items = schema["properties"][argument]
    assert items["maxItems"] == 20
    assert set(items["items"]["properties"]) == fields
    assert items["items"]["properties"]["status"]["enum"] == states
    assert items["items"]["required"] == POLICIES[policy].required


@pytest.mark.parametrize(
    ("language", "whole"),
    [("en", "Complete list of tasks; replaces the existing one"), ("zh", "完整的任务列表，整个替换现有列表")],
)
def test_the_schema_describes_the_list_and_each_field(language: Language, whole: str) -> None:
    told: dict[str, set[str]] = {}
    for name, policy in POLICIES.items():
        listed = todo_tool(TodoList(name, language=language)).parameters["properties"][policy.argument]
        assert listed["description"] == whole
        for field, schema in listed["items"]["properties"].items():
            told.setdefault(field, set()).add(schema["description"])
    assert set(told) == {"id", "content", "text", "status", "activeForm"}
    assert all(len(descriptions) == 1 and all(descriptions) for descriptions in told.values())
    assert bool(re.search("[\u4e00-\u9fff]", "".join(map(str, told.values())))) is (language == "zh")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_description_teaches_with_rules_and_examples_both_ways(policy: str, language: Language) -> None:
    description = todo_tool(TodoList(policy, language=language)).description
    headings = re.findall(r"^## (.+)$", description, re.MULTILINE)
    assert len(headings) == 6
    using, not_using = re.split(r"^## ", description, flags=re.MULTILINE)[-2:]
    assert using.count("<example>") == not_using.count("<example>") == 4
    assert description.count("<reasoning>") == description.count("</reasoning>") == 8
    assert "$" not in description
    assert all(f"`{word}`" in description for word in POLICIES[policy].states)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_description_says_when_to_use_it_and_when_not(policy: str) -> None:
    description = todo_tool(TodoList(policy)).description
    for phrase in (
        "three or more steps",
        "not trivial",
        "several things at once",
        "asks for a plan",
        "write them down at once",
        "A sub-task turns up",
        "one trivial step",
        "fewer than three",
        "only talking",
        "a question",
    ):
        assert phrase in description


@pytest.mark.parametrize("policy", ["focused", "checklist"])
def test_marking_a_start_is_taught_except_under_lean(policy: str) -> None:
    assert "before you start on it" in todo_tool(TodoList(policy)).description
    lean = todo_tool(TodoList("lean")).description
    assert "before you start on it" not in lean
    assert "`in_progress` is refused" in lean


def test_the_description_names_the_policys_own_maximum() -> None:
    todos = TodoList(replace(POLICIES["focused"], max_items=7))
    assert "At most 7 items" in todo_tool(todos).description


async def test_a_call_writes_the_list_and_gives_its_rendering() -> None:
    todos = TodoList("lean")
    tool = todo_tool(todos)
    assert tool.name == TODO_WRITE
    assert (await tool.call(written("lean", "a"))).text == "[ ] a\n\n(0/1 completed)"
    assert len(todos.items) == 1
