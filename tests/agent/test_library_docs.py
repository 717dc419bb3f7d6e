"""docs/library.md: its programs run, and its tables and decisions are complete."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import chat.agent
from chat.agent import VALID_STATUSES, Result
from chat.agent.events import AnyEvent
from chat.demo.reply import Reply
from tests.agent.turns import results
from tests.model_server import ScriptedModel

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PROGRAMS = [block for block in BLOCKS if "asyncio.run" in block]


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose header begins with `first`, as their cells."""
    table = TEXT[TEXT.index(f"| {first} |") :].split("\n\n")[0]
    return [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in table.splitlines()[2:]
    ]


async def run(program: str, model: ScriptedModel) -> str:
    endpoint = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "key", "OPENAI_MODEL": "scripted"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        cwd=ROOT,
        env={**os.environ, **endpoint},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, faults = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0, faults.decode()
    return printed.decode()


async def test_the_smallest_program_runs(model_server: ScriptedModel) -> None:
    model_server.script(Reply("Lima."))
    assert await run(PROGRAMS[0], model_server) == "Lima.\n"
    assert model_server.requests[0]["model"] == "gpt-4o-mini"


async def test_the_program_with_a_tool_has_fifteen_lines_and_runs(model_server: ScriptedModel) -> None:
    program = PROGRAMS[1]
    assert len([line for line in program.splitlines() if line.strip()]) <= 15
    model_server.script(Reply(tool_calls=[("weather", {"city": "Lima"})]), Reply("Lima."))
    assert await run(program, model_server) == "Lima. []\n"
    assert results(model_server.requests[1]) == ["Lima: sunny, 24 degrees"]


def test_every_piece_of_code_can_be_read() -> None:
    assert len(BLOCKS) > len(PROGRAMS) == 2
    for block in BLOCKS:
        compile(block, "library.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_table_of_events_has_each_with_its_type_and_fields() -> None:
    assert [row[:3] for row in rows("class")] == [
        [
            f"`{kind.__name__}`",
            f"`{kind.type}`",
            ", ".join(f"`{field.name}: {field.type}`" for field in fields(kind)),
        ]
        for kind in get_args(AnyEvent)
    ]


def test_the_table_of_a_result_has_each_field() -> None:
    names = re.findall(r"`(\w+)`", " ".join(row[0] for row in rows("field")))
    assert sorted(names) == sorted(field.name for field in fields(Result))


def test_the_table_of_policies_has_their_statuses() -> None:
    row = next(row for row in rows("policy") if row[0] == "`VALID_STATUSES`")
    assert [tuple(re.findall(r"`(\w+)`", cell)) for cell in row[1:]] == list(VALID_STATUSES.values())


def test_the_table_of_names_says_which_is_which() -> None:
    table = dict(rows("description"))
    for other, ours in table.items():
        for name in re.findall(r"`([A-Z]\w+|create_todo_tool|todo_tool)", other + ours):
            assert name in chat.agent.__all__ or name == "VALID_STATUSES", name
    aliases = {"LoopLimits", "RetryConfig", "TodoStore", "create_todo_tool"}
    for name in aliases:
        ours = table[f"`{name}`"].strip("`")
        assert getattr(chat.agent, name) is getattr(chat.agent, ours)


def test_each_decision_is_recorded() -> None:
    decisions = TEXT[TEXT.index("## Decisions") :]
    for decision in [
        "No default temperature.",
        "The default name follows the language",
        "A second `TodoWrite` in one reply is refused.",
        "The tool's description is long, with examples.",
        "The list raises errors, the tool tells them as text.",
    ]:
        assert f"- **{decision}" in decisions
