"""Plans, and which part of the timeline belongs to which."""

from __future__ import annotations

from typing import Any

import pytest

from chat.models import TodoRevision, Turn
from chat.plan.history import Plan, latest_plan_of, plans_of
from chat.plan.timeline import Calls, Entry, Revision, TurnBegan
from tests.plan.conftest import Work
from tests.plan.test_difference import a_list


def told(plan: Plan) -> list[str]:
    return [_told(entry) for entry in plan.entries]


def _told(entry: Entry) -> str:
    match entry:
        case TurnBegan(text=text):
            return text
        case Calls(calls=calls):
            return " ".join(call.name for call in calls)
        case Revision(number=number, row=row):
            return f"yours {number}" if row.is_by_user else f"list {number}"
        case _:
            return str(entry.turn.status)


def shape(plan: Plan) -> list[Any]:
    """Its entries without the user's messages."""
    return ["Message" if isinstance(entry, TurnBegan) else _told(entry) for entry in plan.entries]


def test_no_list_no_plan(work: Work) -> None:
    work.look("a").end()
    assert plans_of(work.conversation) == []


def test_a_plan_tells_all_around_its_lists(work: Work) -> None:
    work.look("a", "b").write("a >", "b -").look("c").refused().write("a x", "b >").look("d").end()
    [plan] = plans_of(work.conversation)
    assert told(plan) == [
        "Message 1", "read_file read_file", "list 1",
        "read_file TodoWrite", "list 2", "read_file", "completed",
    ]  # fmt: skip


def test_a_plan_goes_on_in_later_turns(work: Work) -> None:
    work.write("a x", "b >").end().go_on().look("a").end().go_on().write("a x", "b x").end()
    [plan] = plans_of(work.conversation)
    assert told(plan) == [
        "Message 1", "list 1", "completed", "Message 2", "read_file", "completed", "Message 3", "list 2",
        "completed",
    ]  # fmt: skip


def test_a_change_between_turns_adds_no_turn(work: Work) -> None:
    work.write("a >", "b -").end().go_on().look("a").end().edit("a >", "b -", "c -").edit("a >", "b -")
    [plan] = plans_of(work.conversation)
    assert told(plan) == ["Message 1", "list 1", "completed", "yours 2", "yours 3"]
    work.go_on().write("a x", "b -").end()
    [plan] = plans_of(work.conversation)
    assert told(plan) == [
        "Message 1", "list 1", "completed", "Message 2", "read_file", "completed", "yours 2", "yours 3",
        "Message 3", "list 4", "completed",
    ]  # fmt: skip


def test_a_change_while_a_turn_runs_adds_that_turn_alone(work: Work) -> None:
    work.write("a >").end().go_on().look("a").end().go_on().look("b").edit("a >", "c -").end()
    [plan] = plans_of(work.conversation)
    assert told(plan) == [
        "Message 1",
        "list 1",
        "completed",
        "Message 3",
        "read_file",
        "yours 2",
        "completed",
    ]


def test_a_turn_that_continue_began_is_of_the_plan(work: Work) -> None:
    work.write("a >").end().go_on().look("a").end().resume().look("b").end(Turn.Status.INTERRUPTED)
    work.resume().look("c").end()
    covered = ["Message 1", "list 1", "completed", "Continue", "read_file", "interrupted"]
    covered += ["Continue", "read_file", "completed"]
    [plan] = plans_of(work.conversation)
    assert told(plan) == covered
    work.edit("a x").go_on().write("n >").end()
    first, second = plans_of(work.conversation)
    assert told(first) == [*covered, "yours 2"]
    assert told(second) == ["Message 5", "list 3", "completed"]


def test_a_turn_that_goes_on_with_something_else_is_not_of_the_plan(work: Work) -> None:
    work.write("a >").end().go_on().look("a").end(Turn.Status.INTERRUPTED).resume().look("b").end()
    [plan] = plans_of(work.conversation)
    assert told(plan) == ["Message 1", "list 1", "completed"]


def test_another_plan_of_the_agents_in_a_turn_that_continue_began(work: Work) -> None:
    work.write("a >").end().resume().look("a").write("n >").end()
    first, second = plans_of(work.conversation)
    assert told(first) == ["Message 1", "list 1", "completed"]
    assert told(second) == ["Continue", "read_file", "list 2", "completed"]


def test_another_plan_of_the_users_takes_no_turn_that_continue_began(work: Work) -> None:
    work.write("a >").end().resume().look("a").end().edit().edit("n -")
    first, second = plans_of(work.conversation)
    assert told(first)[-4:] == ["Continue", "read_file", "completed", "yours 2"]
    assert told(second) == ["yours 3"]


def test_a_list_that_shares_no_item_is_a_new_plan(work: Work) -> None:
    work.write("a x").end().go_on().look("a").end().go_on().look("b").write("n >", "m -").end()
    first, second = plans_of(work.conversation)
    assert told(first) == ["Message 1", "list 1", "completed"]
    assert told(second) == ["Message 3", "read_file", "list 2", "completed"]
    assert [(line.item["id"], line.is_removed) for line in second.latest.lines] == [
        ("n", False),
        ("m", False),
    ]


