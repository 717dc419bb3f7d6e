"""The demo with no port, as the site uses it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from openai import AsyncOpenAI

from chat.demo.transport import DemoTransport, demo_transport

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    """The real client, with the demo behind its URL."""
    http = httpx2.AsyncClient(transport=demo_transport(pace=0.001))
    async with AsyncOpenAI(api_key="none", base_url="http://demo.invalid/v1", http_client=http) as client:
        yield client


async def test_the_demo_answers_with_no_port_in_small_pieces(client: AsyncOpenAI) -> None:
    began = time.monotonic()
    chunks = [
        chunk
        async for chunk in await client.chat.completions.create(
            model="demo",
            messages=[{"role": "user", "content": "hello"}],
            tools=[{"type": "function", "function": {"name": "bash"}}],
            stream=True,
            stream_options={"include_usage": True},
        )
    ]
    pieces = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert "built-in demo" in "".join(pieces)
    assert len(pieces) > 30
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 0
    assert time.monotonic() - began >= len(chunks) * 0.001  # and [DONE]


async def test_its_model_is_listed(client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["demo"]


def test_the_pace_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_PACE", "0.5")
    transport = demo_transport()
    assert isinstance(transport, DemoTransport)
    assert transport.pace == 0.5


@pytest.mark.parametrize("given", ["fast", "-1", "nan", "61"])
def test_a_bad_pace_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("DEMO_PACE", given)
    with pytest.raises(ValueError, match=f"DEMO_PACE is '{given}'; allowed are"):
        demo_transport()


def test_importing_the_demo_loads_no_django() -> None:
    code = (
        "import sys, chat.demo.transport, chat.demo.workspace;"
        "names = ('django', 'openai', 'chat.agent', 'chat.live', 'chat.models');"
        "sys.exit(' '.join(name for name in names if name in sys.modules) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
