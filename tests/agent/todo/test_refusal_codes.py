"""The code of a refusal is recovered from its message."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from chat.agent.prompts import Language, phrase
from chat.agent.todo import OTHER, POLICIES, TodoError, TodoList, refusal_code

LANGUAGES = get_args(Language)
GOOD = {"content": "Look", "text": "Look", "status": "pending", "activeForm": "Looking", "id": "1"}


def refusal(policy: str, language: Language, arguments: Any) -> str:
    """The error for invalid arguments."""
    with pytest.raises(TodoError) as refused:
        TodoList(policy, language=language).write(arguments)
    return str(refused.value)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_a_list_is_refused_for(policy: str, language: Language) -> None:
    field = POLICIES[policy].text_field
    refused = {
        "not_a_list": {"items": "Look"},
        "not_an_object": {"items": ["Look"]},
        f"required.{field}": {"items": [GOOD | {field: " "}]},
        "not_text": {"items": [GOOD | {field: [1]}]},
        "unknown_status": {"items": [GOOD | {"status": "it is required"}]},
        "too_many": {"items": [GOOD | {"id": str(number)} for number in range(21)]},
    }
    told = {reason: refusal(policy, language, arguments) for reason, arguments in refused.items()}
    assert {reason: refusal_code(text) for reason, text in told.items()} == {
        reason: reason for reason in refused
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_only_some_policies_refuse(language: Language) -> None:
    active = {"items": [GOOD | {"activeForm": ""}]}
    assert refusal_code(refusal("focused", language, active)) == "required.activeForm"
    assert refusal_code(refusal("checklist", language, {"items": [GOOD | {"id": ""}]})) == "required.id"
    assert refusal_code(refusal("checklist", language, {"items": [GOOD, GOOD]})) == "repeated_id"
    busy = GOOD | {"status": "in_progress"}
    assert refusal_code(refusal("focused", language, {"items": [busy, busy]})) == "two_in_progress"
    assert refusal_code(refusal("lean", language, {"todos": [busy]})) == "unknown_status"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_no_list_comes_from(language: Language) -> None:
    assert refusal_code(phrase(language, "call.not_json", reason="line 1\ncolumn 2")) == "call.not_json"
    assert refusal_code(phrase(language, "call.cut")) == "call.cut"
    assert refusal_code(phrase(language, "call.not_run", reason="Stopped.")) == "call.not_run"
    second = TodoList(language=language).reader.refusal("second_write")
    assert refusal_code(str(second)) == "second_write"


def test_the_words_of_earlier_versions_in_old_records_are_still_read() -> None:
    old = {
        "错误: 第 0 项: 必须是一个对象": "not_an_object",
        "错误: 第 12 项: 缺少 activeForm": "required.activeForm",
        "❌ 任务更新失败: 第 0 项: content 必须是文本": "not_text",
        "错误: 第 0 项: 无效的任务状态 'x'": "unknown_status",
        "错误: 最多只能有 20 项任务": "too_many",
        "错误: 同一时间只能有一项任务处于 in_progress": "two_in_progress",
        "错误: 第 1 项: id '1' 重复": "repeated_id",
    }
    assert {text: refusal_code(text) for text in old} == old


@pytest.mark.parametrize("text", ["", "Error: the tool failed: KeyError", "No todos.", "x" * 100_000])
def test_anything_else_is_another_reason(text: str) -> None:
    assert refusal_code(text) == OTHER
