"""What an endpoint says of its own faults, whatever the form."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

LONGEST = 300  # characters of somebody else's words that a sentence takes in

# Where a body says what went wrong, the best place first.
_PLACES = ("error", "message", "detail", "msg", "errors", "error_message", "reason", "title")
_PLAINLY = ("message", "detail", "msg", "errors", "error_message")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>|<h1[^>]*>(.*?)</h1>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"\s*<[!?A-Za-z]")
_DEEPEST = 8
_BEGINNING = 8 * 1024  # characters of a page in which its title stands


def reported(chunk: Mapping[str, Any]) -> str | None:
    """What a chunk says that is an error and no piece of a reply; None for all others."""
    if chunk.get("error") or chunk.get("object") == "error" or chunk.get("type") == "error":
        return error_text(chunk)
    if chunk.get("choices") is None and any(isinstance(chunk.get(name), str | list) for name in _PLAINLY):
        return error_text(chunk)
    return None


def error_text(error: Any, depth: int = _DEEPEST) -> str:
    """What an error body says, in one short line."""
    if isinstance(error, str):
        return _said(error, depth)
    if isinstance(error, dict) and depth and (saying := _saying(error)):
        return _line(" ".join(error_text(each, depth - 1) for each in saying))
    if isinstance(error, list) and error and depth:
        return error_text(error[0], depth - 1)
    return _line(json.dumps(error, ensure_ascii=False, default=str)) if error and depth else ""


def is_page(text: str) -> bool:
    """Whether it is markup: a page of a gateway, and not the words of an endpoint ("<400> ...")."""
    return bool(_MARKUP.match(text))


def page_title(page: str) -> str:
    """The title of a web page that came where none was expected; empty for one without."""
    found = _TITLE.search(page[:_BEGINNING])
    return _line(html.unescape(re.sub(r"<[^>]*>", " ", found[1] or found[2] or ""))) if found else ""


def _saying(error: Mapping[str, Any]) -> list[Any]:
    """What says it, and after a router's words those of the endpoint behind it."""
    said = [error[name] for name in _PLACES if isinstance(error.get(name), str | dict | list) and error[name]]
    behind = error.get("metadata")
    raw = behind.get("raw") if isinstance(behind, dict) else None
    return [*said[:1], *([raw] if isinstance(raw, str) else [])]


def _said(text: str, depth: int) -> str:
    if is_page(text):
        return page_title(text)
    if text.lstrip().startswith(("{", "[")) and depth:
        try:
            return error_text(json.loads(text), depth - 1) or _line(text)
        except (ValueError, RecursionError):
            pass
    return _line(text)


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST]
