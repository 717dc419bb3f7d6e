"""Validates an imported file: JSON, types, and consistency between its parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from chat.agent.storable import storable_json
from chat.export.file_format import FORMAT, PARTS, VERSION, File, TurnInFile
from chat.models import SideCall

MAX_DEPTH = 48  # of nested objects and lists
MAX_QUOTE = 200  # characters of the file that a message quotes

Row = dict[str, Any]
Path = tuple[str | int, ...]


class FileRefused(ValueError):  # noqa: N818 (a refusal shown to the user)
    pass


def parse(data: bytes) -> dict[str, Any]:
    """The file's JSON, typed except for the turns. Raises FileRefused."""
    file = _parse_json(data)
    if not isinstance(file, dict) or file.get("format") != FORMAT:
        raise FileRefused(_("Agentsite did not export this file: its “format” is not “%s”.") % FORMAT)
    if file.get("version") != VERSION or isinstance(file["version"], bool):
        message = _("The file has version %(theirs)s; this site reads version %(ours)s.")
        raise FileRefused(message % {"theirs": str(file.get("version"))[:20], "ours": VERSION})
    turns = file.get("turns")
    without_turns = {**file, "turns": []} if isinstance(turns, list) else file
    return {**_validated(File, without_turns), "turns": turns}


def check_turns(file: dict[str, Any]) -> Iterator[int]:
    """Replace the turns by typed ones, one by one, as that takes long; yields how many are done."""
    for index, turn in enumerate(file["turns"]):
        file["turns"][index] = _validated(TurnInFile, turn, ("turns", index))
        yield index + 1


def _validated(model: type[BaseModel], value: Any, parent: Path = ()) -> dict[str, Any]:
    """The fields that are present, with times and amounts as such. Raises FileRefused."""
    try:
        return model.model_validate(value).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise FileRefused(_message(error.errors(include_url=False), parent)) from None


def json_path(path: Iterable[str | int]) -> str:
    """A path in the file, such as turns[2].steps[0].number."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")[:MAX_QUOTE] or _("the file")


def _parse_json(data: bytes) -> Any:
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
        _check_depth(value)
        return storable_json(value)
    except FileRefused:
        raise
    except (ValueError, RecursionError):
        raise FileRefused(
            _("The file cannot be read as JSON, so it is not an exported conversation.")
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise FileRefused(_("In the file, an object contains “%s” twice.") % name[:MAX_QUOTE])
        members[name] = value
    return members


def _refuse_constant(name: str) -> Any:
    raise FileRefused(_("The file contains %s, which is not a valid number in JSON.") % name)


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise FileRefused(_("In the file, objects are nested more than %d levels deep.") % MAX_DEPTH)
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]


# What JSON calls the types that pydantic names in its errors.
_JSON_TYPES = {
    "string": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "model": "object",
}


def _message(errors: list[ErrorDetails], parent: Path) -> str:
    error = errors[0]
    kind, path = error["type"], (*parent, *error["loc"])
    values = {"place": json_path(path), "value": str(error["input"])[:MAX_QUOTE]}
    if kind == "missing":
        values["place"] = json_path(path[:-1])
        return _("In the file, %(place)s is missing “%(name)s”.") % {**values, "name": path[-1]}
    if kind == "extra_forbidden":
        names = sorted(str(each["loc"][-1]) for each in errors if each["loc"][:-1] == error["loc"][:-1])
        texts = {"place": json_path(path[:-1]), "names": pgettext("list", ", ").join(names)[:MAX_QUOTE]}
        return _("In the file, %(place)s has unknown fields: %(names)s.") % texts
    if kind == "implausible_time":
        return str(refused(path, _("is not a valid time")))
    if (json_type := _JSON_TYPES.get(kind.removesuffix("_type"))) and kind.endswith("_type"):
        text = _("In the file, %(place)s has the wrong type; it must be one of: %(kinds)s.")
        return text % {**values, "kinds": json_type}
    if kind == "literal_error":
        allowed = re.findall("'([^']*)'", error["ctx"]["expected"])
        text = _("In the file, %(place)s is “%(value)s”; it must be one of: %(allowed)s.")
        return text % {**values, "allowed": pgettext("list", ", ").join(each or '""' for each in allowed)}
    return _("In the file, %(place)s is “%(value)s”, which is not valid.") % values


MAX_ROWS = 50_000  # of a conversation


def check(file: Row) -> None:
    """Raise FileRefused if parts of the file contradict each other. `file` matches the schema."""
    if _row_count(file) > MAX_ROWS:
        message = _("The file has more than %d messages, calls and other parts, so it cannot be imported.")
        raise FileRefused(message % MAX_ROWS)
    if not file["conversation"]["title"].strip():
        raise refused(("conversation", "title"), _("is empty"))
    turns = file["turns"]
    for index, turn in enumerate(turns):
        _Turn(turn, index + 1, ("turns", index)).check()
    _check_path(turns)
    _check_revisions(file, turns)
    for index, row in enumerate(file["follow_ups"]):
        path: Path = ("follow_ups", index, "turn")
        if (row["status"] == "delivered") != (row.get("turn") is not None):
            raise refused(path, _("must name a turn if, and only if, the message was delivered"))
        _check_turn(row.get("turn"), len(turns), path)
    _check_unique((row["digest"] for row in file["pictures"]), "pictures", "digest")


def parents_in(turns: list[Row]) -> list[int | None]:
    """The number of each turn's parent. Older files have none: there each turn follows the one before."""
    return [row.get("parent", index or None) for index, row in enumerate(turns)]


