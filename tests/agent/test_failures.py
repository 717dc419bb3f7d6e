"""Every failure of the model ends the turn with a sentence about its cause and cure."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import httpx2
import pytest

from chat.agent import Agent, ModelError, Retry, Text
from chat.agent.model import Delta
from chat.agent.model.assembly import MAX_REPLY
from chat.agent.model.chat_model import ChatModel
from chat.agent.prompts import FOLDER, Language, phrase
from chat.demo.reply import Reply, chunk, sse
from tests.agent.conftest import MakeAgent
from tests.agent.turns import end, of, told
from tests.model_server import ScriptedModel, listening

JSON = {"Content-Type": "application/json"}
LANGUAGES: list[Language] = ["en", "zh"]

FAILURES: dict[str, tuple[Reply, str]] = {
    "key refused": (
        Reply(status=401, body={"error": {"message": "Wrong key: key"}}),
        "The model endpoint at {where} refused the API key (HTTP 401). Check the key and what it may use. "
        "It said: “Wrong ***: ***”",
    ),
    "not found": (
        Reply(status=404, body={"error": {"message": "No such model"}}),
        "The model endpoint at {where} does not know this address or the model 'scripted' (HTTP 404). "
        "Check the base URL and the model's name. It said: “No such model”",
    ),
    "rate limited": (
        Reply(status=429, body={"error": {"message": "Slow down"}}),
        "The model endpoint at {where} is limiting requests (HTTP 429). Wait a little, then retry. "
        "It said: “Slow down”",
    ),
    "limited for an hour": (
        Reply(status=429, body={"error": {"message": "Slow down"}}, headers={"Retry-After": "3600"}),
        "The model endpoint at {where} is limiting requests (HTTP 429) and asks to wait 3600 seconds. "
        "Retry then, or choose another model. It said: “Slow down”",
    ),
    "no credit": (
        Reply(status=429, body={"error": {"message": "You exceeded your current quota"}}),
        "The account at {where} has no credit left (HTTP 429). Top it up, or choose another connection. "
        "It said: “You exceeded your current quota”",
    ),
    "no tools": (
        Reply(status=400, body={"error": {"message": "scripted does not support tools"}}),
        "The model 'scripted' at {where} cannot call tools. Retry to go on with it as a plain chat, without "
        "tools and plan, or choose another model. It said: “scripted does not support tools”",
    ),
    "redirected": (
        Reply(status=308, headers={"Location": "https://elsewhere.example/v1/chat/completions?key=secret"}),
        "The model endpoint at {where} sends requests on to https://elsewhere.example/v1/chat/completions "
        "(HTTP 308); they are not sent there. If that is the right place, enter it as the base URL.",
    ),
    "compressed": (
        Reply(raw=[b"x"], headers={"Content-Encoding": "gzip"}),
        "The endpoint at {where} compresses its replies, though it was asked not to. Switch compression off "
        "there, or in what stands between.",
    ),
    "unavailable": (
        Reply(status=502, body="<html>Bad gateway</html>"),
        "The model endpoint at {where} failed (HTTP 502). Retry in a moment.",
    ),
    "refused": (
        Reply(status=400, body={"error": {"message": "Too long"}}),
        "The model endpoint at {where} refused the request (HTTP 400). It said: “Too long”",
    ),
    "HTML with 200": (
        Reply(raw=[b"<html>Sign in</html>"], headers={"Content-Type": "text/html"}),
        "The endpoint at {where} answered with something that is not a chat completion (a web page). "
        "Check the base URL.",
    ),
    "empty 200": (
        Reply(raw=[]),
        "The model endpoint at {where} answered with nothing. Retry, or check the model's name.",
    ),
    "error with 200": (
        Reply(raw=[b'{"error": {"message": "No quota"}}'], headers=JSON),
        "The model endpoint at {where} reported an error while it answered. It said: “No quota”",
    ),
    "error in mid-stream": (
        Reply(raw=sse(chunk({"content": "a"}), {"error": {"message": "Out of memory"}})),
        "The model endpoint at {where} reported an error while it answered. It said: “Out of memory”",
    ),
    "cut": (
        Reply("abc", piece=1, cut_after=3),
        "The connection to the model ended before the reply was complete. Retry to ask again.",
    ),
    "broken": (
        Reply("abc", piece=1, cut_after=3, broken=True),
        "The connection to the model ended before the reply was complete. Retry to ask again.",
    ),
    "endless": (
        Reply("x" * (MAX_REPLY + 1), piece=MAX_REPLY),
        f"The model's reply grew beyond {MAX_REPLY} characters and was given up. Ask for less at a time.",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failure_has_its_sentence(
    make_agent: MakeAgent, model_server: ScriptedModel, name: str
) -> None:
    reply, sentence = FAILURES[name]
    model_server.script(reply)
    last = end(await told(make_agent(retry=Retry(attempts=1))))
    assert (last.reason, last.sentence) == ("failed", sentence.format(where=model_server.base_url))


async def test_the_agent_works_again_after_a_failure(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    agent = make_agent()
    model_server.script(Reply(status=401), Reply("back"))
    assert end(await told(agent)).reason == "failed"
    assert end(await told(agent)).text == "back"


async def test_an_endpoint_that_is_down_is_named(make_agent: MakeAgent) -> None:
    with closing(listening()) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    last = end(await told(make_agent(base_url=address, retry=Retry(attempts=1))))
    assert last.sentence == (
        f"The model endpoint at {address} cannot be reached (Connection refused). "
        "Check that it runs and that the address is right, then retry."
    )


async def test_a_host_that_does_not_exist_is_named(make_agent: MakeAgent) -> None:
    last = end(await told(make_agent(base_url="http://nowhere.invalid/v1", retry=Retry(attempts=1))))
    assert "http://nowhere.invalid/v1 cannot be reached (" in last.sentence
    assert "Cannot connect" not in last.sentence


async def test_a_failure_is_told_in_the_users_language(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(status=401))
    last = end(await told(make_agent(language="en", user_language="zh")))
    assert "密钥" in last.sentence


async def test_silence_is_a_timeout(model_server: ScriptedModel) -> None:
    model_server.script(Reply("abc", stall_after=1))
    client = ChatModel("m", model_server.base_url, timeout=httpx2.Timeout(0.2))
    last = end(await told(Agent(model=client, retry=Retry(attempts=1))))
    await client.close()
    assert last.sentence == (
        f"The model endpoint at {model_server.base_url} did not answer in time. "
        "Retry, look at its load, or choose another model."
    )


class OwnModel:
    """A custom model that raises the given error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        yield Text("a")
        raise self.error


