"""The migration finds the codes of refusals in the sentences that earlier versions stored."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps

from chat.models import Step, ToolCall, Turn

migration = import_module("chat.migrations.0025_refusal_codes")

SENTENCES = {
    "Error: items must be a list of items": "not_a_list",
    "错误: items 必须是任务列表": "not_a_list",
    "Error: Item 0: must be an object": "not_an_object",
    "❌ 任务更新失败: 任务 1: 必须是一个对象": "not_an_object",
    "❌ Todo update failed: Item 3: content required": "required.content",
    "错误: 任务 0: 缺少必填字段 text": "required.text",
    "Error: Item 0: content must be text": "not_text",
    "Error: Item 0: invalid status 'it is\nrequired'": "unknown_status",
    "❌ Todo update failed: invalid status 'in_progress', only: pending, completed": "unknown_status",
    "❌ 任务更新失败: 无效的任务状态: 'in_progress'，仅支持: pending, completed": "unknown_status",
    "Error: Max 20 todos allowed": "too_many",
    "错误: 最多 20 个任务": "too_many",
    "Error: Only one task can be in_progress at a time": "two_in_progress",
    "错误: 只能有一个任务进行中": "two_in_progress",
    "Error: Item 1: id '1' is used twice": "repeated_id",
    "Error: Only one TodoWrite in one reply; send the whole list once": "second_write",
    "错误: 一次回复中只能调用一次 TodoWrite，请一次发送完整列表": "second_write",
    "Error: the arguments are not valid JSON (line 1\ncolumn 2). Send one JSON object.": "call.not_json",
    "错误: 参数必须是一个 JSON 对象。": "call.not_an_object",
    "错误: 回复在写这些参数时被截断，因此没有执行。请缩短后重新发送。": "call.cut",
    "Error: there is no result, because the turn ended. Stopped.": "call.not_run",
    # Of the first versions
    "错误: 第 0 项: 必须是一个对象": "not_an_object",
    "错误: 第 12 项: 缺少 activeForm": "required.activeForm",
    "❌ 任务更新失败: 第 0 项: content 必须是文本": "not_text",
    "错误: 第 0 项: 无效的任务状态 'x'": "unknown_status",
    "错误: 最多只能有 20 项任务": "too_many",
    "错误: 同一时间只能有一项任务处于 in_progress": "two_in_progress",
    "错误: 第 1 项: id '1' 重复": "repeated_id",
    # None
    "": "",
    "Error: the tool failed: KeyError": "",
    "No todos.": "",
    "x" * 100_000: "",
}


def test_sentences_of_all_versions() -> None:
    assert {text: migration.refusal_code(text) for text in SENTENCES} == SENTENCES


@pytest.mark.django_db
def test_rows_of_refused_lists_get_their_code(running: Turn) -> None:
    step = Step.objects.create(turn=running, number=1)
    for index, (output, more) in enumerate(
        [
            ("Error: Item 0: content required", {"detail": {"kept": 1}}),
            ("Error: Item 0: content required", {"name": "bash"}),
            ("Error: Item 0: content required", {"status": "succeeded"}),
            ("Error: something else", {}),
        ]
    ):
        values = {"name": "TodoWrite", "status": "failed", "call_id": str(index), **more}
        ToolCall.objects.create(turn=running, step=step, index=index, output=output, **values)
    migration.store_codes(apps, None)
    details = ToolCall.objects.order_by("pk").values_list("detail", flat=True)
    assert list(details) == [{"kept": 1, "refusal": "required.content"}, {}, {}, {}]
