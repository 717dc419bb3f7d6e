"""A tool as its server describes it, and what of that a provider takes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chat.agent.storable import storable

NAME_LIMIT = 200
DESCRIPTION_LIMIT = 1024
"""Characters; what some providers take, and more costs tokens in every request."""
_LARGEST_NUMBER = 2**63


@dataclass(frozen=True)
class Definition:
    """What a server says of one of its tools: all that a model would get to read of it.

    `known` is its fingerprint where that was kept with it: what was kept may be written otherwise.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    known: str = ""

    @property
    def fingerprint(self) -> str:
        """The same for the same name, description and schema, in whatever order the schema is written."""
        if self.known:
            return self.known
        told = json.dumps([self.name, self.description, self.schema], sort_keys=True)
        return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()

    @classmethod
    def read(cls, name: str, description: str | None, schema: Mapping[str, Any]) -> Definition:
        """The definition as it came from a server, without what cannot be kept or sent on."""
        return cls(name, storable(description or ""), _plain(schema))

    @property
    def storable(self) -> bool:
        """Whether its name is one that can be kept: not empty, not endless, without halves of characters."""
        return 0 < len(self.name) <= NAME_LIMIT and self.name == storable(self.name)

    @property
    def problem(self) -> str:
        """Why it cannot be offered, as the end of a sentence; empty if it can."""
        try:
            repaired(self.schema)
        except UnfitError as reason:
            return str(reason)
        return ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema as providers take it; raises UnfitError where it cannot be made so."""
        return repaired(self.schema)

    @property
    def summary(self) -> str:
        """The description, cut to what providers take."""
        text = self.description.strip()
        return text if len(text) <= DESCRIPTION_LIMIT else text[: DESCRIPTION_LIMIT - 1] + "…"


def _plain(value: Any) -> Any:
    """JSON without what databases or providers refuse: NUL, half characters, numbers beyond all bounds."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, int | float) and not -_LARGEST_NUMBER < value < _LARGEST_NUMBER:  # nor NaN
        return None
    return value


# Servers' JSON schemas, made into what providers take.
#
# Providers are stricter than the protocol: they want an object with properties at the top, nothing that
# chooses between schemas beside it, an `items` with every array, and names of 1 to 64 plain characters.

LARGEST = 32 * 1024
"""Characters of a schema as JSON: it is sent with every request."""
DEEPEST = 24
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# At the top these are refused; the server still minds them when it checks what it is given.
_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")
_NEVER = ("$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$vocabulary")
_ONE = ("not", "if", "then", "else", "contains", "propertyNames")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


class UnfitError(Exception):
    """A schema that cannot be made fit; the message says why, as the end of a sentence."""


def repaired(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as providers take it; raises UnfitError where that would change what it asks for."""
    try:
        size = len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        raise UnfitError("its schema cannot be written as JSON") from None
    if size > LARGEST:
        raise UnfitError(f"its schema has {size} characters, and {LARGEST} are the limit")
    if schema.get("type", "object") not in ("object", ["object"]):
        raise UnfitError(f"its schema is of type {schema['type']!r}, and arguments are an object")
    if "$ref" in schema:
        raise UnfitError("its schema is a reference to another one")
    top = {key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP}
    made = _mended({**top, "type": "object", "properties": schema.get("properties") or {}}, 0)
    made["required"] = [name for name in _required(schema) if name in made["properties"]]
    if not made["required"]:
        del made["required"]
    return made


def _required(schema: Mapping[str, Any]) -> list[str]:
    given = schema.get("required", [])
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []


def _mended(schema: Any, depth: int) -> dict[str, Any]:
    """One schema of the tree, with those beneath it."""
    if depth > DEEPEST:
        raise UnfitError(f"its schema is nested more than {DEEPEST} deep")
    if isinstance(schema, bool):  # true takes anything, as {} does; false nothing
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        raise UnfitError("its schema has something in it that is no schema")
    made = {key: _part(key, value, depth + 1) for key, value in schema.items() if key not in _NEVER}
    if "array" in _types(made) and "items" not in made:
        made["items"] = {}
    return made


def _part(key: str, value: Any, depth: int) -> Any:
    if key == "$ref" and not (isinstance(value, str) and value.startswith("#")):
        raise UnfitError("its schema refers to another document")
    if key in _NAMED:
        return _named(key, value, depth)
    if key in _MANY:
        return [_mended(each, depth) for each in value] if isinstance(value, list) else []
    if key in _ONE or key in ("items", "additionalProperties"):
        return value if isinstance(value, bool) and key == "additionalProperties" else _mended(value, depth)
    return value


def _named(key: str, value: Any, depth: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnfitError(f"its schema has {key!r} that are no object")
    if key == "properties":
        for name in value:
            if not _NAME.fullmatch(name):
                raise UnfitError(f"it has an argument called {name[:80]!r}, which providers refuse")
    return {name: _mended(each, depth) for name, each in value.items()}


def _types(schema: Mapping[str, Any]) -> list[Any]:
    given = schema.get("type")
    return given if isinstance(given, list) else [given]


LIMIT = 64
"""Characters that providers take in a tool's name, of letters, digits, `_` and `-`."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_MARK = 8


def offered_name(server: str, tool: str) -> str:
    """`server__tool`, made fit for providers.

    A name that had to be changed or cut ends with a mark made of the original, so that two that would
    become the same stay apart, and each keeps its name whatever else the server offers.
    """
    whole = f"{server}__{tool}"
    fit = _UNFIT.sub("_", whole)
    if fit == whole and len(whole) <= LIMIT:
        return whole
    mark = hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:_MARK]
    return f"{fit[: LIMIT - _MARK - 1]}_{mark}"
