"""The examples run as a reader would run them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from chat.demo.reply import Reply
from tests.agent.turns import results
from tests.model_server import ScriptedModel

ROOT = Path(__file__).parent.parent.parent


async def run(example: str, model: ScriptedModel) -> str:
    """What the example prints."""
    endpoint = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "key", "OPENAI_MODEL": "scripted"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "dev", "-m", f"examples.{example}"),
        cwd=ROOT,
        env={**os.environ, **endpoint},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, faults = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0, faults.decode()
    assert b"Unclosed" not in faults
    return printed.decode()


async def test_basic_prints_the_text_and_the_list(model_server: ScriptedModel) -> None:
    items = [{"content": "Look up Lima", "status": "completed", "activeForm": "Looking up Lima"}]
    model_server.script(
        Reply(tool_calls=[("weather", {"city": "Lima"}), ("TodoWrite", {"items": items})]),
        Reply("Go to Lima."),
    )
    printed = await run("basic", model_server)
    assert printed == "Go to Lima.\n\n[x] Look up Lima\n\n(1/1 completed)\n"
    assert "You are Guide" in model_server.requests[0]["messages"][0]["content"]
    assert results(model_server.requests[1])[0] == "Lima: sunny, 24 degrees"


async def test_basic_prints_what_went_wrong(model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=401))
    assert "refused the API key" in await run("basic", model_server)


async def test_streaming_prints_events_as_they_come(model_server: ScriptedModel) -> None:
    plan = {"todos": [{"content": "Ask Tokyo"}]}
    model_server.script(
        Reply("A plan first.", tool_calls=[("TodoWrite", plan), ("clock", {"zone": "Mars/Olympus"})]),
        Reply("Nobody knows."),
    )
    lines = (await run("streaming", model_server)).splitlines()
    assert lines == [
        "A plan first.",
        '> TodoWrite {"todos": [{"content": "Ask Tokyo"}]}',
        "  list: Ask Tokyo (pending)",
        "  succeeded: [ ] Ask Tokyo",
        "",
        "(0/1 completed)",
        "",
        '> clock {"zone": "Mars/Olympus"}',
        lines[8],
        "Nobody knows.",
        "[completed] ",
    ]
    assert lines[8].startswith("  failed: Error: the tool failed: ZoneInfoNotFoundError")
