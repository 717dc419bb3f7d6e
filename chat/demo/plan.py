"""The demo's todo list, written the way that the request's `TodoWrite` wants it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from chat.demo.history import TODO_WRITE
from chat.demo.reply import Call

State = Literal["pending", "active", "done"]

_MAXIMUM = 20  # where the schema names no other


@dataclass(frozen=True)
class Item:
    """One thing to do; `doing` says the same while it is being done."""

    text: str
    doing: str = ""
    state: State = "pending"
    id: str = ""


@dataclass(frozen=True)
class Dialect:
    """Names and states of the list, as the tool's schema gives them; `active` is empty where none exists."""

    argument: str = "items"
    text: str = "content"
    fields: frozenset[str] = frozenset({"content", "status", "activeForm"})
    active: str = "in_progress"
    done: str = "completed"
    maximum: int = _MAXIMUM

    @classmethod
    def read(cls, tools: Sequence[Mapping[str, Any]]) -> Dialect | None:
        """The dialect of the `TodoWrite` among the tools, or None if it is not on offer."""
        functions = (tool.get("function") or {} for tool in tools)
        schema = next((each.get("parameters") for each in functions if each.get("name") == TODO_WRITE), None)
        return cls._of(schema) if isinstance(schema, Mapping) else None

    @classmethod
    def _of(cls, schema: Mapping[str, Any]) -> Dialect:
        arguments: dict[str, Mapping[str, Any]] = {
            name: _resolved(argument, schema) for name, argument in (schema.get("properties") or {}).items()
        }
        wanted = [*(schema.get("required") or ()), *arguments]
        name = next((each for each in wanted if arguments.get(each, {}).get("type") == "array"), "items")
        array = arguments.get(name, {})
        fields = _resolved(array.get("items") or {}, schema).get("properties") or {}
        states = _resolved(fields.get("status") or {}, schema).get("enum") or ["in_progress", "completed"]
        return cls(
            argument=name,
            text="text" if "text" in fields else "content",
            fields=frozenset(fields),
            active="in_progress" if "in_progress" in states else "",
            done="done" if "done" in states else "completed",
            maximum=int(array.get("maxItems") or _MAXIMUM),
        )

    def call(self, items: Iterable[Item], statuses: Mapping[int, str] | None = None) -> Call:
        """The call that writes the list; `statuses` puts other words than the right ones in some places."""
        rows = [self._row(item, index) for index, item in enumerate(items)]
        for index, status in (statuses or {}).items():
            rows[index]["status"] = status
        return Call(TODO_WRITE, {self.argument: rows})

    def items(self, arguments: Mapping[str, Any]) -> list[Item]:
        """The list in the arguments of an earlier call, in whichever dialect that was written."""
        rows = arguments.get("items") or arguments.get("todos") or []
        return [_item(row) for row in rows if isinstance(row, Mapping)]

    def _row(self, item: Item, index: int) -> dict[str, str]:
        row = {
            "id": item.id or str(index + 1),
            self.text: item.text,
            "status": self._word(item.state),
            "activeForm": item.doing or item.text,
        }
        return {name: value for name, value in row.items() if name in self.fields}

    def _word(self, state: State) -> str:
        return {"done": self.done, "active": self.active or "pending", "pending": "pending"}[state]


def advanced(items: Sequence[Item], done: Iterable[int] = (), active: int | None = None) -> list[Item]:
    """The items with these places done and this one being worked on; no other stays active."""
    finished = set(done)

    def state(index: int, item: Item) -> State:
        if index in finished or item.state == "done":
            return "done"
        return "active" if index == active else "pending"

    return [replace(item, state=state(index, item)) for index, item in enumerate(items)]


def _item(row: Mapping[str, Any]) -> Item:
    status = str(row.get("status") or "pending").lower()
    state: State = (
        "done" if status in ("done", "completed") else "active" if status == "in_progress" else "pending"
    )
    text = str(row.get("content") or row.get("text") or "")
    return Item(text, str(row.get("activeForm") or ""), state, str(row.get("id") or ""))


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a local `$ref` points at, else the schema itself."""
    name = str(schema.get("$ref") or "").rpartition("/")[2]
    found = (root.get("$defs") or {}).get(name) if name else None
    return found if isinstance(found, Mapping) else schema
