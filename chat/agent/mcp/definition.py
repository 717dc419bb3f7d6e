"""A tool as its server describes it, converted to what providers accept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chat.agent.mcp.server import Program, ServerError
from chat.agent.sandbox import UNBOUNDED, CommandSlot
from chat.agent.storable import storable
from chat.agent.tool import Tool, ToolError

if TYPE_CHECKING:
    from chat.agent.mcp.connection import Connection


NAME_LIMIT = 200
DESCRIPTION_LIMIT = 1024
"""Characters; some providers' limit, and more costs tokens in every request."""
_MAX_NUMBER = 2**63


@dataclass(frozen=True)
class Definition:
    """All that a model may read about a tool; `known` is a stored fingerprint that takes precedence."""

    name: str
    description: str
    schema: Mapping[str, Any]
    known: str = ""

    @property
    def fingerprint(self) -> str:
        """A hash of name, description and schema, independent of the order of the schema's keys."""
        if self.known:
            return self.known
        content = json.dumps([self.name, self.description, self.schema], sort_keys=True)
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()

    @classmethod
    def read(cls, name: str, description: str | None, schema: Mapping[str, Any]) -> Definition:
        return cls(name, storable(description or ""), _plain(schema))

    @property
    def storable(self) -> bool:
        """Whether the name can be stored: not empty, within NAME_LIMIT, without lone surrogates."""
        return 0 < len(self.name) <= NAME_LIMIT and self.name == storable(self.name)

    @property
    def problem(self) -> str:
        """Why the tool cannot be offered, as the end of a sentence; empty if it can."""
        try:
            for_providers(self.schema)
        except UnfitError as reason:
            return str(reason)
        return ""

    @property
    def parameters(self) -> dict[str, Any]:
        return for_providers(self.schema)

    @property
    def summary(self) -> str:
        text = self.description.strip()
        return text if len(text) <= DESCRIPTION_LIMIT else text[: DESCRIPTION_LIMIT - 1] + "…"


def _plain(value: Any) -> Any:
    """JSON without what databases or providers refuse: NUL, lone surrogates, huge numbers."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, int | float) and not -_MAX_NUMBER < value < _MAX_NUMBER:  # nor NaN
        return None
    return value


# Providers are stricter than the protocol: they require an object with properties at the top level, no
# choices between schemas there, `items` for every array, and names of 1 to 64 plain characters.

MAX_SCHEMA = 32 * 1024
"""Characters of a schema as JSON: it is sent with every request."""
MAX_DEPTH = 24
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Providers refuse these at the top level; the server still applies them when it validates arguments.
_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")
_DROPPED = ("$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$vocabulary")
_SUBSCHEMA = ("not", "if", "then", "else", "contains", "propertyNames")
_SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SUBSCHEMA_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


class UnfitError(Exception):
    """The schema cannot be converted; the message says why, as the end of a sentence."""


def for_providers(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema for providers; raises UnfitError if converting it would change its meaning."""
    try:
        size = len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        raise UnfitError("its schema cannot be written as JSON") from None
    if size > MAX_SCHEMA:
        raise UnfitError(f"its schema has {size} characters, and {MAX_SCHEMA} are the limit")
    if schema.get("type", "object") not in ("object", ["object"]):
        raise UnfitError(f"its schema is of type {schema['type']!r}, and arguments are an object")
    if "$ref" in schema:
        raise UnfitError("its schema is a reference to another one")
    top = {key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP}
    result = _convert({**top, "type": "object", "properties": schema.get("properties") or {}}, 0)
    result["required"] = [name for name in _required(schema) if name in result["properties"]]
    if not result["required"]:
        del result["required"]
    return result


def _required(schema: Mapping[str, Any]) -> list[str]:
    value = schema.get("required", [])
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _convert(schema: Any, depth: int) -> dict[str, Any]:
    if depth > MAX_DEPTH:
        raise UnfitError(f"its schema is nested more than {MAX_DEPTH} deep")
    if isinstance(schema, bool):  # true takes anything, as {} does; false nothing
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        raise UnfitError("its schema has something in it that is no schema")
    result = {
        key: _convert_keyword(key, value, depth + 1) for key, value in schema.items() if key not in _DROPPED
    }
    if "array" in _types(result) and "items" not in result:
        result["items"] = {}
    return result


def _convert_keyword(key: str, value: Any, depth: int) -> Any:
    if key == "$ref" and not (isinstance(value, str) and value.startswith("#")):
        raise UnfitError("its schema refers to another document")
    if key in _SUBSCHEMA_MAPS:
        return _convert_map(key, value, depth)
    if key in _SUBSCHEMA_LISTS:
        return [_convert(each, depth) for each in value] if isinstance(value, list) else []
    if key in _SUBSCHEMA or key in ("items", "additionalProperties"):
        return value if isinstance(value, bool) and key == "additionalProperties" else _convert(value, depth)
    return value


def _convert_map(key: str, value: Any, depth: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnfitError(f"its schema has {key!r} that are no object")
    if key == "properties":
        for name in value:
            if not _NAME.fullmatch(name):
                raise UnfitError(f"it has an argument called {name[:80]!r}, which providers refuse")
    return {name: _convert(each, depth) for name, each in value.items()}


def _types(schema: Mapping[str, Any]) -> list[Any]:
    value = schema.get("type")
    return value if isinstance(value, list) else [value]


MAX_TOOL_NAME = 64
"""Characters of a tool's name that providers accept: letters, digits, `_` and `-`."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_HASH_LENGTH = 8


def offered_name(server: str, tool: str) -> str:
    """`server__tool`, made valid for providers.

    A name that had to be changed or cut gets a hash of the original as suffix, so names stay unique and do
    not depend on the server's other tools.
    """
    full = f"{server}__{tool}"
    valid = _UNFIT.sub("_", full)
    if valid == full and len(full) <= MAX_TOOL_NAME:
        return full
    suffix = hashlib.sha256(full.encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{valid[: MAX_TOOL_NAME - _HASH_LENGTH - 1]}_{suffix}"


def server_tool(connection: Connection, definition: Definition, slot: CommandSlot = UNBOUNDED) -> Tool:
    """The tool as `server__tool`; raises UnfitError. Calls of a local program take a command slot."""
    is_program = isinstance(connection.server.reached, Program)

    async def call(**arguments: Any) -> str:
        try:
            async with slot() if is_program else UNBOUNDED():
                return await connection.call(definition, arguments)
        except ServerError as error:
            raise ToolError(f"Error: {error}") from error

    return Tool(
        name=offered_name(connection.server.name, definition.name),
        description=definition.summary,
        parameters=definition.parameters,
        function=call,
        check=_unchecked,
    )


def _unchecked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Unvalidated: the server validates, and its schemas' patterns must not run here."""
    return dict(arguments)
