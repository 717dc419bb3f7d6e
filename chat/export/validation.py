"""Validation of an imported file: its JSON, its schema, and that its parts fit each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from django.utils.translation import gettext as _
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from chat.export.file_format import PARTS
from chat.export.json_file import FORMAT, VERSION
from chat.export.schema import schema
from chat.models import SideCall
from chat.models.text import clean_json

DEEPEST = 48  # objects and lists within each other
LONGEST = 200  # characters of the file that a sentence repeats


class FileRefused(ValueError):  # noqa: N818 (a refusal, told to the person who brought the file)
    """The file is no conversation that this site can take; the text says why, and where."""


def read(data: bytes) -> dict[str, Any]:
    """The conversation that the file holds, as its schema wants it; raises FileRefused."""
    file = parsed(data)
    for _turn in checked_turns(file):
        pass
    return file


def parsed(data: bytes) -> dict[str, Any]:
    """The file's JSON, of which everything but the turns is as the schema wants it; raises FileRefused."""
    found = _parsed(data)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileRefused(_("The file is JSON but not a conversation: its “format” is not “%s”.") % FORMAT)
    if found.get("version") != VERSION or isinstance(found["version"], bool):
        said = _("The file has version %(theirs)s; this site reads version %(ours)s.")
        raise FileRefused(said % {"theirs": str(found.get("version"))[:20], "ours": VERSION})
    turns = found.get("turns")
    without_turns = {**found, "turns": []} if isinstance(turns, list) else found
    for error in _validator().iter_errors(without_turns):
        raise FileRefused(_sentence(error))
    return found


def checked_turns(file: dict[str, Any]) -> Iterator[int]:
    """Check the turns one by one, for checking them all takes a while; gives how many are checked."""
    turn_schema = _validator().schema["properties"]["turns"]["items"]  # type: ignore[index]
    for place, turn in enumerate(file["turns"]):
        for error in _validator().descend(turn, turn_schema):
            raise FileRefused(_sentence(error, ("turns", place)))
        yield place + 1


