"""Parses and validates the lists that the model writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from chat.agent.prompts import Language, phrase
from chat.agent.todo.item import TodoItem
from chat.agent.todo.policy import POLICIES, Status, TodoPolicy
from chat.agent.tool import ToolError


class TodoError(ToolError):
    """The list was refused; `kind` is the reason's code, the message is what the model reads."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


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
        return TodoError(phrase(self.language, "todo.refused", name, reason=reason), key)

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


OTHER = "other"
READER_CODES = (
    "not_a_list",
    "not_an_object",
    "required",
    "not_text",
    "unknown_status",
    "too_many",
    "two_in_progress",
    "repeated_id",
    "second_write",
)
CALL_CODES = ("not_json", "not_an_object", "cut", "not_run")
# Phrases of earlier versions, which old records still contain, behind the same prefixes.
_OLD_PHRASES: dict[Language, dict[str, str]] = {
    "en": {},
    "zh": {
        "not_an_object": "第 {index} 项: 必须是一个对象",
        "required": "第 {index} 项: 缺少 {field}",
        "not_text": "第 {index} 项: {field} 必须是文本",
        "unknown_status": "第 {index} 项: 无效的任务状态 '{status}'",
        "too_many": "最多只能有 {maximum} 项任务",
        "two_in_progress": "同一时间只能有一项任务处于 in_progress",
        "repeated_id": "第 {index} 项: id '{id}' 重复",
    },
}
_PLACEHOLDERS = ("argument", "index", "field", "status", "states", "maximum", "id", "reason")
_END = 2000  # characters examined at each end: a placeholder's value may be long, and is irrelevant
_GAP = "\x00"  # marks placeholders; stored texts never contain it


def refusal_code(message: str) -> str:
    """The code of a refusal's message, in any language and under any policy.

    One of READER_CODES, or of CALL_CODES as "call.cut"; "required" with the missing field, as in
    "required.activeForm"; OTHER for any other text.
    """
    message = message.strip()
    message = message if len(message) <= 2 * _END else message[:_END] + message[-_END:]
    for reason, pattern in _patterns():
        if match := pattern.fullmatch(message):
            return f"{reason}.{match['gap2']}" if reason == "required" else reason
    return OTHER


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    languages: tuple[Language, ...] = get_args(Language)
    phrases = [
        (key, phrase(language, "todo.refused", policy, reason=reason))
        for language in languages
        for policy in POLICIES
        for key, reason in _reasons(language, policy)
    ]
    phrases += [
        (f"call.{key}", _template(language, f"call.{key}")) for language in languages for key in CALL_CODES
    ]
    return [(key, _pattern(text)) for key, text in dict.fromkeys(phrases)]


def _reasons(language: Language, policy: str) -> Iterator[tuple[str, str]]:
    for key in READER_CODES:
        yield key, _template(language, f"todo.{key}", policy)
    for key, words in _OLD_PHRASES[language].items():
        yield key, words.format(**dict.fromkeys(_PLACEHOLDERS, _GAP))


def _template(language: Language, key: str, policy: str = "") -> str:
    return phrase(language, key, policy, **dict.fromkeys(_PLACEHOLDERS, _GAP))


def _pattern(text: str) -> re.Pattern[str]:
    """A pattern for the formatted phrase; its placeholders are the groups gap1, gap2 ..."""
    first, *rest = map(re.escape, text.split(_GAP))
    gaps = (f"(?P<gap{number}>.*?){part}" for number, part in enumerate(rest, 1))
    return re.compile(first + "".join(gaps), re.DOTALL)
