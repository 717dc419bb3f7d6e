"""A todo list appears while its call streams, and is retracted if the call fails."""

from __future__ import annotations

import json

import pytest

from chat.agent import Limits, TodoDraft, TodoItem, TodoList, TodoUpdate
from chat.agent.model import ToolCallDelta
from chat.agent.model.assembly import OpenCall
from chat.agent.todo import Status
from chat.agent.turn import MAX_DRAFT, Draft
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import PLAN, end, of, told
from tests.model_server import ScriptedModel


def drafted(todos: str | TodoList, arguments: str) -> list[tuple[TodoItem, ...]]:
    """The drafts of arguments that arrive letter by letter, over a list or under a policy."""
    draft = Draft(todos if isinstance(todos, TodoList) else TodoList(todos))
    call = OpenCall("1", "TodoWrite")
    drafts = []
    for letter in arguments:
        call.add(ToolCallDelta(None, arguments=letter))
        if (items := draft.read([call])) is not None:
            drafts.append(items)
    return drafts


async def test_items_are_events_while_the_arguments_still_stream(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", PLAN)], piece=3), Reply("ok"))
    events = await told(make_agent())
    kinds = [event.type for event in events]
    assert kinds.index("todo_draft") < kinds.index("reply") < kinds.index("todo_update")
    drafts = [draft.items for draft in of(TodoDraft, events)]
    assert None not in drafts
    assert drafts == sorted(drafts, key=lambda items: len(items or ()))
    last, final = drafts[-1], of(TodoUpdate, events)[0].items
    assert last
    assert [(todo.content, todo.status) for todo in last] == [(todo.content, todo.status) for todo in final]


@pytest.mark.parametrize(
    ("policy", "arguments"),
    [
        ("focused", {"items": [{"content": "Read", "status": "in_progress", "activeForm": "Reading"}]}),
        ("lean", {"todos": [{"content": "Read", "status": "completed"}]}),
        ("checklist", {"items": [{"id": "1", "text": "Read", "status": "done"}]}),
    ],
)
def test_a_draft_grows_letter_by_letter_under_every_policy(policy: str, arguments: dict[str, object]) -> None:
    drafts = drafted(policy, json.dumps(arguments))
    assert [items[0].content for items in drafts][:4] == ["R", "Re", "Rea", "Read"]
    todos = TodoList(policy)
    todos.write(arguments)
    (last,), (final,) = drafts[-1], todos.items
    assert (last.content, last.status, last.active_form, last.key) == (
        final.content,
        final.status,
        final.active_form,
        final.key,
    )
    assert last.id == ""


def test_an_item_whose_text_is_cut_off_is_the_one_that_begins_like_that() -> None:
    todos = TodoList()
    todos.write(PLAN)
    drafts = drafted(todos, json.dumps(PLAN))
    assert len(drafts) > len(PLAN)
    for items in drafts:
        assert [item.id for item in items] == [item.id for item in todos.items[: len(items)]]
    assert drafted(todos, '{"items": [{"content": "Something el')[-1][0].id == "", "it begins like none"


def test_a_draft_keeps_the_ids_of_the_items_that_it_continues() -> None:
    todos = TodoList()
    todos.write(PLAN)
    draft = Draft(todos)
    items = draft.read([OpenCall("1", "TodoWrite", json.dumps(PLAN))])
    assert items == todos.items


@pytest.mark.parametrize(
    "arguments", ["", "{", '{"items": [', '{"items": [{}', '{"items": {}}', "[]", '"', "x", "[" * 300]
)
def test_arguments_that_show_no_item_are_no_draft(arguments: str) -> None:
    assert drafted("focused", arguments) == []


def test_a_draft_shows_no_more_items_than_the_policy_allows() -> None:
    many = {"items": [{"content": f"{n}", "status": "pending", "activeForm": "x"} for n in range(30)]}
    assert len(drafted("focused", json.dumps(many))[-1]) == 20


def test_an_unknown_status_is_drafted_as_pending() -> None:
    assert (
        drafted("lean", '{"todos": [{"content": "a", "status": "in_progress"}]}')[-1][0].status
        == Status.PENDING
    )


def test_only_the_first_todo_write_of_a_reply_is_drafted() -> None:
    draft = Draft(TodoList("lean"))
    first = OpenCall("1", "TodoWrite", '{"todos": [{"content": "a"}]}')
    assert draft.read([first])
    assert draft.read([first, OpenCall("2", "TodoWrite", '{"todos": [{"content": "b"}]}')]) is None


def test_arguments_beyond_all_measure_are_not_read_again_and_again() -> None:
    long = json.dumps({"todos": [{"content": "x" * MAX_DRAFT}]})
    assert Draft(TodoList("lean")).read([OpenCall("1", "TodoWrite", long)]) is None


REFUSED = {"items": [{"content": "Read", "status": "doing", "activeForm": "Reading"}]}


async def test_after_a_refused_call_the_next_is_no_draft(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    refused = Reply(tool_calls=[("TodoWrite", REFUSED)])
    model_server.script(refused, refused, Reply(tool_calls=[("TodoWrite", PLAN)]), Reply("ok"))
    events = await told(make_agent())
    shown = [event for event in events if isinstance(event, TodoDraft | TodoUpdate)]
    assert shown[0] != TodoDraft(None)
    assert shown[-3:] == [TodoDraft(None), TodoDraft(None), *of(TodoUpdate, events)]


async def test_a_refused_call_undoes_its_draft(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(
        Reply(tool_calls=[("TodoWrite", PLAN)]), Reply(tool_calls=[("TodoWrite", REFUSED)]), Reply("ok")
    )
    events = await told(make_agent())
    assert of(TodoDraft, events)[-1] == TodoDraft(None)
    assert [todo.content for todo in end(events).todos] == ["Read", "Write"]


async def test_a_denied_call_undoes_its_draft(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    async def deny(_: object) -> str:
        return "No plans today."

    model_server.script(Reply(tool_calls=[("TodoWrite", PLAN)]), Reply("ok"))
    events = await told(make_agent(), approve=deny)
    assert of(TodoDraft, events)[-1] == TodoDraft(None)
    assert end(events).todos == ()


async def test_a_call_cut_at_the_length_undoes_its_draft(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    half = json.dumps(PLAN)[:60]
    model_server.script(Reply(tool_calls=[("TodoWrite", half)], finish_reason="length"), Reply("ok"))
    events = await told(make_agent())
    assert len(of(TodoDraft, events)) > 1
    assert of(TodoDraft, events)[-1] == TodoDraft(None)


async def test_a_stream_that_breaks_undoes_its_draft(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", PLAN)], cut_after=8, broken=True))
    events = await told(make_agent())
    assert of(TodoDraft, events)[-1] == TodoDraft(None)
    assert end(events).reason == "failed"


async def test_a_time_limit_undoes_the_draft(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", PLAN)], stall_after=8))
    events = await told(make_agent(limits=Limits(seconds=0.5)))
    assert len(of(TodoDraft, events)) > 1
    assert of(TodoDraft, events)[-1] == TodoDraft(None)
    assert end(events).reason == "limit"
