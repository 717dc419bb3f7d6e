"""Every scenario, by ordinary words in both languages and under every policy, with real lists and tools."""

from __future__ import annotations

import compileall
import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chat.demo.workspace import seed
from tests.demo.conftest import Talk
from tests.demo.turns import Conversation

POLICIES = ["focused", "lean", "checklist"]
FORGOTTEN_ROUNDS = {"focused": 11, "lean": 10, "checklist": 3}


@pytest.fixture(params=POLICIES)
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def assert_policy_kept(conversation: Conversation) -> None:
    """No list was refused, and under lean none was written to mark a start alone."""
    states = [call.states for call in conversation.writes]
    assert not [call.text for call in conversation.writes if call.text.startswith(("Error", "❌"))]
    if conversation.policy == "lean":
        assert set("".join(states)) <= {"c", "p"}
        assert len(set(states)) == len(states), "a call was spent on a start"


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("Please refactor these five files", "keep the new version"), ("重构这五个文件", "保留新版本")],
)
async def test_typical_scenario(talk: Talk, workspace: Path, policy: str, asked: str, answered: str) -> None:
    conversation = talk(policy)
    question = await conversation.say(asked)
    assert conversation.writes[-1].states[:2] in ("cc", "dd")
    assert conversation.writes[-1].states[2:] == ("ppp" if policy == "lean" else "ipp")
    assert "stock.py" in question
    assert question.rstrip().endswith((".", "。"))
    assert_policy_kept(conversation)

    closing = await conversation.say(answered)
    assert conversation.todos.complete
    assert len(conversation.todos.items) == 5
    assert "5" in closing.splitlines()[0]
    assert_policy_kept(conversation)
    assert not [call.text for call in conversation.calls if call.text.startswith("Error")]
    stock = (workspace / "practice" / "stock.py").read_text()
    assert stock.count("def restock") == 1
    assert "limit" in stock


async def test_the_typical_scenario_can_keep_the_old_version(talk: Talk, workspace: Path) -> None:
    conversation = talk()
    await conversation.say("refactor these five files")
    await conversation.say("keep the old version")
    assert "limit=" not in (workspace / "practice" / "stock.py").read_text()
    for module in (workspace / "practice").iterdir():
        compile(module.read_text(), module.name, "exec")


async def test_the_typical_scenario_again_takes_another_folder(talk: Talk, workspace: Path) -> None:
    (workspace / "practice").mkdir()
    (workspace / "practice" / "cart.py").write_text("mine\n")
    await talk().say("refactor these five files")
    assert (workspace / "practice" / "cart.py").read_text() == "mine\n"
    assert (workspace / "practice-2" / "stock.py").exists()


@pytest.mark.parametrize(
    ("asked", "items"),
    [
        (
            "请先创建任务计划，然后分析项目",
            ["看看工作区", "阅读文件", "写一份关于文件的笔记", "总结"],
        ),
        (
            "First create a task plan, then analyse the project",
            ["Look around the workspace", "Read the files", "Write a note about the files", "Sum up"],
        ),
    ],
)
async def test_making_the_plan_is_no_item_of_it(
    talk: Talk, policy: str, asked: str, items: list[str]
) -> None:
    conversation = talk(policy)
    await conversation.say(asked)
    assert [item.content for item in conversation.todos.items] == items
    assert conversation.todos.complete
    assert_policy_kept(conversation)


@pytest.mark.parametrize(
    ("asked", "items"),
    [
        ("first make a plan, then do A, B and C", ["A", "B", "C"]),
        ("先做计划，然后做A、B和C", ["A", "B", "C"]),
        (
            "1. Read README.md\n2. Run `python3 shop.py`\n3. Sum up",
            ["Read README.md", "Run `python3 shop.py`", "Sum up"],
        ),
    ],
)
async def test_own_steps_become_the_list_and_are_worked_through(
    talk: Talk, policy: str, asked: str, items: list[str]
) -> None:
    conversation = talk(policy)
    await conversation.say(asked)
    assert conversation.names[0] == "TodoWrite"
    assert [item.content for item in conversation.todos.items] == items
    assert conversation.todos.complete
    assert len(conversation.writes) == 4  # the plan, and a tick right after each item
    assert_policy_kept(conversation)


async def test_steps_that_mean_nothing_to_the_demo_are_noted(talk: Talk, workspace: Path) -> None:
    conversation = talk()
    await conversation.say("first make a plan, then do A, B and C")
    note = (workspace / "NOTES.md").read_text()
    assert [line[:4] for line in note.splitlines() if line.startswith("-")] == ["- A:", "- B:", "- C:"]


async def test_more_steps_than_the_list_holds_are_gathered_in_its_last_item(talk: Talk) -> None:
    conversation = talk()
    await conversation.say("\n".join(f"{number}. note thing {number}" for number in range(1, 26)))
    assert len(conversation.todos.items) == 20
    assert "6" in conversation.todos.items[-1].content
    assert conversation.todos.complete


