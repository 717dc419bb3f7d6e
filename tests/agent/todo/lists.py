"""Lists as a model would write them, under each policy."""

from __future__ import annotations

from typing import Any

from chat.agent.todo import TodoList

STATES = {"focused": "completed", "lean": "completed", "checklist": "done"}


def item(policy: str, text: str, status: str = "pending", key: str = "") -> dict[str, Any]:
    if policy == "lean":
        return {"content": text, "status": status}
    if policy == "checklist":
        return {"id": key or text, "text": text, "status": status}
    return {"content": text, "status": status, "activeForm": f"Doing {text}"}


def written(policy: str, *texts: str) -> dict[str, Any]:
    return {("todos" if policy == "lean" else "items"): [item(policy, text) for text in texts]}


def contents(todos: TodoList) -> list[str]:
    return [todo.content for todo in todos.items]
