"""The real engine with the demo as its model: reminders, refusals and lists as they are on the site."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from chat.agent import Agent, TodoUpdate
from chat.agent.model.chat_model import ChatModel
from chat.agent.tools.edit_file import edit_file_tool
from chat.agent.tools.read_file import read_file_tool
from chat.agent.tools.write_file import write_file_tool
from chat.agent.workspace import Workspace
from chat.demo.transport import demo_transport


@pytest.mark.parametrize("policy", ["focused", "lean", "checklist"])
@pytest.mark.parametrize(
    ("language", "asked"),
    [("en", "refactor these five files"), ("zh", "重构这五个文件"), ("en", "show me a forgotten list")],
)
async def test_the_engine_plays_the_demo(
    workspace: Path, policy: str, language: Literal["en", "zh"], asked: str
) -> None:
    held = Workspace(workspace)
    model = ChatModel("demo", "http://demo.invalid/v1", transport=demo_transport(pace=0))
    agent = Agent(
        model=model,
        tools=[read_file_tool(held), write_file_tool(held), edit_file_tool(held)],
        todo_policy=policy,
        language=language,
    )
    lists = [
        event
        async for event in agent.run([{"role": "user", "content": asked}])
        if isinstance(event, TodoUpdate)
    ]
    await model.close()
    done = sum(item.status.value == "completed" for item in lists[-1].items)
    assert (done, len(lists[-1].items)) == ((3, 3) if "forgotten" in asked else (2, 5))