def place_of(path: Iterable[str | int]) -> str:
    """A place in the file, as programs write it: turns[2].steps[0].number."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")[:LONGEST] or _("the file")


def _parsed(data: bytes) -> Any:
    try:
        text = data.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
        _check_depth(found)
        return clean_json(found)
    except FileRefused:
        raise
    except (ValueError, RecursionError):
        raise FileRefused(_("The file is not JSON in UTF-8, so it is not a conversation.")) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise FileRefused(_("In the file, an object contains “%s” twice.") % name[:LONGEST])
        found[name] = value
    return found


def _no_number(name: str) -> Any:
    raise FileRefused(_("The file contains %s, which is not a valid number in JSON.") % name)


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise FileRefused(_("In the file, objects are nested more than %d levels deep.") % DEEPEST)
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


def _sentence(error: ValidationError, within: tuple[str | int, ...] = ()) -> str:
    """What is wrong and where, for the user who brought the file."""
    instance: Any = error.instance
    wanted: Any = error.validator_value
    named = {"place": place_of((*within, *error.absolute_path)), "value": str(instance)[:LONGEST]}
    if error.validator == "required":
        missing = next(name for name in wanted if name not in instance)
        return _("In the file, %(place)s is missing “%(name)s”.") % {**named, "name": missing}
    if error.validator == "additionalProperties" and isinstance(error.schema, dict):
        names = sorted(set(instance) - set(error.schema.get("properties", {})))
        told = {**named, "names": ", ".join(names)[:LONGEST]}
        return _("In the file, %(place)s has unknown fields: %(names)s.") % told
    if error.validator == "type":
        kinds = wanted if isinstance(wanted, list) else [wanted]
        said = _("In the file, %(place)s has the wrong type; it must be one of: %(kinds)s.")
        return said % {**named, "kinds": ", ".join(kinds)}
    if error.validator == "enum":
        said = _("In the file, %(place)s is “%(value)s”; it must be one of: %(allowed)s.")
        return said % {**named, "allowed": ", ".join(each or '""' for each in wanted)}
    return _("In the file, %(place)s is “%(value)s”, which is not valid.") % named


MOST_ROWS = 50_000  # of one conversation

Row = dict[str, Any]
Path = tuple[str | int, ...]


def check(file: Row) -> None:
    """Raise FileRefused where a part contradicts another; `file` is as its schema wants it."""
    if _rows_of(file) > MOST_ROWS:
        said = _("The file has more than %d messages, calls and other parts, so it cannot be imported.")
        raise FileRefused(said % MOST_ROWS)
    if not file["conversation"]["title"].strip():
        raise refused(("conversation", "title"), _("is empty"))
    turns = file["turns"]
    for place, turn in enumerate(turns):
        _Turn(turn, place + 1, ("turns", place)).check()
    _check_revisions(file, turns)
    for place, row in enumerate(file["follow_ups"]):
        at: Path = ("follow_ups", place, "turn")
        if (row["status"] == "delivered") != (row.get("turn") is not None):
            raise refused(at, _("must name a turn if, and only if, the message was delivered"))
        _check_turn(row.get("turn"), len(turns), at)
    _once((row["digest"] for row in file["pictures"]), "pictures", "digest")


def refused(path: Path, what: str) -> FileRefused:
    """A refusal that says what is wrong with the place."""
    return FileRefused(_("In the file, %(place)s %(wrong)s.") % {"place": place_of(path), "wrong": what})


def _rows_of(file: Row) -> int:
    """How many rows the file becomes."""
    turns = file["turns"]
    parts = [turn[name] for turn in turns for name in PARTS] + [file["revisions"], file["follow_ups"]]
    written = [row for turn in turns for row in turn["messages"]] + file["follow_ups"]
    return len(turns) + sum(map(len, parts)) + sum(len(row.get("attachments", [])) for row in written)


class _Turn:
    def __init__(self, turn: Row, number: int, path: Path) -> None:
        self.turn = turn
        self.number = number
        self.path = path
        self.steps = {step["number"] for step in turn["steps"]}

    def check(self) -> None:
        _check_turn(self.turn.get("follows"), self.number - 1, (*self.path, "follows"))
        _check_turn(self.turn.get("profile_then", {}).get("since"), self.number, (*self.path, "profile_then"))
        _once((step["number"] for step in self.turn["steps"]), *self.path, "steps")
        self._check_messages()
        self._check_calls()
        self._check_summaries()

    def _check_messages(self) -> None:
        messages = self.turn["messages"]
        for place, row in enumerate(messages):
            self._check_step(row.get("step"), "messages", place)
            if row["role"] == "assistant" and row.get("step") is None:
                raise refused((*self.path, "messages", place, "step"), _("is missing"))
        if sum(row["role"] == "user" and row.get("step") is None for row in messages) != 1:
            raise refused((*self.path, "messages"), _("must start with exactly one message from the user"))
        answers = [row["step"] for row in messages if row["role"] == "assistant"]
        _once(answers, *self.path, "messages")

    def _check_calls(self) -> None:
        for place, row in enumerate(self.turn["tool_calls"]):
            self._check_step(row["step"], "tool_calls", place)
            if bool(row.get("decision")) != (row.get("decided_at") is not None):
                at: Path = (*self.path, "tool_calls", place, "decided_at")
                raise refused(at, _("must be present if, and only if, there is a decision"))
        _once(((row["step"], row["index"]) for row in self.turn["tool_calls"]), *self.path, "tool_calls")

    def _check_summaries(self) -> None:
        calls = self.turn["side_calls"]
        for place, row in enumerate(self.turn["summaries"]):
            at: Path = (*self.path, "summaries", place)
            _check_turn(row["until"], self.number, (*at, "until"))
            named = row.get("side_call")
            if named is not None and named > len(calls):
                raise refused((*at, "side_call"), _("names a call that is not in the turn"))
            if named is not None and calls[named - 1]["purpose"] != SideCall.Purpose.SUMMARY:
                raise refused((*at, "side_call"), _("names a call that made no summary"))
        named_calls = [row["side_call"] for row in self.turn["summaries"] if row.get("side_call")]
        _once(named_calls, *self.path, "summaries")

    def _check_step(self, step: int | None, part: str, place: int) -> None:
        if step is not None and step not in self.steps:
            raise refused((*self.path, part, place, "step"), _("names a step that is not in the turn"))


def _check_revisions(file: Row, turns: list[Row]) -> None:
    rows = file["revisions"]
    steps = {(number, each["number"]) for number, turn in enumerate(turns, 1) for each in turn["steps"]}
    known = {
        (number, each["step"], each["index"])
        for number, turn in enumerate(turns, 1)
        for each in turn["tool_calls"]
    }
    for place, row in enumerate(rows):
        _check_turn(row["turn"], len(turns), ("revisions", place, "turn"))
        _once((item["id"] for item in row.get("items", [])), "revisions", place, "items")
        if told := row.get("told_in"):
            _check_turn(told["turn"], len(turns), ("revisions", place, "told_in"))
        _check_refs(row, steps, known, ("revisions", place))
    calls = [(row["turn"], *row["tool_call"].values()) for row in rows if row.get("tool_call")]
    _once(calls, "revisions")
    items = rows[-1].get("items", []) if rows else []
    left = sum(item["status"] != "completed" for item in items)
    if file["conversation"].get("todos_left", 0) not in (0, left):
        wrong = _("does not match its last list, which has %d open items") % left
        raise refused(("conversation", "todos_left"), wrong)


def _check_refs(row: Row, steps: set[Any], calls: set[Any], path: Path) -> None:
    """That a revision names calls of its turn, and a step that is there."""
    for name in ("tool_call", "after"):
        call = row.get(name)
        if call and (row["turn"], call["step"], call["index"]) not in calls:
            raise refused((*path, name), _("names a call that is not in the turn"))
    if row.get("tool_call") and row.get("author") == "person":
        raise refused((*path, "tool_call"), _("names a call, though the user wrote the list"))
    told = row.get("told_in")
    if told and (told["turn"], told["step"]) not in steps:
        raise refused((*path, "told_in"), _("names a step that is not in the turn"))


def _check_turn(number: int | None, most: int, path: Path) -> None:
    if number is not None and number > most:
        raise refused(path, _("names turn %d, which does not exist or comes later") % number)


def _once(values: Iterable[Any], *path: str | int) -> None:
    for value in _repeated(values):
        raise refused(path, _("has %s twice") % str(value)[:80])


def _repeated(values: Iterable[Any]) -> Iterator[Any]:
    seen = set()
    for value in values:
        if value in seen:
            yield value
        seen.add(value)
