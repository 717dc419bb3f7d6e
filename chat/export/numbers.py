"""What the keys of rows are called in a file: turns by number, profiles in the order of their coming."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Model

from chat.export.kinds import written
from chat.export.tables import Table
from chat.models import Step, ToolCall
from chat.models.profile_then import bare_address


class Numbers:
    """Names that a file has for what rows name by keys."""

    def __init__(self, turns: list[int]) -> None:
        self.turns = {pk: number for number, pk in enumerate(turns, 1)}
        self._profiles: dict[Any, int] = {}

    def row(self, table: Table[Any], row: Model, refs: dict[str, Any] | None = None) -> dict[str, Any]:
        """The row as its table says; `refs` are the references to side calls."""
        values = {name: written(getattr(row, name)) for name in table.fields}
        if "profile_then" in values:
            values["profile_then"] = self.profile(values["profile_then"])
        if "endpoint" in values:
            values["endpoint"] = bare_address(values["endpoint"])
        values |= {name: [str(each.word) for each in getattr(row, name).all()] for name in table.words}
        return values | {name: self._ref(kind, row, name) for name, kind in table.refs.items()} | (refs or {})

    def profile(self, then: Mapping[str, Any]) -> dict[str, Any]:
        """A turn's profile without this site's keys."""
        if not then:
            return {}
        number = self._profiles.setdefault(then["id"], len(self._profiles) + 1)
        connection = {name: then["connection"][name] for name in ("name", "address")}
        since = self.turns.get(then["since"], 1)
        return {**then, "id": number, "connection": connection, "since": since}

    def _ref(self, kind: str, row: Model, name: str) -> Any:
        if kind == "turn":
            return self.turns.get(getattr(row, f"{name}_id"))
        if kind == "step":
            return row.step.number if row.step else None  # type: ignore[attr-defined]
        if kind == "step_of_turn":
            return self._step(getattr(row, name))
        return of_call(getattr(row, name)) if kind == "tool_call" else None

    def _step(self, step: Step | None) -> dict[str, int] | None:
        if step is None or step.turn_id not in self.turns:
            return None
        return {"turn": self.turns[step.turn_id], "step": step.number}


def of_call(call: ToolCall | None) -> dict[str, int] | None:
    """How a file names a tool call of a turn that is named beside it."""
    return {"step": call.step.number, "index": call.index} if call else None