def _check_path(turns: list[Row]) -> None:
    """Check that the turns on the path, if the file has others, are one line from a first to a last one."""
    shown = [number for number, row in enumerate(turns, 1) if row.get("on_path", True)]
    if len(shown) == len(turns):
        return
    parents = parents_in(turns)
    for number, before in zip(shown or [1], [None, *shown], strict=False):
        if not shown or parents[number - 1] != before or not turns[number - 1].get("chosen", True):
            raise refused(("turns", number - 1, "on_path"), _("does not fit the turns before it"))


def refused(path: Path, what: str) -> FileRefused:
    return FileRefused(_("In the file, %(place)s %(wrong)s.") % {"place": json_path(path), "wrong": what})


def _row_count(file: Row) -> int:
    turns = file["turns"]
    parts = [turn[name] for turn in turns for name in PARTS] + [file["revisions"], file["follow_ups"]]
    messages = [row for turn in turns for row in turn["messages"]] + file["follow_ups"]
    return len(turns) + sum(map(len, parts)) + sum(len(row.get("attachments", [])) for row in messages)


class _Turn:
    def __init__(self, turn: Row, number: int, path: Path) -> None:
        self.turn = turn
        self.number = number
        self.path = path
        self.steps = {step["number"] for step in turn["steps"]}

    def check(self) -> None:
        for name in ("follows", "parent"):
            _check_turn(self.turn.get(name), self.number - 1, (*self.path, name))
        _check_turn(self.turn.get("profile_then", {}).get("since"), self.number, (*self.path, "profile_then"))
        _check_unique((step["number"] for step in self.turn["steps"]), *self.path, "steps")
        self._check_messages()
        self._check_calls()
        self._check_summaries()

    def _check_messages(self) -> None:
        messages = self.turn["messages"]
        for index, row in enumerate(messages):
            self._check_step(row.get("step"), "messages", index)
            if row["role"] == "assistant" and row.get("step") is None:
                raise refused((*self.path, "messages", index, "step"), _("is missing"))
        if sum(row["role"] == "user" and row.get("step") is None for row in messages) != 1:
            raise refused((*self.path, "messages"), _("must start with exactly one message from the user"))
        answers = [row["step"] for row in messages if row["role"] == "assistant"]
        _check_unique(answers, *self.path, "messages")

    def _check_calls(self) -> None:
        for index, row in enumerate(self.turn["tool_calls"]):
            self._check_step(row["step"], "tool_calls", index)
            if bool(row.get("decision")) != (row.get("decided_at") is not None):
                path: Path = (*self.path, "tool_calls", index, "decided_at")
                raise refused(path, _("must be present if, and only if, there is a decision"))
        numbers = ((row["step"], row["index"]) for row in self.turn["tool_calls"])
        _check_unique(numbers, *self.path, "tool_calls")

    def _check_summaries(self) -> None:
        calls = self.turn["side_calls"]
        for index, row in enumerate(self.turn["summaries"]):
            path: Path = (*self.path, "summaries", index)
            _check_turn(row["until"], self.number, (*path, "until"))
            call = row.get("side_call")
            if call is not None and call > len(calls):
                raise refused((*path, "side_call"), _("names a call that is not in the turn"))
            if call is not None and calls[call - 1]["purpose"] != SideCall.Purpose.SUMMARY:
                raise refused((*path, "side_call"), _("names a call that made no summary"))
        named_calls = [row["side_call"] for row in self.turn["summaries"] if row.get("side_call")]
        _check_unique(named_calls, *self.path, "summaries")

    def _check_step(self, step: int | None, part: str, index: int) -> None:
        if step is not None and step not in self.steps:
            raise refused((*self.path, part, index, "step"), _("names a step that is not in the turn"))


