"""What a server's tool answers, as text that a model can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chat.agent.sandbox.output import Output

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

PART = 24 * 1024
"""Bytes kept of a result's beginning, and of its end."""


def shown(result: CallToolResult) -> str:
    """The result's text, images and the like as a line about each, and the middle of a long one left out.

    Structured content is shown where there is no text: servers send the same as text beside it.
    """
    lines = [line for block in result.content for line in _lines(block)]
    if result.structured_content is not None and not any(block.type == "text" for block in result.content):
        lines.append(json.dumps(result.structured_content, ensure_ascii=False, default=str))
    return capped("\n".join(lines)) or "(no output)"


def capped(text: str) -> str:
    """The beginning and the end of a long text, with a line between them that counts what is left out."""
    kept = Output(PART, PART)
    kept.feed(text.encode(errors="replace"))
    return kept.text()


def _lines(block: ContentBlock) -> Iterator[str]:
    match block.type:
        case "text":
            yield block.text
        case "image" | "audio":
            yield f"[{block.type}, {block.mime_type}, {_size(block.data)}, not shown]"
        case "resource_link":
            about = ", ".join(filter(None, [block.name, block.mime_type, block.description]))
            yield f"[resource {block.uri} ({about})]"
        case "resource":
            resource = block.resource
            kind = resource.mime_type or "unknown type"
            if hasattr(resource, "text"):
                yield f"[resource {resource.uri}, {kind}]"
                yield resource.text
            else:
                yield f"[resource {resource.uri}, {kind}, {_size(resource.blob)}, not shown]"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 / 4 / 1024:.1f} KiB"