@pytest.mark.parametrize("asked", ["show me a forgotten list", "演示一下忘记更新列表"])
async def test_forgets_its_list_until_reminded(talk: Talk, policy: str, asked: str) -> None:
    conversation = talk(policy)
    closing = await conversation.say(asked)
    reminded = next(place for place, call in enumerate(conversation.calls) if call.reminded)
    assert reminded == FORGOTTEN_ROUNDS[policy]
    assert conversation.names[1 : reminded + 1] == ["read_file"] * reminded
    assert conversation.names[reminded + 1] == "TodoWrite"
    assert len({json.dumps(call.arguments) for call in conversation.calls[1 : reminded + 1]}) == reminded
    assert conversation.todos.complete
    assert re.search("reminder|提醒", closing)


async def test_forgetting_ends_without_any_reminder(talk: Talk) -> None:
    conversation = talk()
    conversation._remind = lambda *_: None  # type: ignore[method-assign]
    closing = await conversation.say("show me a forgotten list")
    assert "no reminder" in closing
    assert conversation.todos.complete


@pytest.mark.parametrize("asked", ["show me a wrong status", "演示一个错误的状态"])
async def test_a_wrong_status_is_corrected(talk: Talk, policy: str, asked: str) -> None:
    conversation = talk(policy)
    closing = await conversation.say(asked)
    refused, corrected = conversation.writes[:2]
    assert "'doing'" in refused.text
    assert refused.text in closing
    assert corrected.text.startswith("[")
    assert conversation.todos.complete


@pytest.mark.parametrize("asked", ["Show me a failing command", "演示失败的命令"])
async def test_a_failure_is_reported_honestly(talk: Talk, asked: str) -> None:
    conversation = talk()
    closing = await conversation.say(asked)
    assert {"bash", "read_file"} <= set(conversation.names)
    assert "[exit code 3]" in closing
    assert "no-such-file.txt" in closing


async def test_a_step_that_fails_stays_open(talk: Talk, policy: str) -> None:
    conversation = talk(policy)
    closing = await conversation.say("1. Run `exit 4`\n2. Read README.md")
    assert [item.status.value for item in conversation.todos.items] == ["pending", "completed"]
    assert "1" in closing.splitlines()[0]
    assert "✗" in closing
    assert_policy_kept(conversation)


@pytest.mark.parametrize(
    "asked",
    [
        "make a small Python program with tests in the workspace and run them",
        "写一个带测试的 Python 小程序并运行测试",
    ],
)
async def test_a_program_with_tests_is_written_and_run(talk: Talk, policy: str, asked: str) -> None:
    conversation = talk(policy)
    closing = await conversation.say(asked)
    assert conversation.todos.complete
    assert "Ran 3 tests" in closing
    assert_policy_kept(conversation)


@pytest.mark.parametrize("asked", ["fix the bug in shop.py", "修复 shop.py 里的错误"])
async def test_the_samples_bug_is_fixed(talk: Talk, workspace: Path, asked: str) -> None:
    conversation = talk()
    closing = await conversation.say(asked)
    assert "percent) / 100" in (workspace / "shop.py").read_text()
    assert "Total: 479.5" in closing
    assert conversation.todos.complete


@pytest.mark.parametrize("asked", ["please improve this project", "整理一下"])
async def test_work_without_steps_gets_a_small_plan(
    talk: Talk, workspace: Path, policy: str, asked: str
) -> None:
    conversation = talk(policy)
    await conversation.say(asked)
    assert len(conversation.todos.items) == 4
    assert conversation.todos.complete
    assert (workspace / "NOTES.md").exists()
    assert_policy_kept(conversation)


async def test_a_note_during_the_work_is_added_to_the_list(talk: Talk, policy: str) -> None:
    conversation = talk(policy)
    await conversation.say("1. look around\n2. read README.md\n3. sum up")
    written = next(place for place, message in enumerate(conversation.messages) if message["role"] == "tool")
    conversation.messages[written + 1 :] = [{"role": "user", "content": "also read data.csv"}]
    await conversation.go_on()
    contents = [item.content for item in conversation.todos.items]
    assert contents == ["Look around", "Read README.md", "Sum up", "also read data.csv"]
    assert conversation.todos.complete


async def test_continue_goes_on_with_what_is_unfinished(talk: Talk, policy: str) -> None:
    conversation = talk(policy)
    await conversation.say("1. look around\n2. Read later.txt\n3. sum up")
    (conversation.workspace / "later.txt").write_text("here now\n")
    closing = await conversation.say("continue")
    assert "here now" in closing
    assert conversation.todos.complete
    assert_policy_kept(conversation)


async def test_the_answer_is_the_same_whoever_is_asked(talk: Talk) -> None:
    """Nothing is remembered outside the messages: another server, later, gives the same next reply."""
    first, second = talk(), talk()
    await first.say("1. look around\n2. read README.md")
    second.messages = [dict(message) for message in first.messages[:-1]]
    assert (await second.go_on(), second.calls) == (first.messages[-1]["content"], [])


GO_ON = "Continue with the remaining to-dos."