def _check_revisions(file: Row, turns: list[Row]) -> None:
    rows = file["revisions"]
    steps = {(number, each["number"]) for number, turn in enumerate(turns, 1) for each in turn["steps"]}
    known_calls = {
        (number, each["step"], each["index"])
        for number, turn in enumerate(turns, 1)
        for each in turn["tool_calls"]
    }
    for index, row in enumerate(rows):
        _check_turn(row["turn"], len(turns), ("revisions", index, "turn"))
        _check_unique((item["id"] for item in row.get("items", [])), "revisions", index, "items")
        if step := row.get("told_in"):
            _check_turn(step["turn"], len(turns), ("revisions", index, "told_in"))
        _check_refs(row, steps, known_calls, ("revisions", index))
    calls = [(row["turn"], *row["tool_call"].values()) for row in rows if row.get("tool_call")]
    _check_unique(calls, "revisions")
    shown = [row for row in rows if turns[row["turn"] - 1].get("on_path", True)]
    items = shown[-1].get("items", []) if shown else []
    unfinished = sum(item["status"] != "completed" for item in items)
    if file["conversation"].get("todos_left", 0) not in (0, unfinished):
        wrong = _("does not match its last list, which has %d open items") % unfinished
        raise refused(("conversation", "todos_left"), wrong)


def _check_refs(row: Row, steps: set[Any], calls: set[Any], path: Path) -> None:
    for name in ("tool_call", "after"):
        call = row.get(name)
        if call and (row["turn"], call["step"], call["index"]) not in calls:
            raise refused((*path, name), _("names a call that is not in the turn"))
    if row.get("tool_call") and row.get("author") == "person":
        raise refused((*path, "tool_call"), _("names a call, though the user wrote the list"))
    step = row.get("told_in")
    if step and (step["turn"], step["step"]) not in steps:
        raise refused((*path, "told_in"), _("names a step that is not in the turn"))


def _check_turn(number: int | None, last: int, path: Path) -> None:
    if number is not None and number > last:
        raise refused(path, _("names turn %d, which does not exist or comes later") % number)


def _check_unique(values: Iterable[Any], *path: str | int) -> None:
    for value in _duplicates(values):
        raise refused(path, _("has %s twice") % str(value)[:80])


def _duplicates(values: Iterable[Any]) -> Iterator[Any]:
    seen = set()
    for value in values:
        if value in seen:
            yield value
        seen.add(value)
