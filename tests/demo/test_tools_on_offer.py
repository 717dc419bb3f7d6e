"""The demo uses only offered tools and overwrites nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chat.agent.tool import ToolResult
from tests.demo.conftest import Talk


async def test_a_program_without_a_shell_says_how_to_run_it(talk: Talk, workspace: Path) -> None:
    conversation = talk(without=("bash",))
    closing = await conversation.say("write a small program with tests")
    assert "python3 -B -m unittest" in closing
    assert (workspace / "wordcount" / "test_wordcount.py").exists()
    assert conversation.todos.complete


async def test_one_thing_is_done_without_a_list(talk: Talk) -> None:
    conversation = talk()
    for asked in ("read README.md", "What is in README.md?", "请阅读 README.md"):
        assert "Corner shop" in await conversation.say(asked)
        assert conversation.names == ["read_file"]


async def test_nothing_that_exists_is_overwritten(talk: Talk, workspace: Path) -> None:
    (workspace / "NOTES.md").write_text("mine\n")
    conversation = talk()
    await conversation.say("1. look around\n2. write NOTES.md\n3. write a note")
    assert (workspace / "NOTES.md").read_text() == "mine\n"
    assert conversation.todos.complete


async def test_without_todo_write_it_works_without_a_list(talk: Talk, workspace: Path) -> None:
    conversation = talk(without=("TodoWrite",))
    closing = await conversation.say("1. look around\n2. read README.md\n3. write a note")
    assert set(conversation.names) == {"read_file", "write_file"}
    assert (workspace / "NOTES.md").exists()
    assert "3 of 3" in closing


async def test_without_read_file_it_looks_with_the_shell(talk: Talk) -> None:
    conversation = talk(without=("read_file", "edit_file"))
    await conversation.say("1. look around\n2. read README.md\n3. sum up")
    assert set(conversation.names) == {"TodoWrite", "bash"}
    assert conversation.todos.complete


async def test_without_tools_there_is_only_text(talk: Talk) -> None:
    conversation = talk(without=("TodoWrite", "read_file", "write_file", "edit_file", "bash"))
    assert "No tools" in await conversation.say("1. look around\n2. read README.md")
    assert conversation.calls == []


@pytest.mark.parametrize("left_out", ["TodoWrite", "read_file", "write_file", "edit_file", "bash"])
async def test_it_calls_only_tools_on_offer(talk: Talk, left_out: str) -> None:
    for asked in (
        "refactor these five files",
        "show me a forgotten list",
        "show me a wrong status",
        "show me a failing command",
        "make a small program with tests",
        "fix the bug in shop.py",
        "1. look\n2. run the tests\n3. A\n4. B",
    ):
        conversation = talk(without=(left_out,))
        assert await conversation.say(asked)
        assert left_out not in conversation.names


async def test_a_refused_list_is_told_and_work_goes_on(talk: Talk) -> None:
    conversation = talk()

    async def refuse(_: dict[str, Any]) -> Any:
        return ToolResult("Error: Max 2 todos allowed")

    object.__setattr__(conversation.tools["TodoWrite"], "call", refuse)
    closing = await conversation.say("1. look around\n2. read README.md\n3. sum up")
    assert len(conversation.writes) == 1
    assert "Max 2 todos allowed" in closing