async def test_whatever_a_model_of_ones_own_raises_ends_the_turn_as_failed() -> None:
    last = end(await told(Agent(model=OwnModel(KeyError("choices")))))
    assert (last.reason, last.sentence) == (
        "failed",
        "Something unexpected went wrong while asking the model: KeyError: 'choices'",
    )


async def test_an_error_of_ones_own_model_need_not_be_of_a_known_kind() -> None:
    last = end(await told(Agent(model=OwnModel(ModelError("tired", detail="come back tomorrow")))))
    assert (last.reason, last.sentence) == (
        "failed",
        "Something unexpected went wrong while asking the model: tired: come back tomorrow",
    )


async def test_an_error_of_a_known_kind_may_lack_a_value() -> None:
    last = end(await told(Agent(model=OwnModel(ModelError("reported")))))
    assert last.reason == "failed"
    assert last.sentence


async def test_a_model_that_times_out_by_itself_is_no_limit_of_the_turn() -> None:
    last = end(await told(Agent(model=OwnModel(TimeoutError()))))
    assert last.reason == "failed"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_error_has_a_sentence_in_both_languages(language: Language) -> None:
    values: dict[str, Any] = {
        "where": "http://model/v1",
        "status": 500,
        "model": "m",
        "detail": "because",
        "maximum": 1,
        "wait": 600,
        "profile": "Ada",
        "name": "Home",
    }
    for kind in _keys("en")["model"]:
        assert phrase(language, f"model.{kind}", **values)


def test_both_languages_have_the_same_phrases() -> None:
    assert _keys("en") == _keys("zh")


def _keys(language: Language) -> dict[str, Any]:
    phrases = tomllib.loads((FOLDER / language / "phrases.toml").read_text(encoding="utf-8"))

    def keys(group: dict[str, Any]) -> dict[str, Any]:
        return {name: keys(value) if isinstance(value, dict) else None for name, value in group.items()}

    return keys(phrases)


async def test_cancelling_is_no_failure(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply("abc", stall_after=2))
    seen: list[Any] = []

    async def listen() -> None:
        async for event in make_agent().run([{"role": "user", "content": "hello"}]):
            seen.append(event)

    turn = asyncio.create_task(listen())
    await asyncio.to_thread(model_server.wait_for_requests)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert of(Text, seen) in ([], [Text("abc")])
    assert "end" not in [event.type for event in seen]
