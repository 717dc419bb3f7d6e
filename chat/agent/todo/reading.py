"""Parses and validates the lists that the model writes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chat.agent.prompts import Language, phrase
from chat.agent.todo.item import TodoItem
from chat.agent.todo.policy import Status, TodoPolicy
from chat.agent.tool import REFUSAL, ToolError


class TodoError(ToolError):
    """The list was refused; `kind` is the reason's code, the message is what the model reads.

    The code is stored with the call, a required field's with its name: "required.activeForm".
    """

    def __init__(self, message: str, kind: str = "", field: str = "") -> None:
        super().__init__(message, {REFUSAL: f"{kind}.{field}" if kind == "required" else kind})
        self.kind = kind


def items_written(arguments: Any, policy: TodoPolicy) -> list[TodoItem]:
    """The items of a list that was accepted under the policy, whatever its limit was then; never raises."""
    return Reader(replace(policy, max_items=sys.maxsize), "en").draft(arguments)


class Reader:
    def __init__(self, policy: TodoPolicy, language: Language) -> None:
        self.policy = policy
        self.language = language

    def read(self, arguments: Any) -> list[TodoItem]:
        """The items of a list, or of `arguments` that contain one. Raises TodoError for the first error."""
        values = self._listed(arguments)
        if not isinstance(values, list):
            raise self.refusal("not_a_list", argument=self.policy.argument)
        items = [self._item(index, item) for index, item in enumerate(values)]
        self.check(items)
        return items

    def draft(self, arguments: Any) -> list[TodoItem]:
        """The items that can be shown of partial arguments; never raises."""
        values = self._listed(arguments)
        items = [item for item in values if isinstance(item, dict)] if isinstance(values, list) else []
        return [
            TodoItem(
                content=_text(item.get(self.policy.text_field)),
                status=self.policy.states.get(_text(item.get("status")).lower(), Status.PENDING),
                active_form=_text(item.get("activeForm")) if self.policy.has_active_form else "",
                key=_text(item.get("id")) if self.policy.has_key else "",
                policy=self.policy,
            )
            for item in items[: self.policy.max_items]
            if _text(item.get(self.policy.text_field))
        ]

    def refusal(self, key: str, **values: Any) -> TodoError:
        name = self.policy.name
        reason = phrase(self.language, f"todo.{key}", name, **values)
        return TodoError(
            phrase(self.language, "todo.refused", name, reason=reason), key, values.get("field", "")
        )

    def _listed(self, arguments: Any) -> Any:
        if isinstance(arguments, list):
            return arguments
        if not isinstance(arguments, dict):
            return None
        values = (arguments.get(name) for name in (self.policy.argument, "items", "todos"))
        return next((listed for listed in values if listed is not None), None)

    def _item(self, index: int, values: Any) -> TodoItem:
        if not isinstance(values, dict):
            raise self.refusal("not_an_object", index=index)
        policy = self.policy
        # In this order: the model reads the first error.
        key = self._field(index, "id", values) if policy.has_key else ""
        content = self._field(index, policy.text_field, values)
        status = self._status(index, self._field(index, "status", values).lower())
        active_form = self._field(index, "activeForm", values) if policy.has_active_form else ""
        return TodoItem(content, status, active_form, key, policy=self.policy)

    def _field(self, index: int, name: str, values: Mapping[str, Any]) -> str:
        value = _as_text(values.get(name))
        if value is None:
            raise self.refusal("not_text", index=index, field=name)
        if not value and name in self.policy.required:
            raise self.refusal("required", index=index, field=name)
        return value

    def _status(self, index: int, word: str) -> Status:
        status = self.policy.states.get(word or "pending")
        if status is None:
            raise self.refusal(
                "unknown_status", index=index, status=word, states=", ".join(self.policy.states)
            )
        return status

    def check(self, items: Sequence[TodoItem]) -> None:
        if len(items) > self.policy.max_items:
            raise self.refusal("too_many", maximum=self.policy.max_items)
        if sum(item.status is Status.IN_PROGRESS for item in items) > 1:
            raise self.refusal("two_in_progress")
        keys: set[str] = set()
        for index, item in enumerate(items):
            if item.key and item.key in keys:
                raise self.refusal("repeated_id", index=index, id=item.key)
            keys.add(item.key)


def _text(value: Any) -> str:
    return _as_text(value) or ""


def _as_text(value: Any) -> str | None:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return str(value).strip()
    except ValueError:  # a number of thousands of digits
        return None
