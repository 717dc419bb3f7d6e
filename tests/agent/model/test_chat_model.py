"""The client against a real port: requests, replies, and the message for each failure."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, closing
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from chat.agent.events import Reasoning, Text, Usage
from chat.agent.model import Delta, Finish, ModelError, ToolCallDelta
from chat.agent.model.chat_model import ChatModel
from chat.demo.reply import Reply, Request, chunk, sse
from tests.agent.turns import HELLO
from tests.model_server import ScriptedModel, listening

DONE = sse(chunk({}, "stop"), "[DONE]")

Ask = Callable[..., Any]


@pytest.fixture
async def model(model_server: ScriptedModel) -> AsyncIterator[ChatModel]:
    client = ChatModel("m", model_server.base_url, "sk-secret")
    yield client
    await client.close()


@pytest.fixture
def ask(model: ChatModel, model_server: ScriptedModel) -> Ask:
    """Script a reply and return its deltas."""

    async def ask(reply: Reply, tools: Any = (), **options: Any) -> list[Delta]:
        model_server.script(reply)
        return [delta async for delta in model.stream(HELLO, tools, options)]

    return ask


@pytest.fixture
def failure(ask: Ask) -> Ask:
    """Script a reply and return the error it causes."""

    async def failure(reply: Reply) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await ask(reply)
        return caught.value

    return failure


async def test_a_reply_is_read_piece_by_piece(ask: Ask) -> None:
    reply = Reply("Hello", "Hm", [("f", "{}", "call_1")], usage={"prompt_tokens": 3, "completion_tokens": 2})
    assert await ask(reply) == [
        Reasoning("Hm"),
        Text("Hello"),
        ToolCallDelta(0, "call_1", "f"),
        ToolCallDelta(0, arguments="{}"),
        Finish("tool_calls"),
        Usage(3, 2),
    ]


async def test_the_request_has_model_messages_tools_and_the_wish_to_stream(
    ask: Ask, model_server: ScriptedModel
) -> None:
    parameters = {"type": "object", "properties": {}}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    await ask(Reply("a"), [tool])
    assert model_server.requests == [
        {
            "model": "m",
            "messages": HELLO,
            "tools": [tool],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


async def test_without_tools_there_is_no_such_parameter(ask: Ask, model_server: ScriptedModel) -> None:
    await ask(Reply("a"))
    assert "tools" not in model_server.requests[0]


async def test_options_pass_through_whether_the_package_knows_them_or_not(
    ask: Ask, model_server: ScriptedModel
) -> None:
    given = {"temperature": 0.2, "top_k": 5, "thinking": {"type": "off"}, "extra_body": {"seed": 7}}
    await ask(Reply("a"), stream=False, extra_headers={"X-Title": "t"}, **given)
    asked = model_server.requests[0]
    assert (asked["temperature"], asked["top_k"], asked["thinking"], asked["seed"]) == (
        0.2,
        5,
        {"type": "off"},
        7,
    )
    assert asked["stream"] is True
    assert not {"extra_body", "extra_headers"} & asked.keys()


async def test_an_option_can_take_the_place_of_a_parameter_of_ours(
    ask: Ask, model_server: ScriptedModel
) -> None:
    await ask(Reply("a"), stream_options={"include_usage": False})
    assert model_server.requests[0]["stream_options"] == {"include_usage": False}


async def test_the_key_goes_along(ask: Ask, model_server: ScriptedModel) -> None:
    seen: list[str] = []

    def answer(request: Request) -> Reply:
        seen.append(request.headers["authorization"])
        return Reply("a")

    model_server.answer = answer
    await ask(Reply())
    assert seen == ["Bearer sk-secret"]


async def test_an_endpoint_without_a_key_needs_none(model_server: ScriptedModel) -> None:
    client = ChatModel("m", model_server.base_url)
    model_server.script(Reply("a"))
    assert Text("a") in [delta async for delta in client.stream(HELLO, (), {})]
    await client.close()


async def test_with_nothing_but_a_name_the_endpoint_itself_refuses(
    model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.base_url)
    client = ChatModel("m")
    model_server.script(Reply(status=401, body={"error": {"message": "No key, none at all"}}))
    with pytest.raises(ModelError) as caught:
        [delta async for delta in client.stream(HELLO, (), {})]
    await client.close()
    assert caught.value.kind == "key_refused"
    assert caught.value.values["detail"] == "No key, none at all"


async def test_the_environments_key_goes_to_no_other_endpoint(
    model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    seen: list[str] = []

    def answer(request: Request) -> Reply:
        seen.append(request.headers["authorization"])
        return Reply("a")

    model_server.answer = answer
    elsewhere = ChatModel("m", model_server.base_url)
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.base_url)
    there = ChatModel("m")
    for client in (elsewhere, there):
        assert [delta async for delta in client.stream(HELLO, (), {})]
        await client.close()
    assert seen == ["Bearer none", "Bearer sk-environment"]


async def test_json_that_only_the_slower_parser_takes_is_read(ask: Ask) -> None:
    odd = b'data: {"choices": [{"delta": {"content": "He\tllo\\ud83d"}}]}\n\n'
    assert Text("He\tllo\ufffd") in await ask(Reply(raw=[odd, *DONE]))


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "refused", False),
        (401, "key_refused", False),
        (403, "key_refused", False),
        (404, "not_found", False),
        (408, "unavailable", True),
        (409, "unavailable", True),
        (422, "refused", False),
        (429, "rate_limited", True),
        (500, "unavailable", True),
        (502, "unavailable", True),
        (503, "unavailable", True),
        (504, "unavailable", True),
        (529, "unavailable", True),
    ],
)
async def test_a_status_is_a_kind_of_error_and_may_be_worth_another_try(
    failure: Ask, status: int, kind: str, retryable: bool
) -> None:
    error = await failure(Reply(status=status, body={"error": {"message": "because"}}))
    assert (error.kind, error.retryable, error.values["status"]) == (kind, retryable, status)
    assert (error.values["detail"], error.values["model"]) == ("because", "m")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"error": {"message": "m"}}, "m"),
        ({"error": "m"}, "m"),
        ({"detail": [{"msg": "m"}]}, "m"),
        ([{"error": {"message": "m"}}], "m"),
        ('"m"', "m"),
        ("m", "m"),
        ("<html>502</html>", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("", ""),
        ({"error": {"message": "key sk-secret is wrong"}}, "key *** is wrong"),
    ],
)
async def test_an_error_body_of_any_form_is_told(failure: Ask, body: Any, detail: str) -> None:
    assert (await failure(Reply(status=400, body=body))).values["detail"] == detail


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("", None)]
)
async def test_the_wait_that_an_endpoint_asks_for(failure: Ask, header: str, seconds: float | None) -> None:
    error = await failure(Reply(status=429, body="", headers={"Retry-After": header}))
    assert error.retry_after == seconds


async def test_the_wait_may_be_a_date(failure: Ask) -> None:
    at = formatdate(time() + 30, usegmt=True)
    error = await failure(Reply(status=503, body="", headers={"Retry-After": at}))
    assert error.retry_after == pytest.approx(30, abs=3)


async def test_a_redirect_is_not_followed_with_the_key(failure: Ask) -> None:
    error = await failure(Reply(status=307, body="", headers={"Location": "http://127.0.0.1:9/"}))
    assert (error.kind, error.values["status"]) == ("redirected", 307)


async def test_an_error_in_mid_stream_is_told_with_the_place(
    failure: Ask, model_server: ScriptedModel
) -> None:
    error = await failure(Reply(raw=sse(chunk({"content": "a"}), {"error": {"message": "out of memory"}})))
    assert error.kind == "reported"
    assert error.values == {"detail": "out of memory", "where": model_server.base_url, "model": "m"}


async def test_a_name_that_nobody_knows_cannot_be_reached() -> None:
    client = ChatModel("m", "http://nowhere.invalid/v1")
    with pytest.raises(ModelError) as caught:
        [delta async for delta in client.stream(HELLO, (), {})]
    await client.close()
    assert caught.value.kind == "unreachable"


async def test_closing_the_stream_ends_the_request_at_once(
    model: ChatModel, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("abc", stall_after=2))
    async with aclosing(model.stream(HELLO, (), {})) as stream:  # type: ignore[type-var]
        assert await anext(stream) == Text("abc")
    await asyncio.to_thread(model_server.wait_for_disconnects)


def test_a_free_port_is_free() -> None:
    """Tests of an endpoint that is down rely on a port without a listener."""
    with closing(listening()) as taken:
        port = taken.getsockname()[1]
    with socket.socket() as knock:
        assert knock.connect_ex(("127.0.0.1", port)) != 0
