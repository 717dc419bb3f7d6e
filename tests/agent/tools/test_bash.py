"""bash, as the model uses it."""

from __future__ import annotations

import pytest

from chat.agent.tool import Tool, ToolError
from chat.agent.tools import workspace_tools
from chat.agent.workspace import Workspace


async def test_output_and_errors_come_together(tools: dict[str, Tool]) -> None:
    result = await tools["bash"].call({"command": "echo one; echo two >&2; echo three"})
    assert result.text == "one\ntwo\nthree"
    assert result.detail["exit_code"] == 0
    assert result.detail["seconds"] < 5


async def test_it_works_in_the_workspace(tools: dict[str, Tool], workspace: Workspace) -> None:
    workspace.write("file", b"text")
    assert (await tools["bash"].call({"command": "pwd; cat file; mkdir made"})).text == "/workspace\ntext"
    assert (workspace.path / "made").is_dir()
    assert (await tools["bash"].call({"command": "true"})).text == "(no output)"


async def test_codes_for_a_terminal_are_left_out(tools: dict[str, Tool]) -> None:
    printed = r"\e[1;31mred\e[0m \e]0;title\a\e]8;;https://example.org\e\\link\e]8;;\e\\ \e[2K\e(Bplain [31m"
    result = await tools["bash"].call({"command": f"printf '{printed}'"})
    assert result.text == "red link plain [31m"
    result = await tools["bash"].call({"command": r"printf '\e]no end\nnothing is lost\a'"})
    assert "nothing is lost" in result.text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"command": "echo tried; exit 3"}, "tried\n[exit code 3]"),
        ({"command": "false"}, "[exit code 1]"),
        ({"command": "kill -9 $$"}, "[exit code 137]"),
        ({"command": "echo begun; sleep 60", "timeout": 1}, "begun\n[timed out after 1 s]"),
        ({"command": " "}, "Error: The command is empty."),
        ({"command": "a\0b"}, "Error: The command contains a NUL character."),
    ],
)
async def test_a_failure_is_an_error(tools: dict[str, Tool], arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ToolError) as caught:
        await tools["bash"].call(arguments)
    assert str(caught.value) == text


@pytest.mark.parametrize("timeout", [0, 601, "soon"])
async def test_a_time_limit_that_does_not_fit(tools: dict[str, Tool], timeout: object) -> None:
    with pytest.raises(ToolError, match=r"^Error: timeout: "):
        await tools["bash"].call({"command": "true", "timeout": timeout})


async def test_of_a_long_output_the_beginning_and_the_end(tools: dict[str, Tool]) -> None:
    text = (await tools["bash"].call({"command": "seq 100000"})).text
    assert text.startswith("1\n2\n")
    assert "bytes left out ...]" in text
    assert text.endswith("\n99999\n100000")
    assert len(text) < 50_000


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ('echo $# "$@" $0', "0 bash"),
        ("set -e\nfalse\necho never", "[exit code 1]"),
        ("cat <<END\n$(echo here)\nEND\nexit 0", "here"),
        ("# a comment\n\n  echo 'one\ntwo'", "one\ntwo"),
        ("echo first\nmissing", "first\nbash: line 2: missing: command not found\n[exit code 127]"),
        ("trap 'echo bye' EXIT; exit 4", "bye\n[exit code 4]"),
        ("printf '\\0'; echo after", "\ufffdafter"),
    ],
)
async def test_a_command_finds_a_shell_of_its_own(tools: dict[str, Tool], command: str, printed: str) -> None:
    try:
        text = (await tools["bash"].call({"command": command})).text
    except ToolError as error:
        text = str(error)
    assert text == printed


async def test_a_line_that_waits_for_an_answer_gets_none(tools: dict[str, Tool]) -> None:
    assert (await tools["bash"].call({"command": "read answer || echo nobody"})).text == "nobody"


def test_without_a_sandbox_it_is_not_offered(workspace: Workspace) -> None:
    assert [tool.name for tool in workspace_tools(workspace, None)] == [
        "read_file",
        "write_file",
        "edit_file",
    ]
