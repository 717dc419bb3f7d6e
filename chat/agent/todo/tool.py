"""The planning tool, `TodoWrite`, as its policy wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.agent.prompts import text
from chat.agent.todo.list import TodoList
from chat.agent.tool import Tool

TODO_WRITE = "TodoWrite"


def todo_tool(todos: TodoList) -> Tool:
    """The tool that writes `todos` whole. Its own reader checks the arguments, so the schema only informs."""

    async def write(arguments: Mapping[str, Any]) -> str:
        return todos.write(arguments)

    description = text(f"todo_write.{todos.policy.name}", todos.language)
    return Tool(
        name=TODO_WRITE,
        description=description.substitute(max_items=todos.policy.max_items),
        parameters=_schema(todos),
        function=write,
        check=lambda given: {"arguments": given},
        repeatable=True,
    )


def _schema(todos: TodoList) -> dict[str, Any]:
    policy = todos.policy
    fields: dict[str, Any] = {}
    if policy.has_key:
        fields["id"] = {"type": "string"}
    fields[policy.text_field] = {"type": "string"}
    fields["status"] = {"type": "string", "enum": list(policy.states)}
    if policy.has_active_form:
        fields["activeForm"] = {"type": "string"}
    item = {"type": "object", "properties": fields, "required": policy.required}
    items = {"type": "array", "items": item, "maxItems": policy.max_items}
    return {"type": "object", "properties": {policy.argument: items}, "required": [policy.argument]}
