"""Servers' JSON schemas, made into what providers take.

Providers are stricter than the protocol: they want an object with properties at the top, nothing that
chooses between schemas beside it, an `items` with every array, and names of 1 to 64 plain characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

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
