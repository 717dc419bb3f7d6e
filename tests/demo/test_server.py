"""The model server as the real client meets it: in process and over a port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from chat.demo.reply import Call, Reply, Request
from chat.demo.server import ModelServer, chunk, sse
from tests.demo.clients import in_process, listen, over_http
from tests.model_server import ScriptedModel

HELLO = [{"role": "user", "content": "hello"}]
Connect = Callable[[Reply], AsyncOpenAI]


@pytest.fixture(params=["in process", "over http"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Script one reply and give the client that will get it."""

    def connected(reply: Reply) -> AsyncOpenAI:
        if request.param == "in process":
            return in_process(ModelServer(lambda _: reply))
        model: ScriptedModel = request.getfixturevalue("model_server")
        model.script(reply)
        return over_http(model.base_url)

    return connected


async def test_text_comes_in_small_pieces_with_role_finish_and_usage(connect: Connect) -> None:
    heard = await listen(
        connect(Reply(text="Good morning to you all.", reasoning="They greet.", piece=5)), HELLO
    )
    assert heard.text == "Good morning to you all."
    assert heard.reasoning == "They greet."
    assert (heard.pieces, heard.role, heard.finish) == (5, "assistant", "stop")
    assert heard.usage.total_tokens == heard.usage.prompt_tokens + heard.usage.completion_tokens


async def test_tool_calls_are_assembled_from_their_pieces(connect: Connect) -> None:
    calls: list[Call | tuple[Any, ...]] = [
        ("read_file", {"path": "数据.csv"}),
        ("bash", "{broken", "call_7"),
        Call("write_file", {}, "call_8"),
    ]
    heard = await listen(connect(Reply(tool_calls=calls, piece=3)), HELLO)
    assert heard.finish == "tool_calls"
    assert [(call["name"], call["arguments"]) for call in heard.calls] == [
        ("read_file", '{"path": "数据.csv"}'),
        ("bash", "{broken"),
        ("write_file", "{}"),
    ]
    assert [call["id"] for call in heard.calls[1:]] == ["call_7", "call_8"]


async def test_finish_reason_and_usage_can_be_scripted(connect: Connect) -> None:
    spent = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    heard = await listen(connect(Reply(text="cut", finish_reason="length", usage=spent)), HELLO)
    assert (heard.finish, heard.usage.total_tokens) == ("length", 10)


async def test_an_answer_without_streaming_is_one_object(connect: Connect) -> None:
    client = connect(Reply(text="Hi", reasoning="greet", tool_calls=[("bash", {"command": "ls"})]))
    answer = await client.chat.completions.create(
        model="demo", messages=[{"role": "user", "content": "hello"}]
    )
    message = answer.choices[0].message
    assert (message.content, answer.choices[0].finish_reason) == ("Hi", "tool_calls")
    assert message.tool_calls is not None
    assert message.tool_calls[0].to_dict()["function"] == {"name": "bash", "arguments": '{"command": "ls"}'}


async def test_models_are_listed(connect: Connect) -> None:
    assert [model.id async for model in connect(Reply()).models.list()] == ["demo"]


async def test_an_http_error_has_its_status_body_and_headers(connect: Connect) -> None:
    refusal = Reply(status=429, body={"error": {"message": "slow down"}}, headers={"Retry-After": "7"})
    with pytest.raises(openai.RateLimitError, match="slow down") as caught:
        await listen(connect(refusal), HELLO)
    assert caught.value.response.headers["retry-after"] == "7"


async def test_raw_bytes_are_sent_as_they_are(connect: Connect) -> None:
    raw = [b": ping\n\n", *sse(chunk({"content": "你"})), b"dat", b'a: {"choices": []}\n\n']
    heard = await listen(connect(Reply(raw=raw)), HELLO)
    assert (heard.text, heard.finish) == ("你", None)


async def test_html_with_status_200_keeps_its_content_type(connect: Connect) -> None:
    page = Reply(raw=[b"<html>Sign in</html>"], headers={"Content-Type": "text/html"})
    response = await connect(page).chat.completions.with_raw_response.create(
        model="demo", messages=[], stream=True
    )
    assert response.headers["content-type"] == "text/html"
    assert await response.http_response.aread() == b"<html>Sign in</html>"


