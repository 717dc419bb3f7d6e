"""The demo with no port, as the site uses it, and on a port of its own process, as end-to-end tests do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from openai import AsyncOpenAI

from chat.demo.reply import Reply
from chat.demo.server import ModelServer
from chat.demo.transport import AppTransport, demo_transport
from tests.demo.clients import in_process, listen, over_http
from tests.demo.turns import Conversation

HELLO = [{"role": "user", "content": "hello"}]
ROOT = Path(__file__).parents[2]


async def test_the_demo_answers_with_no_port_in_small_pieces() -> None:
    http = httpx2.AsyncClient(transport=demo_transport(pace=0))
    async with AsyncOpenAI(api_key="none", base_url="http://demo.invalid/v1", http_client=http) as client:
        heard = await listen(client, HELLO, [{"type": "function", "function": {"name": "bash"}}])
    assert "built-in demo" in heard.text
    assert heard.pieces > 30
    assert heard.usage.total_tokens > 0


async def test_pace_is_the_time_between_chunks() -> None:
    server = ModelServer(lambda _: Reply(text="abcd", piece=1), pace=0.02)
    began = time.monotonic()
    await listen(in_process(server), HELLO)
    assert time.monotonic() - began >= 7 * 0.02  # eight chunks: role, four pieces, finish, usage, end


async def test_chunks_arrive_while_the_app_still_works() -> None:
    server = ModelServer(lambda _: Reply(text="abcd", piece=2, stall_after=2))
    async with httpx2.AsyncClient(transport=AppTransport(server)) as client:
        asked = {"stream": True, "messages": HELLO}
        async with client.stream("POST", "http://demo/chat/completions", json=asked) as response:
            chunks = response.aiter_bytes()
            heard = [await anext(chunks), await anext(chunks)]
    assert b'"ab"' in heard[1]
    await asyncio.sleep(0)
    assert server.disconnects == 1


def test_the_pace_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_PACE", "0.5")
    transport = demo_transport()
    assert isinstance(transport, AppTransport)
    assert isinstance(transport.app, ModelServer)
    assert transport.app.pace == 0.5


@pytest.mark.parametrize("given", ["fast", "-1", "nan", "61"])
def test_a_bad_pace_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("DEMO_PACE", given)
    with pytest.raises(ValueError, match=f"DEMO_PACE is '{given}'; allowed are"):
        demo_transport()


def test_importing_the_demo_loads_no_django() -> None:
    code = (
        "import sys, chat.demo.transport, chat.demo.transport, chat.demo.workspace;"
        "names = ('django', 'openai', 'chat.agent', 'chat.live', 'chat.models');"
        "sys.exit(' '.join(name for name in names if name in sys.modules) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    """The demo in a process of its own."""
    command = [sys.executable, "-m", "tests.model_server", "--demo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


async def test_a_whole_turn_over_http_with_a_process_of_its_own(demo_url: str, workspace: Path) -> None:
    conversation = Conversation(over_http(demo_url), workspace)
    closing = await conversation.say("1. look around\n2. read README.md\n3. sum up")
    assert conversation.todos.complete
    assert "3 of 3" in closing
