"""A tool's JSON schema in the plainest keywords, for endpoints that refuse the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEEPEST = 12

_KEPT = ("type", "description", "enum", "required", "nullable")
_CHOICES = ("anyOf", "oneOf", "allOf")


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its references put in place and without constraints, of several choices the first.

    The tool itself still checks its arguments by the whole schema.
    """
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    made = _plain(schema, definitions, 0)
    return {**made, "type": "object", "properties": made.get("properties", {})}


def _plain(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return {}
    schema = _chosen(schema)
    if "$ref" in schema:
        meant = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
        schema = {**meant, **{name: value for name, value in schema.items() if name != "$ref"}}
        return _plain(schema, definitions, depth + 1)
    made = {name: schema[name] for name in _KEPT if name in schema}
    made.update(_types(schema))
    if isinstance(schema.get("properties"), Mapping):
        made["properties"] = {
            name: _plain(each, definitions, depth + 1) for name, each in schema["properties"].items()
        }
    if made.get("type") == "array":
        made["items"] = _plain(schema.get("items"), definitions, depth + 1) or {"type": "string"}
    if "required" in made:
        made["required"] = [name for name in made["required"] if name in made.get("properties", {})]
    return {name: value for name, value in made.items() if value != []}


def _chosen(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the first of its choices in it; one that only adds null makes it nullable."""
    merged = {name: value for name, value in schema.items() if name not in _CHOICES}
    for keyword in _CHOICES:
        choices = [each for each in schema.get(keyword) or () if isinstance(each, Mapping)]
        real = [each for each in choices if each.get("type") != "null"]
        if len(real) < len(choices):
            merged["nullable"] = True
        for each in real if keyword == "allOf" else real[:1]:
            merged = {**each, **merged}
    if "const" in merged:
        merged["enum"] = [merged["const"]]
    if not all(isinstance(each, str) and each for each in merged.get("enum") or ()):
        del merged["enum"]
    return merged


def _types(schema: Mapping[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, list):
        real = [each for each in kind if each != "null"]
        return {"type": real[0] if real else "string", **({"nullable": True} if "null" in kind else {})}
    return {}
