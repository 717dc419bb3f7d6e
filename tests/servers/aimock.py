"""aimock, CopilotKit's mock of model endpoints (npm: @copilotkit/aimock)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.servers.running import free_port, running
from tests.servers.trial import HELLO, LOOK, PLAN, Address

NEEDS = "npm install @copilotkit/aimock; AIMOCK=node_modules/.bin/llmock"
TODO = {"content": "Look", "status": "completed", "activeForm": "Looking"}


@asynccontextmanager
async def serve(program: str, folder: Path) -> AsyncIterator[Address]:
    """The mock with replies of ours."""
    calls = {"look": {"place": "here"}, "TodoWrite": {"items": [TODO]}}
    replies = [
        *({"match": {"toolCallId": f"call_{name}"}, "response": {"content": "All done."}} for name in calls),
        _calling(LOOK, "look", calls["look"]),
        _calling(PLAN, "TodoWrite", calls["TodoWrite"]),
        {"match": {"userMessage": HELLO}, "response": {"content": "Hello there, this comes in pieces. " * 5}},
    ]
    (folder / "replies.json").write_text(json.dumps({"fixtures": replies}))
    port = free_port()
    async with running(port, folder, program, "-p", str(port), "-f", str(folder / "replies.json")):
        yield Address(f"http://127.0.0.1:{port}/v1", "gpt-4o")


def _calling(text: str, name: str, arguments: object) -> dict[str, object]:
    call = {"id": f"call_{name}", "name": name, "arguments": arguments}
    return {"match": {"userMessage": text}, "response": {"toolCalls": [call]}}
