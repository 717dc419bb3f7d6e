"""A file that comes in: read, and compared with the schema. Whoever brought it is told where a fault is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from django.utils.translation import gettext as _
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from chat.export.json_file import FORMAT, VERSION
from chat.export.schema import schema
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
