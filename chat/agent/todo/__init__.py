"""The todo list: what it holds, the rules that it obeys, and how the model is reminded of it."""

from chat.agent.todo.edit import ITEM_ACTIONS, LONGEST, Action, Edit, EditError, filled, merged
from chat.agent.todo.item import TodoItem
from chat.agent.todo.list import Reminders, TodoList, enclosed, remind, with_first_reminder
from chat.agent.todo.policy import POLICIES, Status, TodoPolicy, as_policy
from chat.agent.todo.reading import OTHER, TodoError, reason_of
from chat.agent.todo.tool import TODO_WRITE, todo_tool

__all__ = [
    "ITEM_ACTIONS",
    "LONGEST",
    "OTHER",
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
    "enclosed",
    "filled",
    "merged",
    "reason_of",
    "remind",
    "todo_tool",
    "with_first_reminder",
]
