"""Usage of a turn's model calls: the endpoint's count, or an estimate marked as such."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from prometheus_client import REGISTRY

from chat.agent.meter import request_tokens, text_tokens
from chat.demo.reply import Reply
from chat.models import Conversation, DailyUsage, ModelSettings, SideCall, Step
from chat.turns.worker import close_pool, pool
from tests.live.site import Site, until
from tests.model_server import ScriptedModel

COUNTED = {
    "prompt_tokens": 1000,
    "completion_tokens": 200,
    "prompt_tokens_details": {"cached_tokens": 600},
    "completion_tokens_details": {"reasoning_tokens": 50},
}
NONE: dict[str, Any] = {}
LONG = "The answer is a long one, which the user does not wait for. " * 20


async def answered(site: Site, *, until_it_says: str = "", title: str = "Named") -> Conversation:
    """A conversation with one turn, at its end or as soon as it says something."""
    conversation = await site.conversation()
    await Conversation.objects.aupdate(title=title)
    tab = await site.open(conversation)
    await tab.send("do it")
    if until_it_says:
        await tab.until(lambda frame: until_it_says in frame)
    else:
        await tab.until_idle()
    return conversation


async def steps_of(conversation: Conversation) -> list[Step]:
    return [step async for step in Step.objects.filter(turn__conversation=conversation).order_by("number")]


async def stopped(conversation: Conversation, site: Site) -> None:
    await site.post(conversation, "stop")
    await until(lambda: conversation.turns.filter(status="stopped").aexists())


def sent(model_server: ScriptedModel) -> int:
    """A guess of the tokens of the latest request."""
    request = model_server.requests[-1]
    return request_tokens(request["messages"], request["tools"])


async def test_the_endpoints_count_is_written_down(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Done.", usage=COUNTED))
    (step,) = await steps_of(await answered(site))
    assert (step.input_tokens, step.output_tokens) == (1000, 200)
    assert (step.cached_tokens, step.reasoning_tokens) == (600, 50)
    assert step.estimated is False
    assert step.endpoint == model_server.base_url.rstrip("/")
    assert step.model == model_server.requests[0]["model"]
    assert (step.cost, step.currency) == (None, ""), "nobody has set a price"
    day = await DailyUsage.objects.aget()
    assert (day.calls, day.estimated_calls, day.owner_id) == (1, 0, site.user.pk)
    assert (day.input_tokens, day.output_tokens, day.cached_tokens) == (1000, 200, 600)
    assert (day.model, day.endpoint, day.currency) == (step.model, step.endpoint, "")


async def test_it_costs_what_the_model_costs(site: Site, model_server: ScriptedModel, settings: Any) -> None:
    await ModelSettings.objects.acreate(
        model=settings.MODEL_NAME,
        input_price=Decimal(2),
        cached_price=Decimal("0.5"),
        output_price=Decimal(10),
        currency="EUR",
    )
    model_server.script(
        Reply(tool_calls=[("read_file", {"path": "."})], usage=COUNTED), Reply(text="Done.", usage=COUNTED)
    )
    steps = await steps_of(await answered(site))
    each = Decimal("0.0031")  # 400 at 2, 600 at 0.5 and 200 at 10 a million
    assert [(step.cost, step.currency) for step in steps] == [(each, "EUR")] * 2
    day = await DailyUsage.objects.aget()
    assert (day.cost, day.currency, day.calls) == (2 * each, "EUR", 2)


@pytest.mark.parametrize(
    "usage", [NONE, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": None}]
)
async def test_without_a_count_it_is_guessed_and_marked(
    site: Site, model_server: ScriptedModel, usage: dict[str, Any]
) -> None:
    arguments = {"path": "a.txt", "content": LONG}
    model_server.script(
        Reply(text="I write.", tool_calls=[("write_file", arguments)], usage=usage),
        Reply(text="Done.", usage=COUNTED),
    )
    conversation = await answered(site)
    first, second = await steps_of(conversation)
    assert first.estimated is True
    request = model_server.requests[0]
    assert first.input_tokens == request_tokens(request["messages"], request["tools"])
    assert first.output_tokens >= text_tokens(json.dumps(arguments)) > 200
    assert (second.estimated, second.input_tokens) == (False, 1000)
    day = await DailyUsage.objects.aget()
    assert (day.calls, day.estimated_calls) == (2, 1)


async def test_what_an_endpoint_leaves_out_is_guessed(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text=LONG, usage={"prompt_tokens": 77, "completion_tokens": 0}))
    (step,) = await steps_of(await answered(site))
    assert (step.input_tokens, step.output_tokens, step.estimated) == (77, text_tokens(LONG), True)


async def test_a_reply_that_is_cut_was_paid_for(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text=LONG, piece=100, cut_after=4))
    conversation = await answered(site)
    assert (await site.turn(conversation)).status == "failed"
    (step,) = await steps_of(conversation)
    assert step.estimated is True
    assert step.input_tokens == sent(model_server)
    assert 0 < step.output_tokens < text_tokens(LONG)


async def test_a_reply_that_the_person_stops_was_paid_for(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text=LONG, piece=100, stall_after=4))
    conversation = await answered(site, until_it_says="The answer is")
    await stopped(conversation, site)
    (step,) = await steps_of(conversation)
    assert step.estimated is True
    assert step.input_tokens == sent(model_server)
    assert 0 < step.output_tokens < text_tokens(LONG)


async def test_a_reply_that_is_stopped_took_what_was_counted_before_it_and_more(
    site: Site, model_server: ScriptedModel
) -> None:
    """Or the estimate, which knows no endpoint's own rules, fell far below a count that was shown."""
    counted = COUNTED | {"prompt_tokens": 50_000}
    cut = Reply(text=LONG, piece=100, stall_after=4)
    model_server.script(Reply(tool_calls=[("read_file", {"path": "."})], usage=counted), cut)
    conversation = await answered(site, until_it_says="The answer is")
    await stopped(conversation, site)
    first, second = await steps_of(conversation)
    assert (first.input_tokens, first.estimated) == (50_000, False)
    result = model_server.requests[-1]["messages"][-1]
    assert (second.input_tokens, second.estimated) == (50_150 + request_tokens([result]), True)
    tab = await site.open(conversation)
    model_server.script(cut)
    await tab.send("and now?")
    await tab.until(lambda frame: "The answer is" in frame)
    await site.post(conversation, "stop")
    await tab.until_idle()
    third = await Step.objects.filter(turn__conversation=conversation).alast()
    question = model_server.requests[-1]["messages"][-1]
    assert third is not None
    assert third.input_tokens == second.input_tokens + second.output_tokens + request_tokens([question])


