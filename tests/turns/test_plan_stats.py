"""Turns under each todo policy produce exactly the statistics of their script."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.agent.meter import text_tokens, tools_tokens
from chat.agent.prompts import text
from chat.demo.reply import Reply
from chat.models import Conversation, PlanCount, PlanFigures, Profile, TodoRevision
from chat.models.plan_stats import COUNTS
from chat.turns.worker import close_pool, pool
from tests.live.site import Site, until
from tests.model_server import ScriptedModel

USED = {
    "prompt_tokens": 1000,
    "completion_tokens": 250,
    "prompt_tokens_details": {"cached_tokens": 600},
    "completion_tokens_details": {"reasoning_tokens": 50},
}
LOOK = ("read_file", {"path": "."})


def todo(number: int, state: str, policy: str) -> dict[str, str]:
    """An item as the policy has it; `state` is one of todo, doing and done."""
    name = f"Part {number}"
    if policy == "focused":
        states = {"todo": "pending", "doing": "in_progress", "done": "completed"}
        return {"content": name, "status": states[state], "activeForm": f"Doing {number}"}
    if policy == "lean":
        return {"content": name, "status": "completed" if state == "done" else "pending"}
    states = {"todo": "pending", "doing": "in_progress", "done": "done"}
    return {"id": str(number), "text": name, "status": states[state]}


def a_list(policy: str, *states: str) -> tuple[str, dict[str, Any]]:
    """A TodoWrite call."""
    items = [todo(number, state, policy) for number, state in enumerate(states, 1)]
    return "TodoWrite", {"todos" if policy == "lean" else "items": items}


def a_wrong_list(policy: str) -> tuple[str, dict[str, Any]]:
    """One that the policy refuses, and no other does."""
    name, given = a_list(policy, "todo", "todo")
    first = next(iter(given.values()))[0]
    first |= {"focused": {"activeForm": ""}, "lean": {"status": "in_progress"}, "checklist": {"id": "2"}}[
        policy
    ]
    return name, given


REASON = {"focused": "required.activeForm", "lean": "unknown_status", "checklist": "repeated_id"}


def script(policy: str) -> list[Reply]:
    """Six calls of the model: three only plan, one plans and works, and a reminder is due in the third."""
    both = [a_list(policy, "done", "doing"), LOOK]
    return [
        Reply(tool_calls=[a_list(policy, "doing", "todo")], usage=USED),
        Reply(text="I look.", tool_calls=[LOOK], usage=USED),
        Reply(tool_calls=[a_wrong_list(policy)], usage=USED),
        Reply(text="Next.", tool_calls=both, usage=USED),
        Reply(tool_calls=[a_list(policy, "done", "done")], usage=USED),
        Reply(text="Done.", usage=USED),
    ]


async def converse(site: Site, policy: str) -> Conversation:
    """A conversation of one turn under the policy, with a reminder after each round without a list."""
    profile = await Profile.objects.aget(todo_policy=policy, title=policy.title())
    profile.remind_after = 1
    await profile.asave()
    conversation = await Conversation.objects.acreate(owner=site.user, title="Named", profile=profile)
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    return conversation


async def counted(site: Site, conversation: Conversation) -> PlanFigures:
    """The figures of its one turn, once a page shows them, which counts what is behind."""
    await site.page_at("/settings/plans/")
    return await figures(conversation)


async def figures(conversation: Conversation) -> PlanFigures:
    """The figures of its one turn, once they are there."""
    rows = PlanFigures.objects.filter(conversation=conversation)
    await until(lambda: rows.aexists())
    return await rows.aget()


def bytes_of(call: tuple[str, dict[str, Any]]) -> int:
    return len(call[0]) + len(json.dumps(call[1]))


@pytest.mark.parametrize("policy", ["focused", "lean", "checklist"])
async def test_a_scripted_turn_gives_its_figures(
    site: Site, model_server: ScriptedModel, policy: str
) -> None:
    model_server.script(*script(policy))
    conversation = await converse(site, policy)
    row = await counted(site, conversation)
    shared = bytes_of(a_list(policy, "done", "doing"))
    written = 3 * 200 + round(200 * shared / (shared + bytes_of(LOOK) + len("Next.")))
    (tool,) = [each for each in model_server.requests[0]["tools"] if each["function"]["name"] == "TodoWrite"]
    offering = tools_tokens([tool]) + text_tokens(text(f"planning.{policy}", "en").template)
    expected = {
        "turns": 1,
        "steps": 6,
        "input_tokens": 6000,
        "output_tokens": 1500,
        "written_tokens": written,
        "planning_steps": 3,
        "planning_input_tokens": 3000,
        "planning_cached_tokens": 1800,
        "offering_tokens": 3 * offering,
        "writes": 4,
        "refused": 1,
        "reminders": 1,
        "followed": 1,
        "lists": 1,
        "finished": 1,
        "items": 2,
        "completed": 2,
        "timed": 2,
    }
    assert {name: getattr(row, name) for name in COUNTS} == dict.fromkeys(COUNTS, 0) | expected
    assert row.reasons == {REASON[policy]: 1}
    assert (row.policy, row.profile, row.owner_id) == (policy, policy.title(), site.user.pk)
    moments = [each.created_at async for each in TodoRevision.objects.order_by("pk")]
    took = [(after - before).total_seconds() for before, after in itertools.pairwise(moments)]
    assert row.seconds == [pytest.approx(each, abs=0.001) for each in took]


async def test_a_count_that_was_missed_is_made_at_the_next_start(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(*script("lean"))
    conversation = await converse(site, "lean")
    await counted(site, conversation)
    await close_pool()
    # As a process leaves it that was killed between the end of a turn and the count.
    await PlanCount.objects.all().adelete()
    await PlanFigures.objects.all().adelete()
    pool().open()
    assert (await figures(conversation)).finished == 1


async def test_a_turn_that_is_stopped_counts_too(site: Site, model_server: ScriptedModel) -> None:
    stalled = Reply(text="I look at all of it now. " * 50, piece=100, stall_after=4)
    model_server.script(Reply(tool_calls=[a_list("focused", "doing", "todo")], usage=USED), stalled)
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: "I look at all" in frame)
    await site.post(conversation, "stop")
    await tab.until_idle()
    row = await counted(site, conversation)
    assert (row.lists, row.finished, row.items, row.completed) == (1, 0, 2, 0)
    assert (row.steps, row.estimated_steps, row.estimated_writes) == (2, 1, 0)


async def test_the_three_stand_side_by_side(site: Site, model_server: ScriptedModel) -> None:
    for policy in REASON:
        model_server.script(*script(policy))
        await counted(site, await converse(site, policy))

    def rows() -> list[tuple[str, int, int]]:
        return list(
            PlanFigures.objects.order_by("conversation__created_at").values_list(
                "policy", "finished", "refused"
            )
        )

    assert await sync_to_async(rows)() == [(policy, 1, 1) for policy in REASON]