def test_two_plans_in_one_turn(work: Work) -> None:
    work.write("a x").look("b").write("n >").end()
    first, second = plans_of(work.conversation)
    assert told(first) == ["Message 1", "list 1", "read_file"]
    assert told(second) == ["list 2", "completed"]


def test_an_emptied_list_ends_its_plan(work: Work) -> None:
    work.write("a >").write().write("n >").end()
    first, second = plans_of(work.conversation)
    assert [revision.row.total for revision in first.revisions] == [1, 0]
    assert [revision.number for revision in second.revisions] == [3]


def test_an_empty_list_ahead_of_the_first_is_of_its_plan(work: Work) -> None:
    work.write().write("a >")
    [plan] = plans_of(work.conversation)
    assert [revision.number for revision in plan.revisions] == [1, 2]


def test_what_the_person_changes_stands_where_it_was_changed(work: Work) -> None:
    work.edit("p -").look("a").edit("p -", "q -").look("b", "c").write("p >", "q -").edit("p x", "q -").end()
    work.edit("p x", skipped="q").edit("p x", "r -").go_on().edit("p x").write("p x", "s -").end()
    [plan] = plans_of(work.conversation)
    assert told(plan) == [
        "Message 1", "yours 1", "read_file", "yours 2", "read_file read_file", "list 3", "yours 4",
        "completed", "yours 5", "yours 6",
        "Message 2", "yours 7", "list 8", "completed",
    ]  # fmt: skip
    assert [line.skipped for line in plan.revisions[4].lines] == [False, True]


def test_what_was_changed_while_a_list_was_on_its_way_comes_before_it(work: Work) -> None:
    work.write("a >", "b -").look("a")
    call = work.call("TodoWrite", "running")
    work.edit("a >", skipped="b")
    TodoRevision.write(work.turn, call, "focused", [dict(item) for item in a_list("a x", "b >")])
    TodoRevision.edit(work.turn, "focused", [dict(item) for item in a_list("a x")], ["b"], kept=True)
    [plan] = plans_of(work.conversation)
    assert told(plan) == ["Message 1", "list 1", "read_file", "yours 2", "list 3", "yours 4"]
    assert [revision.row.tool_call == call for revision in plan.revisions] == [False, False, True, False]


def test_a_plan_that_the_person_begins(work: Work) -> None:
    work.look("a").end().edit("a -").go_on().write("a x").end()
    [plan] = plans_of(work.conversation)
    assert told(plan) == [
        "Message 1",
        "read_file",
        "completed",
        "yours 1",
        "Message 2",
        "list 2",
        "completed",
    ]


def test_an_item_that_was_cut_off_stays_so_after_an_edit(work: Work) -> None:
    work.write("a >", "b -").end(Turn.Status.STOPPED).edit("a >", skipped="b")
    [plan] = plans_of(work.conversation)
    assert [revision.cut_off for revision in plan.revisions] == [True, True]


@pytest.mark.parametrize("status", [Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED])
def test_the_last_list_of_a_turn_that_came_to_a_bad_end_is_cut_off(work: Work, status: Turn.Status) -> None:
    work.write("a >").write("a x", "b >").end(status).go_on().write("a x", "b x").end()
    [plan] = plans_of(work.conversation)
    assert [revision.cut_off for revision in plan.revisions] == [False, True, False]


def test_a_turn_at_work_has_no_end(work: Work) -> None:
    work.write("a >")
    [plan] = plans_of(work.conversation)
    assert told(plan) == ["Message 1", "list 1"]


@pytest.mark.parametrize(
    "lists",
    [
        ["a > b -", "a x b >", "n -", "n x"],
        ["a >", "", "n >"],
        ["", "a >", "a x"],
        ["a >", "a x b >", "b x"],
        ["a >", "n >", "n x", ""],
    ],
)
@pytest.mark.parametrize("turns", [1, 2, 9])
def test_the_latest_plan_alone_is_the_same(work: Work, lists: list[str], turns: int) -> None:
    for number, items in enumerate(lists, 1):
        work.look("a").write(*(f"{items}".replace(" b", ",b").split(",") if items else []))
        if number % turns == 0:
            work.end().go_on()
    latest = latest_plan_of(work.conversation)
    assert latest is not None
    assert shape(latest) == shape(plans_of(work.conversation)[-1])


def test_the_latest_plan_after_an_undone_removal_is_the_same(work: Work) -> None:
    work.write("a x").end().go_on().write("n x").end().edit().edit("n x")
    latest = latest_plan_of(work.conversation)
    assert latest is not None
    assert (
        shape(latest)
        == shape(plans_of(work.conversation)[-1])
        == ["Message", "list 2", "completed", "yours 3", "yours 4"]
    )


def test_the_latest_plan_where_there_is_none(work: Work) -> None:
    assert latest_plan_of(work.look("a").end().conversation) is None


def test_the_rows_are_read_in_five_queries(work: Work, django_assert_num_queries: Any) -> None:
    for _ in range(3):
        work.look("a", "b").write("a >", "b -").end().go_on()
    with django_assert_num_queries(5):
        plans = plans_of(work.conversation)
        assert [entry.turn.status for plan in plans for entry in plan.entries]
        assert [
            call.step.number
            for plan in plans
            for each in plan.entries
            if isinstance(each, Calls)
            for call in each.calls
        ]
