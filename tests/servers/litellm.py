"""LiteLLM's proxy (pip: litellm[proxy]) ahead of the scripted model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from chat.demo.reply import Reply, Request
from tests.model_server import ScriptedModel
from tests.servers.running import free_port, running
from tests.servers.trial import LOOK, PLAN, Address

NEEDS = "pip install 'litellm[proxy]' into an environment of its own; LITELLM=bin/litellm"
TODO = {"content": "Look", "status": "completed", "activeForm": "Looking"}


@asynccontextmanager
async def serve(program: str, folder: Path) -> AsyncIterator[Address]:
    """The proxy, with a model behind it that does what the tries ask for."""
    port = free_port()
    with ScriptedModel(answer=_answer) as model:
        behind = {"model": "openai/demo", "api_base": model.base_url, "api_key": "sk-behind"}
        settings = {"model_list": [{"model_name": "demo", "litellm_params": behind}]}
        (folder / "config.yaml").write_text(json.dumps(settings))  # JSON is YAML
        words = ("--config", str(folder / "config.yaml"), "--host", "127.0.0.1", "--port", str(port))
        quiet = {"LITELLM_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        async with running(port, folder, program, *words, **quiet):
            yield Address(f"http://127.0.0.1:{port}/v1", "demo")


def _answer(request: Request) -> Reply:
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply("All done.")
    if LOOK in str(last["content"]):
        return Reply(tool_calls=[("look", {"place": "here"})])
    if PLAN in str(last["content"]):
        return Reply(tool_calls=[("TodoWrite", {"items": [TODO]})])
    return Reply("Hello there, this comes in pieces.")
