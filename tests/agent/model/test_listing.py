"""The models that an endpoint lists."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.agent.model import ModelError
from chat.agent.model.listing import MAX_MODELS, ListedModel, models_at
from tests.agent.model.raw_server import Exchange, raw_server, response


def listed(body: Any, status: str = "200 OK") -> bytes:
    return response(json.dumps(body).encode(), status, content_type="application/json")


@pytest.mark.parametrize(
    ("body", "models"),
    [
        ({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}, [ListedModel("a"), ListedModel("b")]),
        ({"data": [{"id": "a", "context_length": 8192}]}, [ListedModel("a", 8192)]),
        ({"data": [{"id": "a", "max_model_len": 4096}]}, [ListedModel("a", 4096)]),
        ({"data": [{"id": "a", "meta": {"n_ctx": 2048, "n_ctx_train": 32768}}]}, [ListedModel("a", 2048)]),
        ({"models": [{"name": "a", "model": "a"}]}, [ListedModel("a")]),
        ([{"id": "a"}], [ListedModel("a")]),
        ({"data": [{"id": "models/gemini"}]}, [ListedModel("gemini")]),
        ({"data": [{"id": "a"}, {"id": "a"}, {"id": 7}, {"id": ""}, 3, None]}, [ListedModel("a")]),
        ({"data": [{"id": "a", "context_length": "long", "meta": []}]}, [ListedModel("a")]),
        ({"data": []}, []),
    ],
)
async def test_lists_of_all_forms_are_read(body: Any, models: list[ListedModel]) -> None:
    async with raw_server(listed(body)) as server:
        assert await models_at(server.base_url, "sk-secret") == models
        assert server.exchanges[0].line == "GET /v1/models HTTP/1.1"
        assert server.exchanges[0].headers["authorization"] == "Bearer sk-secret"


async def test_a_huge_list_is_cut() -> None:
    async with raw_server(listed({"data": [{"id": f"m{number}"} for number in range(5000)]})) as server:
        assert len(await models_at(server.base_url)) == MAX_MODELS


async def test_a_list_without_end_is_given_up() -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.write(
            b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{"data": ['
        )
        while True:
            await exchange.write(b'{"id": "a"},' * 10_000)

    async with raw_server(endless) as server:
        with pytest.raises(ModelError) as caught:
            await models_at(server.base_url)
    assert caught.value.kind == "garbage"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (listed({"error": {"message": "no such path"}}, "404 Not Found"), "not_found"),
        (listed({"error": {"message": "bad key sk-secret"}}, "401 Unauthorized"), "key_refused"),
        (response(b"<html>Sign in</html>", content_type="text/html"), "garbage"),
        (listed({"error": "odd"}), "garbage"),
        (response(b""), "garbage"),
        (response(b"[" * 100_000), "garbage"),
        (response(b"x", content_encoding="gzip"), "compressed"),
    ],
)
async def test_what_goes_wrong_is_told(answer: bytes, kind: str) -> None:
    async with raw_server(answer) as server:
        with pytest.raises(ModelError) as caught:
            await models_at(server.base_url, "sk-secret")
    assert caught.value.kind == kind
    assert "sk-secret" not in str(caught.value)


async def test_the_policy_on_addresses_holds_here_too() -> None:
    async with raw_server(listed({"data": []})) as server:
        with pytest.raises(ModelError) as caught:
            await models_at(server.base_url, allow=lambda address: address.is_global)
        assert server.exchanges == []
    assert caught.value.kind == "address_refused"
