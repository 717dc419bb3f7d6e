"""Which words ask for what."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from chat.demo.demo_request import DemoRequest
from chat.demo.reply import Request
from chat.demo.scenarios import script
from tests.demo.conftest import Talk


async def test_a_new_task_after_the_question_is_a_new_task(talk: Talk) -> None:
    conversation = talk()
    await conversation.say("refactor these five files")
    await conversation.say("1. look around\n2. sum up")
    assert [item.content for item in conversation.todos.items] == ["Look around", "Sum up"]


@pytest.mark.parametrize(
    "asked", ["hello", "What can you do?", "你好", "你能做什么？", "How do I write a loop?"]
)
async def test_plain_talk_says_what_this_is(talk: Talk, asked: str) -> None:
    conversation = talk()
    told = await conversation.say(asked)
    assert conversation.calls == []
    assert re.search("not an AI|不是 AI", told)
    assert re.search("[\u4e00-\u9fff]", told) is None or re.search("[\u4e00-\u9fff]", asked)


SCENARIOS = {
    "refactor.script": [
        "Refactor these 5 files, please",
        "can you refactor the modules?",
        "把这五个文件重构一下",
    ],
    "mistakes.forget": [
        "work that forgets its list until reminded",
        "be forgetful about the plan",
        "忘了更新任务",
    ],
    "mistakes.write_wrong_status": ["use an invalid status", "a status that is wrong", "无效的状态"],
    "mistakes.fail": ["run a failing command", "show me an error", "read a missing file", "命令失败了会怎样"],
    "program.script": ["write me a small script", "create a package with a module and tests", "做一个小程序"],
    "errand.run_steps": [
        "read the script, write notes about it, then test it",
        "- look\n- refactor five files",
        "先看看，再写笔记",
    ],
    "errand.script": ["make a note about the script", "fix the bug", "tidy up", "修复错误"],
    "talk.script": ["hi", "What is this?", "thanks, that was nice", "你是谁？", "the sky is blue"],
}


@pytest.mark.parametrize(
    ("name", "asked"), [(name, asked) for name in SCENARIOS for asked in SCENARIOS[name]]
)
def test_ordinary_words_choose_the_scenario(name: str, asked: str) -> None:
    names = ("TodoWrite", "bash", "read_file", "write_file", "edit_file")
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
    request = Request({"messages": [{"role": "user", "content": asked}], "tools": tools})
    chosen: Any = script(DemoRequest.read(request))
    code = chosen.gi_code
    assert f"{Path(code.co_filename).stem}.{code.co_name}" == name


@pytest.mark.parametrize(
    ("answer", "goes_on"),
    [
        ("yes", True),
        ("OK, thanks!", True),
        ("the old one", True),
        ("好的", True),
        ("继续", True),
        ("go on please", True),
        ("ok, now make a small program with tests", False),
        ("read the first file", False),
        ("写一个新的文件", False),
        ("hello", False),
    ],
)
async def test_only_an_answer_goes_on_with_the_list(talk: Talk, answer: str, goes_on: bool) -> None:
    conversation = talk()
    await conversation.say("refactor these five files")
    await conversation.say(answer)
    stays = [item.content for item in conversation.todos.items][:1] == ["Refactor practice/cart.py"]
    assert (stays and conversation.todos.complete) == goes_on


async def test_a_stopped_turn_is_not_taken_up_by_a_new_message(talk: Talk) -> None:
    conversation = talk()
    await conversation.say("refactor these five files")
    conversation.messages.pop()
    conversation.messages[-1]["content"] = "Error: there is no result, because the turn ended."
    await conversation.say("write a poem to poem.txt")
    assert "poem.txt" in " ".join(item.content for item in conversation.todos.items)
