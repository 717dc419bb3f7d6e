"""Commands wait for a free slot, shared fairly between users."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from chat.agent.progress import Watched
from chat.agent.sandbox import CommandSlots, Sandbox
from chat.agent.tool import ToolResult
from chat.agent.tools import workspace_tools
from chat.agent.workspace import Workspace

NOTICE = "Waiting for a free place."


class Commands:
    """Commands of users in one workspace; each records its name and waits for a file of that name."""

    def __init__(self, path: Path, slots: int) -> None:
        self.workspace = Workspace.create(path / "workspace")
        self.slots = CommandSlots(slots)

    def run(self, user: str, command: str, timeout: int = 60) -> Watched[ToolResult]:
        sandbox = Sandbox(slot=self.slots.of(user, NOTICE))
        [bash] = [tool for tool in workspace_tools(self.workspace, sandbox) if tool.name == "bash"]
        return Watched(bash.call({"command": command, "timeout": timeout}))

    def start(self, user: str, name: str) -> Watched[ToolResult]:
        command = f"echo {name} >> begun; until [ -e {name} ]; do sleep 0.02; done"
        return self.run(user, command)

    def end(self, name: str) -> None:
        (self.workspace.path / name).touch()

    async def begun(self, count: int) -> list[str]:
        """Wait for `count` started commands; returns their names."""
        async with asyncio.timeout(20):
            while len(self.names) < count:  # noqa: ASYNC110 (another process writes)
                await asyncio.sleep(0.01)
        return self.names

    @property
    def names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return (self.workspace.path / "begun").read_text().split()
        return []


async def test_a_free_place_goes_to_the_user_with_the_fewest_commands(tmp_path: Path) -> None:
    commands = Commands(tmp_path, slots=2)
    running = [commands.start("one", "a1"), commands.start("one", "a2")]
    assert sorted(await commands.begun(2)) == ["a1", "a2"]
    running += [commands.start("one", name) for name in ("a3", "a4")]
    running += [commands.start("two", name) for name in ("b1", "b2")]
    assert await running[-1].next_report() == NOTICE
    for number, name in enumerate(["a1", "b1", "a2", "b2", "a3", "a4"], start=3):
        commands.end(name)
        if number <= 6:
            await commands.begun(number)
    for each in running:
        assert await each.ends_within(10)
        assert each.result().text == "(no output)"
    # With a1 over, "two" has none: b1. With b1 over, the same again: b2. With a2 over, "one" has none: a3.
    assert commands.names[2:] == ["b1", "b2", "a3", "a4"]


async def test_the_wait_does_not_count_against_the_time_limit_of_a_command(tmp_path: Path) -> None:
    commands = Commands(tmp_path, slots=1)
    first = commands.run("one", "echo first >> begun; sleep 1.2")
    await commands.begun(1)
    second = commands.run("one", "echo printed; sleep 0.3", timeout=1)
    shown = []
    while (text := await second.next_report()) is not None:
        shown.append(text)
    assert shown[0] == NOTICE
    assert shown[-1] == "printed\n"
    assert second.result().text == "printed"
    assert second.result().detail["seconds"] < 1
    assert await first.ends_within(0)


async def test_a_cancelled_wait_takes_no_place(tmp_path: Path) -> None:
    commands = Commands(tmp_path, slots=1)
    first = commands.start("one", "a1")
    await commands.begun(1)
    async with commands.start("two", "b1") as waiting:
        assert await waiting.next_report() == NOTICE
    third = commands.start("two", "b2")
    assert await third.next_report() == NOTICE
    commands.end("a1")
    commands.end("b2")
    assert await third.ends_within(10)
    assert await first.ends_within(10)
    assert commands.names == ["a1", "b2"]


async def test_a_place_that_is_granted_while_its_command_is_cancelled_is_free_again() -> None:
    slots = CommandSlots(1)
    first, second = slots.of("one", NOTICE)(), slots.of("two", NOTICE)()
    await first.__aenter__()
    waiting = asyncio.create_task(second.__aenter__())
    await asyncio.sleep(0)
    await first.__aexit__(None, None, None)  # grants it
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    async with asyncio.timeout(5), slots.of("one", NOTICE)():
        pass
