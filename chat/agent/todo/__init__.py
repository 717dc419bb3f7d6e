"""The todo list: items, policies, user edits, and reminders to the model."""

from chat.agent.todo.edit import ITEM_ACTIONS, MAX_ITEM_LENGTH, Action, Edit, EditError, filled, merged
from chat.agent.todo.item import TodoItem, with_stable_ids
from chat.agent.todo.list import Reminders, TodoList, prepend_tagged, tagged, with_first_reminder
from chat.agent.todo.policy import POLICIES, Status, TodoPolicy, as_policy
from chat.agent.todo.reading import TodoError, items_written
from chat.agent.todo.tool import TODO_WRITE, todo_tool

__all__ = [
    "ITEM_ACTIONS",
    "MAX_ITEM_LENGTH",
    "POLICIES",
    "TODO_WRITE",
    "Action",
    "Edit",
    "EditError",
    "Reminders",
    "Status",
    "TodoError",
    "TodoItem",
    "TodoList",
    "TodoPolicy",
    "as_policy",
    "filled",
    "items_written",
    "merged",
    "prepend_tagged",
    "tagged",
    "todo_tool",
    "with_first_reminder",
    "with_stable_ids",
]
