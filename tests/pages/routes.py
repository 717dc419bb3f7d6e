"""All routes of the site, from its resolver."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse

# Default values of URL arguments; tests pass `conversation_id` and `turn_id`.
PARTS: dict[str, Any] = {
    "conversation_id": "00000000-0000-4000-8000-000000000000",
    "turn_id": 1,
    "link_id": 1,
    "path": "notes.txt",
    "connection_id": 1,
    "server_id": 1,
    "follow_up_id": 1,
    "tool_call_id": 1,
    "message_id": 1,
    "token": "nothing",
    "app_label": "auth",
    "content_type_id": 1,
    "id": 1,
    "object_id": 1,
    "profile_id": 1,
    "digest": "0" * 32,
    "act": uuid.UUID(int=7),
    "bulk_act_id": uuid.UUID(int=8),
    "tag_id": 1,
    "url": "nothing-here",
    "user_id": 1,
}

# Name with namespace, the names of the parts, and the view.
Route = tuple[str, tuple[str, ...], Any]


@cache
def routes() -> dict[str, Route]:
    """All routes by name."""
    return {route[0]: route for route in _routes(get_resolver().url_patterns, "", ())}


def audience_of(name: str) -> str:
    """Whom the view is declared for; "" if it is not. The admin's views are Django's."""
    if name.startswith("admin:"):
        return "anyone" if name == "admin:login" else "staff"
    return getattr(routes()[name][2], "audience", "")


def names_for(*audiences: str) -> list[str]:
    return sorted(name for name in routes() if audience_of(name) in audiences)


def address(name: str, **given: Any) -> str:
    """The route's URL, with defaults from PARTS."""
    _name, parts, _view = routes()[name]
    return reverse(name, kwargs={part: given.get(part, PARTS[part]) for part in parts})


def _routes(
    patterns: Sequence[URLPattern | URLResolver], namespace: str, outer: tuple[str, ...]
) -> Iterator[Route]:
    for pattern in patterns:
        parts = (*outer, *pattern.pattern.regex.groupindex)
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from _routes(pattern.url_patterns, inner, parts)
        elif pattern.name:
            yield f"{namespace}{pattern.name}", parts, pattern.callback
        elif namespace != "admin:":  # the admin ends with a nameless one that catches what is left
            raise AssertionError(f"{pattern} has no name, so no test can ask who may see it")