def cuts(whole: Conversation) -> list[tuple[int, bool]]:
    """Each call of the last turn, at which another may be stopped; twice where it may have had an effect."""
    effects = [(False, True) if name in ("write_file", "edit_file") else (False,) for name in whole.names]
    return [(call, had_effect) for call, each in enumerate(effects) for had_effect in each]


async def stopped(talk: Talk, workspace: Path, asked: str) -> AsyncIterator[tuple[str, Conversation]]:
    """The conversation stopped at each call of its turn, before and after that did its work.

    Only where a list is left; the workspace is made again for each.
    """
    whole = talk()
    await whole.say(asked)
    for call, had_effect in cuts(whole):
        shutil.rmtree(workspace)
        seed(workspace)
        conversation = talk()
        conversation.stop_at, conversation.had_effect = call, had_effect
        await conversation.say(asked)
        if conversation.todos.items and not conversation.todos.complete:
            yield (
                f"stopped at {whole.names[call]}, call {call}, which had done its work: {had_effect}",
                conversation,
            )


async def test_a_refactoring_that_is_stopped_anywhere_ends_well(talk: Talk, workspace: Path) -> None:
    """Continue leads to the question, its answer to five of five, and no more call fails."""
    seen = 0
    async for at, conversation in stopped(talk, workspace, "Refactor these five files"):
        question = await conversation.say(GO_ON)
        assert "stock.py" in question, at
        assert not [call.text for call in conversation.calls if call.text.startswith("Error")], at
        closing = await conversation.say("keep the old version")
        assert conversation.todos.complete, (at, closing)
        assert "limit=" not in (workspace / "practice" / "stock.py").read_text(), at
        seen += 1
    assert seen > 15


async def test_an_answer_to_the_question_outlives_a_stop(talk: Talk, workspace: Path) -> None:
    whole = talk()
    await whole.say("Refactor these five files")
    await whole.say("keep the old version")
    for call, had_effect in cuts(whole)[:-1]:
        shutil.rmtree(workspace)
        seed(workspace)
        conversation = talk()
        await conversation.say("Refactor these five files")
        conversation.stop_at, conversation.had_effect = call, had_effect
        await conversation.say("keep the old version")
        closing = await conversation.say(GO_ON)
        assert conversation.todos.complete, (call, had_effect, closing)
        assert "limit=" not in (workspace / "practice" / "stock.py").read_text()


@pytest.mark.parametrize(
    "asked",
    [
        "First make a plan, then look around, read the files and write a summary",
        "Show me a forgotten list",
        "Show me a wrong status",
        "写一个带测试的 Python 小程序并运行测试",
    ],
)
async def test_every_suggestion_that_is_stopped_anywhere_ends_well(
    talk: Talk, workspace: Path, asked: str
) -> None:
    async for at, conversation in stopped(talk, workspace, asked):
        closing = await conversation.say(GO_ON)
        assert conversation.todos.complete, (at, closing)
        assert "✗" not in closing, (at, closing)
        assert compileall.compile_dir(workspace, quiet=1, force=True), at


@pytest.mark.parametrize(
    "asked",
    [
        "Fix the bug in shop.py",
        "Refactor these five files",
        "First make a plan, then look around, read the files and write a summary",
        "1. look around\n2. read README.md\n3. write a note\n4. run `python3 shop.py`",
        "写一个带测试的 Python 小程序并运行测试",
    ],
)
async def test_a_message_in_the_middle_repeats_nothing(talk: Talk, workspace: Path, asked: str) -> None:
    whole = talk()
    await whole.say(asked)
    ends = [number for number, name in enumerate(whole.names, 1) if name != "TodoWrite"]
    for call in ends:
        shutil.rmtree(workspace)
        seed(workspace)
        conversation = talk()
        conversation.joins = {call: "also look around"}
        closing = await conversation.say(asked)
        at = f"a message after call {call}, {whole.names[call - 1]}: {closing}"
        changes = [
            (each.name, json.dumps(each.arguments))
            for each in conversation.calls
            if each.name in ("write_file", "edit_file", "bash")
        ]
        assert len(changes) == len(set(changes)), at
        assert not [each.text for each in conversation.calls if each.text.startswith("Error")], at
        assert "✗" not in closing, at


async def test_a_note_is_continued_after_the_same_was_read_again(talk: Talk, workspace: Path) -> None:
    closing = await talk().say(
        "1. read README.md\n2. write a note\n3. open README.md\n4. note it\n5. note the rest"
    )
    assert "✗" not in closing
    assert "the rest" in (workspace / "NOTES.md").read_text()


@pytest.mark.parametrize("asked", ["", "What is in it?\n", "Summarise this file\n", "看看这个文件\n"])
async def test_an_attached_file_is_read(talk: Talk, workspace: Path, asked: str) -> None:
    (workspace / "my notes, new.txt").write_text("milk and bread\n")
    conversation = talk()
    closing = await conversation.say(f"{asked}Uploaded: my notes, new.txt")
    assert "milk and bread" in closing
    assert conversation.names == ["read_file"]
