"""The planning tool, `TodoWrite`, for a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.agent.prompts import phrase, text
from chat.agent.todo.list import TodoList
from chat.agent.tool import Tool

TODO_WRITE = "TodoWrite"


def todo_tool(todos: TodoList) -> Tool:
    """The tool that replaces the list. `TodoList.write` validates; the schema is for the model only."""

    async def write(arguments: Mapping[str, Any]) -> str:
        return todos.write(arguments)

    description = text(f"todo_write.{todos.policy.name}", todos.language)
    return Tool(
        name=TODO_WRITE,
        description=description.substitute(max_items=todos.policy.max_items),
        parameters=_schema(todos),
        function=write,
        check=lambda arguments: {"arguments": arguments},
        repeatable=True,
    )


def _schema(todos: TodoList) -> dict[str, Any]:
    policy, language = todos.policy, todos.language
    fields: dict[str, Any] = {
        name: {"type": "string", "description": phrase(language, f"schema.{name}")} for name in policy.fields
    }
    fields["status"]["enum"] = list(policy.states)
    item = {"type": "object", "properties": fields, "required": policy.required}
    items = {
        "type": "array",
        "description": phrase(language, "schema.list"),
        "items": item,
        "maxItems": policy.max_items,
    }
    return {"type": "object", "properties": {policy.argument: items}, "required": [policy.argument]}