async def test_a_call_that_is_stopped_while_it_is_written_was_paid_for(
    site: Site, model_server: ScriptedModel
) -> None:
    call = ("write_file", {"path": "a.txt", "content": LONG * 3})
    model_server.script(Reply(text="I write.", tool_calls=[call], piece=200, stall_after=9))
    conversation = await answered(site, until_it_says="I write.")

    (running, _task) = next(iter(pool().running.values()))

    async def is_half_written() -> bool:
        return running.recorder.meter.outstanding().output_tokens > text_tokens("I write.") + 100

    await until(is_half_written)
    await stopped(conversation, site)
    (step,) = await steps_of(conversation)
    assert step.output_tokens > text_tokens("I write.") + 100


async def test_what_the_endpoint_refused_cost_nothing(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=401, body={"error": {"message": "no"}}))
    (step,) = await steps_of(await answered(site))
    assert (step.input_tokens, step.output_tokens, step.estimated) == (0, 0, False)
    assert not await DailyUsage.objects.aexists()


async def test_an_attempt_that_failed_counts_where_it_was_counted(
    site: Site, model_server: ScriptedModel
) -> None:
    usage = {"choices": [], "usage": COUNTED}
    torn = [f"data: {json.dumps(usage)}\n\n".encode()]
    model_server.script(
        Reply(status=503, headers={"Retry-After": "0"}),
        Reply(raw=torn),
        Reply(text="Done.", usage=COUNTED),
    )
    (step,) = await steps_of(await answered(site))
    assert (step.input_tokens, step.output_tokens, step.estimated) == (2000, 400, False)


async def test_a_step_that_is_begun_anew_counts_twice(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text=LONG, piece=100, stall_after=4), Reply(text="Done.", usage=COUNTED))
    conversation = await answered(site, until_it_says="The answer is")
    torn = sent(model_server)
    await close_pool()
    assert (await site.turn(conversation)).status == "queued"
    (step,) = await steps_of(conversation)
    assert (step.input_tokens, step.estimated) == (torn, True)
    pool().open()
    await until(lambda: conversation.turns.filter(status="completed").aexists())
    (step,) = await steps_of(conversation)
    assert (step.input_tokens, step.estimated) == (torn + 1000, True)
    assert (await DailyUsage.objects.aget()).calls == 2


async def test_a_title_costs_too(site: Site, model_server: ScriptedModel, settings: Any) -> None:
    prices = {"input_price": Decimal(1), "output_price": Decimal(0)}
    await ModelSettings.objects.acreate(model=settings.MODEL_NAME, **prices)
    model_server.title = Reply(text="Sorted", usage={"prompt_tokens": 70, "completion_tokens": 6})
    model_server.script(Reply(text="Done.", usage=COUNTED))
    await answered(site, title="do it")
    await until(lambda: SideCall.objects.filter(cost=Decimal("0.00007")).aexists())
    assert (await DailyUsage.objects.aget()).input_tokens == 1070


async def test_tokens_are_counted_for_prometheus(
    site: Site, model_server: ScriptedModel, settings: Any
) -> None:
    def counted(kind: str) -> float:
        labels = {"model": settings.MODEL_NAME, "kind": kind}
        return REGISTRY.get_sample_value("agentsite_model_tokens_total", labels) or 0.0

    before = {kind: counted(kind) for kind in ("input", "output", "cached", "reasoning")}
    model_server.script(Reply(text="Done.", usage=COUNTED))
    await answered(site)
    more = {kind: counted(kind) - count for kind, count in before.items()}
    assert more == {"input": 1000, "output": 200, "cached": 600, "reasoning": 50}


async def test_what_was_used_stays_known_when_the_conversation_is_deleted(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Done.", usage=COUNTED))
    conversation = await answered(site)
    await sync_to_async(conversation.delete)()
    assert (await DailyUsage.objects.aget()).input_tokens == 1000


async def test_a_day_is_one_of_the_sites_time_zone(
    site: Site, model_server: ScriptedModel, settings: Any
) -> None:
    settings.TIME_ZONE = "Pacific/Kiritimati"  # 14 hours ahead
    before = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=14)
    model_server.script(Reply(text="Done.", usage=COUNTED))
    await answered(site)
    after = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=14)
    assert before.date() <= (await DailyUsage.objects.aget()).day <= after.date()
