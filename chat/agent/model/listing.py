"""The models that an endpoint offers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from chat.agent.model.endpoint import Endpoint
from chat.agent.model.http import Allow
from chat.agent.storable import storable

MOST = 2000  # models
LARGEST = 8 * 1024**2  # bytes of a list
PATIENCE = 15.0  # seconds of silence

# Where servers say how many tokens a model's context has.
_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length", "inputTokenLimit")


@dataclass(frozen=True)
class ListedModel:
    """A model by the name under which it is asked; `context_window` in tokens, 0 where that is not told."""

    name: str
    context_window: int = 0


async def models_at(
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    timeout: httpx2.Timeout | None = None,
    proxy: str | None = None,
    allow: Allow | None = None,
) -> list[ListedModel]:
    """The models that the endpoint lists, in its order and at most MOST; takes what ChatModel takes.

    Raises ModelError: "not_found" where there is no list, which says nothing about the endpoint's models; and
    ValueError for an address that is none.
    """
    endpoint = Endpoint(
        base_url,
        api_key,
        headers=headers,
        transport=transport,
        timeout=timeout,
        silence=PATIENCE,
        proxy=proxy,
        allow=allow,
    )
    try:
        return list(_models(json.loads(await _list(endpoint))))[:MOST]
    except (ValueError, RecursionError) as error:
        raise endpoint.failures().error("garbage", str(error)[:80]) from error
    finally:
        await endpoint.close()


async def _list(endpoint: Endpoint) -> bytes:
    failures = endpoint.failures()
    found = bytearray()
    try:
        async with endpoint.client.models.with_streaming_response.list() as response:
            async for piece in response.iter_bytes():
                found += piece
                if len(found) > LARGEST:
                    raise failures.error("garbage", f"more than {LARGEST} bytes")
    except openai.APIStatusError as error:
        raise failures.status(error) from error
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        raise failures.connection(error) from error
    return bytes(found)


def _models(listed: Any) -> Iterator[ListedModel]:
    """The models of a list as OpenAI has it, as Ollama has it, or of a bare one."""
    if isinstance(listed, dict):
        listed = next(
            (listed[name] for name in ("data", "models") if isinstance(listed.get(name), list)), None
        )
    if not isinstance(listed, list):
        raise ValueError("no list of models")
    names = set()
    for each in listed:
        model = _model(each) if isinstance(each, dict) else None
        if model and model.name not in names:
            names.add(model.name)
            yield model


def _model(listed: Mapping[str, Any]) -> ListedModel | None:
    name = listed.get("id") or listed.get("name") or listed.get("model")
    if not isinstance(name, str) or not name.strip():
        return None
    meta = listed.get("meta") if isinstance(listed.get("meta"), dict) else {}
    sizes = [*(listed.get(each) for each in _WINDOWS), (meta or {}).get("n_ctx")]
    window = next((size for size in sizes if isinstance(size, int) and 0 < size < 2**31), 0)
    # Gemini lists its models with a prefix that it takes off again when they are asked.
    return ListedModel(storable(name.strip().removeprefix("models/"))[:200], window)
