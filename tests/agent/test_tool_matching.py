"""Tools are matched by the names that models write, unless the match is ambiguous."""

from __future__ import annotations

import pytest

from chat.agent.calls import match_tool_name

TOOLS = ("TodoWrite", "bash", "read_file", "files__read", "files__Read")


@pytest.mark.parametrize(
    ("written", "tool"),
    [
        ("bash", "bash"),
        ("Bash", "bash"),
        (" `bash` ", "bash"),
        ("bash<|channel|>commentary", "bash"),
        ("bash()", "bash"),
        ("functions.bash:0", "bash"),
        ("tools/bash", "bash"),
        ("todo_write", "TodoWrite"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        ("files__read", "files__read"),
        ("files__READ", "files__READ"),  # two could be meant
        ("reed_file", "reed_file"),
        ("functions.nothing", "nothing"),
        ("", ""),
    ],
)
def test_a_tool_is_found_by_what_was_written(written: str, tool: str) -> None:
    assert match_tool_name(written, TOOLS) == tool
