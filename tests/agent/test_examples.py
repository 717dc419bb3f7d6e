"""The examples run as a reader would run them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from chat.demo.reply import Reply
from tests.agent.turns import results
from tests.model_server import ScriptedModel

ROOT = Path(__file__).parent.parent.parent


async def run(example: str, model: ScriptedModel, *arguments: str) -> str:
    endpoint = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "key", "OPENAI_MODEL": "scripted"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "dev", "-m", f"examples.{example}", *arguments),
        cwd=ROOT,
        env={**os.environ, **endpoint},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, faults = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0, faults.decode()
    assert b"Unclosed" not in faults
    return printed.decode()


def planned(*items: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "TodoWrite", {"items": list(items)}


async def test_minimal_prints_the_answer_and_the_list(model_server: ScriptedModel) -> None:
    item = {"content": "Compare", "status": "completed", "activeForm": "Comparing"}
    model_server.script(Reply(tool_calls=[planned(item)]), Reply("Go to Lima."))
    assert await run("minimal", model_server) == "Go to Lima.\n- Compare (completed)\n"
    assert "Guide" in model_server.requests[0]["messages"][0]["content"]


async def test_minimal_prints_what_went_wrong(model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=401))
    assert "refused the API key" in await run("minimal", model_server)


async def test_tools_run_whether_they_are_functions_or_dictionaries(model_server: ScriptedModel) -> None:
    item = {"content": "Add up", "status": "in_progress", "activeForm": "Adding up"}
    asked = [("price", {"fruit": "pear"}), ("price", {"fruit": "plum"}), ("add", {"numbers": [0.4, 0.6]})]
    model_server.script(Reply(tool_calls=[planned(item), *asked]), Reply("1.00 without the plum."))
    printed = await run("tools", model_server)
    assert printed == "[>] Add up <- Adding up\n\n(0/1 completed)\n\n1.00 without the plum.\n"
    assert results(model_server.requests[1])[1:] == [
        "0.60",
        "Error: no price for 'plum'. There are: apple, pear.",
        "1.00",
    ]


async def test_own_model_needs_no_endpoint(model_server: ScriptedModel) -> None:
    assert await run("own_model", model_server) == "['Say hello', 'Say world']\nhello world\n"
    assert model_server.requests == []


async def test_resume_goes_on_with_stored_messages_and_todos(
    model_server: ScriptedModel, tmp_path: Path
) -> None:
    file = str(tmp_path / "conversation.json")
    one = {"id": "1", "text": "Read", "status": "done"}
    model_server.script(
        Reply(tool_calls=[planned(one, {"id": "2", "text": "Write"})]), Reply("Shall I go on?")
    )
    assert await run("resume", model_server, file, "Work.") == "Shall I go on?\n1 of 2 done\n"
    model_server.script(Reply("There is nothing more."))
    assert await run("resume", model_server, file, "Go on") == "There is nothing more.\n1 of 2 done\n"
    said = model_server.requests[-1]["messages"]
    assert [message["role"] for message in said] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert said[:4] == model_server.requests[1]["messages"]


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
