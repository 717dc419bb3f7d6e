"""Model calls are retried if that may help and nothing of the reply was shown."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, closing

import pytest

from chat.agent import ModelSilent, Retry, Retrying, TodoDraft
from chat.demo.reply import Reply, chunk, sse
from tests.agent.conftest import MakeAgent
from tests.agent.turns import PLAN, end, of, told
from tests.model_server import ScriptedModel, listening


@pytest.mark.parametrize("status", [408, 429, 529])
async def test_a_passing_fault_is_tried_again(
    make_agent: MakeAgent, model_server: ScriptedModel, status: int
) -> None:
    model_server.script(Reply(status=status), Reply(status=status), Reply("there"))
    events = await told(make_agent())
    assert end(events).text == "there"
    retries = of(Retrying, events)
    assert [retry.attempt for retry in retries] == [1, 2]
    assert f"(HTTP {status})" in retries[0].reason


@pytest.mark.parametrize("status", [400, 401])
async def test_a_lasting_fault_is_not(
    make_agent: MakeAgent, model_server: ScriptedModel, status: int
) -> None:
    model_server.script(Reply(status=status))
    events = await told(make_agent())
    assert end(events).reason == "failed"
    assert of(Retrying, events) == []
    assert len(model_server.requests) == 1


async def test_a_refused_connection_is_tried_again(make_agent: MakeAgent) -> None:
    with closing(listening()) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    events = await told(make_agent(base_url=address))
    assert len(of(Retrying, events)) == 2
    assert end(events).reason == "failed"


@pytest.mark.parametrize(
    "nothing",
    [
        Reply(raw=[]),
        Reply("abc", cut_after=1),
        Reply("abc", cut_after=1, broken=True),
        Reply(tool_calls=[("look", {"at": 1})], cut_after=2),
    ],
)
async def test_a_stream_that_ends_before_anything_was_shown_is_tried_again(
    make_agent: MakeAgent, model_server: ScriptedModel, nothing: Reply
) -> None:
    model_server.script(nothing, Reply("there"))
    events = await told(make_agent())
    assert end(events).text == "there"
    assert len(of(Retrying, events)) == 1


@pytest.mark.parametrize(
    "shown",
    [Reply("abc", cut_after=2), Reply("abc", "hm", cut_after=2), Reply("abc", cut_after=2, broken=True)],
)
async def test_a_stream_that_was_shown_is_not(
    make_agent: MakeAgent, model_server: ScriptedModel, shown: Reply
) -> None:
    model_server.script(shown)
    events = await told(make_agent())
    assert (end(events).reason, of(Retrying, events)) == ("failed", [])
    assert len(model_server.requests) == 1


async def test_a_draft_counts_as_shown_and_is_undone(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", PLAN)], cut_after=8))
    events = await told(make_agent())
    assert of(TodoDraft, events)[-1] == TodoDraft(None)
    assert len(of(TodoDraft, events)) > 1
    assert (end(events).reason, of(Retrying, events)) == ("failed", [])


async def test_an_error_in_mid_stream_is_not_tried_again(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(raw=sse(chunk({"role": "assistant"}), {"error": {"message": "no"}})))
    events = await told(make_agent())
    assert (end(events).reason, of(Retrying, events)) == ("failed", [])


async def test_as_often_as_the_agent_is_told(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(*[Reply(status=503)] * 9)
    assert end(await told(make_agent(retry=Retry(attempts=5, first_delay=0)))).reason == "failed"
    assert len(model_server.requests) == 5
    assert end(await told(make_agent(retry=Retry(attempts=1)))).reason == "failed"
    assert len(model_server.requests) == 6


async def test_the_wait_is_the_one_that_the_endpoint_asks_for(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(status=429, headers={"Retry-After": "0.05"}), Reply("there"))
    events = await told(make_agent(retry=Retry(first_delay=30)))
    assert [retry.seconds for retry in of(Retrying, events)] == [0.05]
    assert end(events).text == "there"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After-Ms": "40", "Retry-After": "9"}, 0.04),
        ({"X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Tokens": "30ms"}, 0.03),
        ({"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "0m0.02s"}, 0.02),
    ],
)
async def test_the_wait_is_told_by_headers_of_many_kinds(
    make_agent: MakeAgent, model_server: ScriptedModel, headers: dict[str, str], seconds: float
) -> None:
    model_server.script(Reply(status=429, headers=headers), Reply("there"))
    events = await told(make_agent(retry=Retry(first_delay=30)))
    assert [retry.seconds for retry in of(Retrying, events)] == [pytest.approx(seconds)]


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(status=429, headers={"Retry-After": "3600"}),
        Reply(status=429, body={"error": {"code": "insufficient_quota"}}),
        Reply(status=402),
        Reply(status=500, body={"error": {"message": "tools param requires --jinja flag"}}),
    ],
)
async def test_what_will_not_be_over_in_time_is_not_waited_for(
    make_agent: MakeAgent, model_server: ScriptedModel, refusal: Reply
) -> None:
    model_server.script(refusal, Reply("there"))
    events = await told(make_agent())
    assert (end(events).reason, of(Retrying, events)) == ("failed", [])


async def test_a_model_that_is_being_loaded_is_waited_for(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    loading = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    model_server.script(
        *[Reply(status=503, body=loading, headers={"Retry-After": "0"})] * 6,
        Reply(status=500),
        Reply("there"),
    )
    events = await told(make_agent())
    assert end(events).text == "there"
    retries = of(Retrying, events)
    assert [retry.attempt for retry in retries] == [1] * 7, "only the fault counts as a try"
    assert "is still loading its model" in retries[0].reason


async def test_but_not_for_ever(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    loading = {"error": {"message": "Loading model"}}
    model_server.script(*[Reply(status=503, body=loading, headers={"Retry-After": "0"})] * 9)
    assert end(await told(make_agent(retry=Retry(first_delay=0, loading=0)))).reason == "failed"
    assert len(model_server.requests) == 3


async def test_after_a_while_no_further_attempt_begins(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(*[Reply(status=503, headers={"Retry-After": "1"})] * 9)
    began = time.monotonic()
    events = await told(make_agent(retry=Retry(attempts=9, seconds=2.8)))
    assert 2 <= time.monotonic() - began < 9
    assert len(model_server.requests) == 3, "at 0, 1 and 2 seconds"
    assert end(events).reason == "failed"
    assert "failed (HTTP 503)" in end(events).sentence


async def test_a_silent_model_is_reported_and_given_up_once(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    """With or without headers first."""
    retry = Retry(first_delay=0, seconds=0.4, notice=0.1)
    with closing(listening()) as mute:
        for address in (model_server.base_url, f"http://127.0.0.1:{mute.getsockname()[1]}/v1"):
            model_server.script(Reply(raw=[], stall_after=0))
            events = await told(make_agent(base_url=address, retry=retry, first_byte=0.5))
            assert of(ModelSilent, events) == [ModelSilent(0.1), ModelSilent(0.1, over=True)]
            assert of(Retrying, events) == []
            assert end(events).sentence == (
                f"The model endpoint at {address} did not answer in time. "
                "Retry, look at its load, or choose another model."
            )
    assert len(model_server.requests) == 1


async def test_a_slow_model_is_reported_until_its_reply_begins(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    calls = [("TodoWrite", PLAN)]
    model_server.script(Reply("", tool_calls=calls, first_delay=1.5), Reply("Quick."))
    events = await told(make_agent(retry=Retry(notice=0.5)))
    assert of(ModelSilent, events) == [ModelSilent(0.5), ModelSilent(0.5, over=True)]
    kinds = [type(event) for event in events]
    assert kinds.index(ModelSilent) < kinds.index(TodoDraft), "told before the reply, and not after it"
    assert end(events).text == "Quick."


async def test_a_silence_is_nothing_of_a_reply(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=503, first_delay=0.3), Reply("there"))
    events = await told(make_agent(retry=Retry(notice=0.1, first_delay=0)))
    assert len(of(Retrying, events)) == 1
    assert end(events).text == "there"


async def test_a_reply_that_has_begun_may_be_silent_for_a_shorter_time(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("slow to begin", first_delay=1.5), Reply("It stops here", stall_after=2))
    agent = make_agent(first_byte=20, silence=1)
    assert end(await told(agent)).text == "slow to begin"
    began = time.monotonic()
    assert "did not answer in time" in end(await told(agent)).sentence
    assert time.monotonic() - began < 15


async def test_a_turn_that_is_given_up_while_the_model_is_silent_leaves_the_endpoint(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(raw=[], stall_after=0))
    async with aclosing(
        make_agent(retry=Retry(notice=0.1)).run([{"role": "user", "content": "hi"}])
    ) as events:
        async for event in events:
            if isinstance(event, ModelSilent):
                await asyncio.to_thread(model_server.wait_for_requests)
                break
    await asyncio.to_thread(model_server.wait_for_disconnects, 1)


def test_the_wait_doubles_with_a_little_chance_in_it() -> None:
    retry = Retry(first_delay=1, max_delay=60)
    for attempt, middle in ((1, 1), (2, 2), (3, 4), (4, 8)):
        waits = {retry.delay(attempt, None) for _ in range(50)}
        assert all(middle * 0.75 <= wait <= middle * 1.25 for wait in waits)
        assert len(waits) > 1


@pytest.mark.parametrize(("asked", "wait"), [(0, 0), (7, 7), (3600, 60), (float("inf"), 60)])
def test_the_wait_never_passes_the_longest(asked: float, wait: float) -> None:
    assert Retry(max_delay=60).delay(1, asked) == wait
    assert Retry(first_delay=10, max_delay=12).delay(5, None) == 12