async def test_a_cut_ends_without_done_and_a_broken_one_is_an_error(connect: Connect) -> None:
    heard = await listen(connect(Reply(text="abcdefgh", piece=2, cut_after=3)), HELLO)
    assert (heard.text, heard.finish) == ("abcd", None)
    with pytest.raises((openai.APIConnectionError, httpx2.RemoteProtocolError)):
        await listen(connect(Reply(text="abcdefgh", piece=2, cut_after=3, broken=True)), HELLO)


async def test_a_gate_holds_the_answer_until_it_is_opened(connect: Connect) -> None:
    gate = threading.Event()
    client = connect(Reply(text="abcdefgh", piece=4, stall_after=2, gate=gate))
    answer = asyncio.create_task(listen(client, HELLO))
    done, _ = await asyncio.wait({answer}, timeout=0.1)
    assert not done
    gate.set()
    assert (await answer).text == "abcdefgh"


async def test_a_stall_meets_the_clients_read_timeout(connect: Connect) -> None:
    client = connect(Reply(text="abc", stall_after=1)).with_options(timeout=0.1)
    with pytest.raises((openai.APITimeoutError, httpx2.ReadTimeout)):
        await listen(client, HELLO)


async def test_a_client_that_leaves_is_noticed_in_process() -> None:
    server = ModelServer(lambda _: Reply(text="abc", stall_after=1))
    await _leave(in_process(server))
    await asyncio.sleep(0)  # the cancelled task of the app still has to run once
    assert server.disconnects == 1


async def test_a_client_that_leaves_is_noticed_over_http(model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="abc", stall_after=1))
    await _leave(over_http(model_server.base_url))
    await asyncio.to_thread(model_server.wait_for_disconnects)


async def _leave(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="demo", messages=[{"role": "user", "content": "hello"}], stream=True
    )
    async for _ in stream:
        break
    await stream.close()


async def test_a_client_that_hears_the_end_has_not_left(model_server: ScriptedModel) -> None:
    server = ModelServer(lambda _: Reply(text="abc"))
    client = in_process(server)
    for _ in range(20):
        model_server.script(Reply(text="abc"))
        await listen(client, HELLO)
        await listen(over_http(model_server.base_url), HELLO)
    assert (server.disconnects, model_server.disconnects) == (0, 0)


async def test_requests_are_recorded_and_an_empty_script_says_so(model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="one"))
    client = over_http(model_server.base_url)
    await listen(client, HELLO)
    with pytest.raises(openai.InternalServerError, match="script is empty"):
        await listen(client, HELLO)
    assert [body["messages"] for body in model_server.requests] == [HELLO, HELLO]
    assert model_server.requests[0]["stream_options"] == {"include_usage": True}


async def test_an_answer_may_be_async_and_sees_headers_and_number(model_server: ScriptedModel) -> None:
    async def answer(request: Request) -> Reply:
        return Reply(text=f"{request.number} {request.headers['authorization']}")

    model_server.answer = answer
    client = over_http(model_server.base_url)
    assert [(await listen(client, HELLO)).text for _ in range(2)] == ["1 Bearer none", "2 Bearer none"]


async def test_an_answer_that_raises_is_a_500_with_the_reason() -> None:
    replies: dict[str, Reply] = {}
    client = in_process(ModelServer(lambda _: replies["missing"]))
    with pytest.raises(openai.InternalServerError, match="KeyError: 'missing'"):
        await listen(client, HELLO)


async def test_other_addresses_and_broken_bodies_are_refused(model_server: ScriptedModel) -> None:
    async with httpx2.AsyncClient(base_url=model_server.base_url) as client:
        assert (await client.get("/nothing")).status_code == 404
        refused = await client.post("/chat/completions", content=b"[1]")
    assert (refused.status_code, model_server.requests) == (400, [])


async def test_an_endless_answer_waits_for_its_reader() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield from sse(chunk({"content": "x"}))

    server = ModelServer(lambda _: Reply(raw=endless()))
    stream = await in_process(server).chat.completions.create(
        model="demo", messages=[{"role": "user", "content": "hello"}], stream=True
    )
    async for _ in stream:
        break
    for _ in range(200):
        await asyncio.sleep(0)
    assert taken < 100
    await stream.close()


async def test_the_scripted_model_is_a_context_manager_with_a_port_of_its_own() -> None:
    with ScriptedModel(Reply(text="mine")) as model:
        assert (await listen(over_http(model.base_url), HELLO)).text == "mine"
    with pytest.raises(RuntimeError, match="inside its `with` block"):
        model.base_url  # noqa: B018
