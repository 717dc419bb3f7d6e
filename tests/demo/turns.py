"""Turns with the demo model: the real list and tools, and a loop of a few lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chat.agent.todo import TodoItem, TodoList
from chat.agent.todo.tool import todo_tool
from chat.agent.tool import Tool, ToolError, tool
from chat.agent.tools.edit_file import edit_file_tool
from chat.agent.tools.read_file import read_file_tool
from chat.agent.tools.write_file import write_file_tool
from chat.agent.workspace import Workspace
from chat.demo.reply import Call, Reply, Request, call_data
from chat.demo.transport import answer

_MOST_STEPS = 100
# The results of calls that the user stopped, and of later calls in the same reply.
_STOPPED = "Error: the user stopped this call before it had a result."
_NOT_RUN = "Error: this call was not run."

Change = Callable[[list[TodoItem]], list[TodoItem]]


@dataclass
class Called:
    """A call and its result."""

    name: str
    arguments: dict[str, Any]
    text: str = ""
    reminded: bool = False

    @property
    def states(self) -> str:
        """The list's states as letters, "ciipp" style: the first letter of each."""
        rows = self.arguments.get("items") or self.arguments.get("todos") or []
        return "".join(row["status"][0] for row in rows)


@dataclass
class Conversation:
    """A conversation with the demo. `calls` are those of the last turn."""

    workspace: Path
    policy: str = "focused"
    without: Iterable[str] = ()
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    changes: dict[int, Change] = field(default_factory=dict)  # of the user's, behind so many calls
    joins: dict[int, str] = field(default_factory=dict)  # the user's messages, behind so many calls
    stop_at: int | None = None  # the call at which the next turn is stopped
    had_effect: bool = False  # whether that call had done its work by then

    def __post_init__(self) -> None:
        self.todos = TodoList(self.policy)
        held = Workspace(self.workspace)
        made = [todo_tool(self.todos), read_file_tool(held), write_file_tool(held), edit_file_tool(held)]
        made.append(_bash(self.workspace))
        self.tools = {tool.name: tool for tool in made if tool.name not in set(self.without)}

    @property
    def writes(self) -> list[Called]:
        """The turn's calls of TodoWrite."""
        return [call for call in self.calls if call.name == "TodoWrite"]

    @property
    def names(self) -> list[str]:
        """What the turn called, in order."""
        return [call.name for call in self.calls]

    async def say(self, text: str) -> str:
        """One turn: the user's text, the calls, and the answer."""
        self.messages.append({"role": "user", "content": text})
        return await self.go_on()

    async def go_on(self) -> str:
        """The turn's calls and answer, for messages that end with the user's."""
        self.calls = []
        self.rounds = 0
        for _ in range(_MOST_STEPS):
            reply = answer(Request({"messages": self.messages, "tools": self.definitions}))
            calls = reply.calls
            self.messages.append(_message(reply))
            if not calls:
                return reply.text
            if self.stop_at is not None and self.stop_at < len(self.calls) + len(calls):
                return await self._stop(calls, self.stop_at - len(self.calls))
            round_ = [await self._answer(call) for call in calls]
            self._remind(round_)
            self._change(len(self.calls), round_)
            self.calls += round_
            if text := self.joins.pop(len(self.calls), None):
                self.messages.append({"role": "user", "content": text})
        raise AssertionError(f"the turn did not end after {_MOST_STEPS} steps")

    @property
    def definitions(self) -> list[dict[str, Any]]:
        return [tool.definition() for tool in self.tools.values()]

    async def _answer(self, call: Call) -> Called:
        called = await self._run(call)
        self._tell(call, called.text)
        return called

    async def _run(self, call: Call) -> Called:
        called = Called(call.name, json.loads(call.text))
        try:
            called.text = (await self.tools[call.name].call(called.arguments)).text
        except ToolError as error:
            called.text = str(error)
        return called

    def _tell(self, call: Call, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})

    async def _stop(self, calls: list[Call], place: int) -> str:
        """Answer the calls of a reply ahead of that place, and stop there."""
        for call in calls[:place]:
            await self._answer(call)
        if self.had_effect and calls[place].name != "TodoWrite":
            await self._run(calls[place])
        self._tell(calls[place], _STOPPED)
        for call in calls[place + 1 :]:
            self._tell(call, _NOT_RUN)
        self.stop_at = None
        return ""

    def _remind(self, round_: list[Called]) -> None:
        """After some rounds without a list, a reminder before the first result, as in the engine."""
        wrote = any(call.name == "TodoWrite" for call in round_)
        self.rounds = 0 if wrote else self.rounds + 1
        if self.rounds == self.todos.policy.remind_after and not self.todos.complete:
            first = self.messages[-len(round_)]
            first["content"] = f"<reminder>Update your todos.</reminder>\n{first['content']}"
            round_[0].reminded = True

    def _change(self, calls: int, round_: list[Called]) -> None:
        """Edit the list as the user, with a note before the first result, as in the engine."""
        if change := self.changes.pop(calls, None):
            told = self.todos.apply_edits(change(list(self.todos.items)))
            first = self.messages[-len(round_)]
            first["content"] = f"<todo-change>{told}</todo-change>\n{first['content']}"


def _message(reply: Reply) -> dict[str, Any]:
    """The reply as the next request's assistant message."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.tool_calls:
        message["tool_calls"] = [call_data(call, call.text) for call in reply.calls]
    return message


def _bash(folder: Path) -> Tool:
    async def bash(command: str) -> str:
        """Run a shell command without a sandbox: the demo's commands are known."""
        process = await asyncio.create_subprocess_shell(
            command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await process.communicate()
        note = f"[exit code {process.returncode}]" if process.returncode else ""
        text = "\n".join(part for part in (output.decode().rstrip(), note) if part) or "(no output)"
        if note:
            raise ToolError(text)
        return text

    made: Tool = tool(bash)
    return made
