"""Lists the models of an endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai

from chat.agent.model.endpoint import Endpoint
from chat.agent.storable import storable

MAX_MODELS = 2000
MAX_BYTES = 8 * 1024**2  # of a list
TIMEOUT = 15.0  # seconds of silence

# Fields with the size of a model's context.
_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length", "inputTokenLimit")


@dataclass(frozen=True)
class ListedModel:
    """A model's name in requests; `context_window` in tokens, 0 if unknown."""

    name: str
    context_window: int = 0


async def models_at(
    base_url: str | None = None, api_key: str | None = None, **options: Any
) -> list[ListedModel]:
    """The models that the endpoint lists, in its order, at most MAX_MODELS; parameters as for Endpoint.

    Raises ModelError ("not_found" if there is no list, which does not mean that there are no models), and
    ValueError for an invalid address.
    """
    endpoint = Endpoint(base_url, api_key, silence=TIMEOUT, **options)
    try:
        return list(_models(json.loads(await _list(endpoint))))[:MAX_MODELS]
    except (ValueError, RecursionError) as error:
        raise endpoint.failures().error("garbage", str(error)[:80]) from error
    finally:
        await endpoint.close()


async def _list(endpoint: Endpoint) -> bytes:
    failures = endpoint.failures()
    body = bytearray()
    try:
        async with endpoint.client.models.with_streaming_response.list() as response:
            async for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise failures.error("garbage", f"more than {MAX_BYTES} bytes")
    except openai.APIStatusError as error:
        raise failures.status(error) from error
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        raise failures.connection(error) from error
    return bytes(body)


def _models(listed: Any) -> Iterator[ListedModel]:
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
    # Gemini lists models with a prefix that requests do not need.
    return ListedModel(storable(name.strip().removeprefix("models/"))[:200], window)
