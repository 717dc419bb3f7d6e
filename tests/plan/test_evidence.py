"""What counts as evidence of an item."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from chat.models import ToolCall, Turn
from chat.plan.difference import Kind
from chat.plan.evidence import Evidence, ItemWork, evidence_of
from chat.plan.history import plans_of
from tests.plan.conftest import Work

NONE = Evidence(ItemWork(), timezone.now())


def found(work: Work, plan: int = 0) -> dict[str, Evidence]:
    """The evidence of a plan's items."""
    return dict(evidence_of(plans_of(work.conversation)[plan]))


def calls(work: Work, item: str, plan: int = 0) -> list[str]:
    """The subjects of the calls that count for the item."""
    return [call.summary_line for call in found(work, plan).get(item, NONE).calls]


def bare(work: Work) -> set[str]:
    return {item for item, evidence in found(work).items() if evidence.is_bare}


def test_what_happened_while_it_was_in_progress(work: Work) -> None:
    work.look("before").write("a >", "b -").look("one", "two").write("a x", "b >").look("three")
    work.write("a x", "b x").look("after").end()
    assert calls(work, "a") == ["one", "two"]
    assert calls(work, "b") == ["three"]
    assert bare(work) == set()


def test_a_step_belongs_to_what_it_ends(work: Work) -> None:
    work.write("a >", "b -").look("one").write("a x", "b >").write("a x", "b x").say().end()
    assert [step.number for step in found(work)["a"].steps] == [2, 3]
    assert [step.number for step in found(work)["b"].steps] == [4]
    assert found(work)["a"].totals.input_tokens == 200


def test_calls_beside_a_list_belong_to_what_stands_then(work: Work) -> None:
    work.write("a >", "b -")
    work.call("read_file", "succeeded", arguments='{"path": "first"}')
    call = work.beside("TodoWrite", "succeeded")
    work.revise(call, "a x", "b >")
    work.beside("read_file", "succeeded", arguments='{"path": "then"}')
    assert (calls(work, "a"), calls(work, "b")) == (["first"], ["then"])
    assert [step.number for step in found(work)["a"].steps] == [2]
    assert found(work)["b"].steps == []


def test_ticked_with_nothing_done(work: Work) -> None:
    work.write("a >", "b -").write("a x", "b >").look("one").write("a x", "b x").end()
    assert bare(work) == {"a"}
    assert found(work)["a"].totals.input_tokens == 100, "thinking takes tokens too"


@pytest.mark.parametrize("status", ["failed", "unknown", "running"])
def test_a_call_that_ran_is_action_whatever_came_of_it(work: Work, status: str) -> None:
    work.write("a >").call("bash", status)
    work.write("a x")
    assert bare(work) == set()


@pytest.mark.parametrize("status", ["denied", "stopped", "pending"])
def test_a_call_that_never_ran_is_shown_and_is_no_action(work: Work, status: str) -> None:
    work.write("a >").call("bash", status, arguments='{"command": "make"}')
    work.write("a x")
    assert calls(work, "a") == ["make"]
    assert bare(work) == {"a"}


def test_a_call_that_was_stopped_as_it_ran_is_action(work: Work) -> None:
    work.write("a >").call("bash", "stopped", started_at=timezone.now())
    work.write("a x")
    assert bare(work) == set()


def test_a_list_is_no_evidence_refused_or_not(work: Work) -> None:
    work.write("a >").refused().write("a > Reworded").refused().write("a x").end()
    assert calls(work, "a") == []
    assert bare(work) == {"a"}
    assert len(found(work)["a"].steps) == 4


def test_a_refused_list_ends_nothing(work: Work) -> None:
    work.write("a >", "b -").look("one").refused().look("two").write("a x", "b >").end()
    assert calls(work, "a") == ["one", "two"]


def test_in_several_turns(work: Work) -> None:
    work.write("a >", "b -").look("one").say().end().go_on().look("two").write("a x", "b >").look("three")
    work.end().go_on().write("a x", "b x").end()
    assert calls(work, "a") == ["one", "two"]
    assert calls(work, "b") == ["three"]
    spans = found(work)["a"].spans
    assert [span.write is not None for span in spans] == [True, False]
    assert [step.number for step in found(work)["a"].steps] == [2, 3, 1, 2]


@pytest.mark.parametrize("status", [Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED])
def test_a_turn_that_was_cut_off_and_gone_on_with(work: Work, status: Turn.Status) -> None:
    work.write("a >").look("one").end(status).go_on().look("two").write("a x").end()
    assert calls(work, "a") == ["one", "two"]


def test_turns_after_the_last_list_are_not_for_the_plan(work: Work) -> None:
    work.write("a >").look("one").end().go_on().look("something else").end()
    assert calls(work, "a") == ["one"]


def test_a_change_by_the_person_does_not_charge_an_item_with_earlier_work(work: Work) -> None:
    work.write("a >", "b -").look("one").end().go_on().look("something else").end()
    before = found(work)["a"]
    assert calls(work, "a") == ["one"]
    for listed in (("a >", "b -", "c -"), ("a >", "c -", "b -"), ("a >", "b x"), ("a x", "b x")):
        work.edit(*listed)
        after = found(work)["a"]
        assert (after.calls, after.steps, after.seconds) == (before.calls, before.steps, before.seconds)


def test_a_turn_that_continue_began_counts_without_a_list(work: Work) -> None:
    work.write("a >").look("one").end().go_on().look("something else").end().resume().look("two").end()
    assert calls(work, "a") == ["one", "two"]
    work.edit("a x")
    assert calls(work, "a") == ["one", "two"]


def test_a_turn_in_which_the_person_changed_the_list_counts(work: Work) -> None:
    work.write("a >").look("one").end().go_on().look("something else").end()
    work.go_on().look("two").edit("a >", "b -").look("three").end()
    assert calls(work, "a") == ["one", "two", "three"]


def test_taken_up_again(work: Work) -> None:
    work.write("a >", "b -").look("one").write("a -", "b >").look("two").write("a >", "b x").look("three")
    work.write("a x", "b x").end()
    assert calls(work, "a") == ["one", "three"]
    assert calls(work, "b") == ["two"]


def test_an_item_that_is_removed_keeps_its_evidence(work: Work) -> None:
    work.write("a >", "b -").look("one").write("b >").look("two").write("b x").end()
    assert calls(work, "a") == ["one"]
    assert calls(work, "b") == ["two"]
    assert bare(work) == set(), "it was never ticked"


def test_lean_between_the_ticks(work: Work) -> None:
    work.policy = "lean"
    work.look("before").write("a -", "b -").look("one").write("a x", "b -").look("two", "three")
    assert calls(work, "b") == [], "nobody can say yet"
    work.write("a x", "b x").look("after").end()
    assert calls(work, "a") == ["one"]
    assert calls(work, "b") == ["two", "three"]
    assert found(work)["b"].shared_with == 0


def test_lean_over_several_turns(work: Work) -> None:
    work.policy = "lean"
    work.write("a -", "b -").look("one").end().go_on().look("two").write("a x", "b -").end().go_on()
    work.look("three").write("a x", "b x").end()
    assert calls(work, "a") == ["one", "two"]
    assert calls(work, "b") == ["three"]


def test_several_ticks_at_once_share(work: Work) -> None:
    work.policy = "lean"
    work.write("a -", "b -", "c -").look("one").write("a x", "b x", "c -").look("two")
    work.write("a x", "b x", "c x").end()
    assert [found(work)[item].shared_with for item in "abc"] == [1, 1, 0]
    assert calls(work, "a") == calls(work, "b") == ["one"]
    assert found(work)["a"].totals.input_tokens == 200


def test_lean_ticks_with_nothing_between(work: Work) -> None:
    work.policy = "lean"
    work.write("a -", "b -").look("one").write("a x", "b -").write("a x", "b x").end()
    assert bare(work) == {"b"}


def test_a_list_in_between_that_ticks_nothing(work: Work) -> None:
    work.policy = "lean"
    work.write("a -").look("one").write("a -", "b -").look("two").write("a x", "b -").end()
    assert calls(work, "a") == ["one", "two"]


def test_done_already_as_the_first_list_was_written(work: Work) -> None:
    work.look("one").write("a x", "b >").look("two").write("a x", "b x").end()
    assert calls(work, "a") == ["one"]
    work.go_on().write("c x").end()
    assert [item for item, each in found(work, 1).items() if each.is_bare] == ["c"]


def test_ticked_without_having_been_in_progress(work: Work) -> None:
    work.write("a >", "b -", "c -").look("one").write("a x", "b x", "c >").look("two")
    work.write("a x", "b x", "c x").end()
    assert calls(work, "b") == ["one"]
    assert [found(work)[item].shared_with for item in "abc"] == [0, 1, 0], "it was done for a"
    assert calls(work, "c") == ["two"]


def test_two_plans_in_one_turn(work: Work) -> None:
    work.write("a >").look("one").write("n >").look("two").say().end()
    assert calls(work, "a", 0) == ["one"]
    assert [step.number for step in found(work, 0)["a"].steps] == [2, 3]
    assert calls(work, "n", 1) == ["two"]
    assert [step.number for step in found(work, 1)["n"].steps] == [4, 5]


def test_a_second_plan_that_begins_with_something_done(work: Work) -> None:
    work.write("a >").look("one").write("n x", "m >").look("two").end()
    assert calls(work, "n", 1) == [], "what was before belongs to the first plan"


def test_what_the_person_ticks_needs_no_evidence(work: Work) -> None:
    work.write("a >", "b -").edit("a x", "b -").look("one").write("a x", "b x").end()
    evidence = found(work)["a"]
    assert (evidence.by_person, evidence.is_bare, evidence.calls) == (True, False, [])
    assert [each.by_person for item, each in found(work).items() if item == "b"] == [False]


def test_the_persons_tick_ends_what_the_agent_did_for_it(work: Work) -> None:
    work.write("a >", "b -").look("one").edit("a x", "b -").look("two").write("a x", "b >").end()
    assert calls(work, "a") == ["one"]
    assert found(work)["a"].spans[0].ended == work.conversation.revisions.order_by("pk")[1].created_at


def test_the_persons_tick_is_no_end_of_what_the_agent_ticks(work: Work) -> None:
    work.policy = "lean"
    work.write("a -", "b -").look("one").edit("a x", "b -").write("a x", "b x").end()
    assert calls(work, "b") == ["one"]
    assert calls(work, "a") == []


def test_what_the_person_ticks_between_turns(work: Work) -> None:
    work.write("a >", "b -").look("one").end().edit("a x", "b >").go_on().look("two").write("a x", "b x")
    work.end()
    assert (calls(work, "a"), calls(work, "b")) == (["one"], ["two"])
    assert found(work)["a"].by_person
    assert not found(work)["b"].by_person


def test_a_plan_that_the_person_begins(work: Work) -> None:
    work.policy = "lean"
    work.look("before").end().edit("a -", "b -").go_on().look("one").write("a x", "b -").end()
    assert calls(work, "a") == ["one"]
    assert bare(work) == set()


def test_a_plan_that_the_person_begins_while_the_agent_works(work: Work) -> None:
    work.look("before").edit("a >", "b -").look("one").write("a x", "b -").look("two").write("a x", "b x")
    assert (calls(work, "a"), calls(work, "b")) == (["one"], ["two"])


def test_ticked_again_after_the_person_said_it_was_not_done(work: Work) -> None:
    work.write("a >").look("one").write("a x").edit("a -").look("two").write("a x").end()
    assert calls(work, "a") == ["one", "two"]
    assert not found(work)["a"].by_person


def test_what_the_person_ticked_and_the_agent_opened_again(work: Work) -> None:
    work.write("a >").look("one").edit("a x").write("a >").end()
    assert not found(work)["a"].by_person
    assert calls(work, "a") == ["one"]


def test_an_item_whose_removal_was_undone_is_what_it_was(work: Work) -> None:
    work.write("a >", "b -").look("one").write("a x", "b -").edit("a x", "b x").end()
    work.edit("b x").edit("a x", "b x").edit("a x").edit("a x", "b x")
    assert [found(work)[item].by_person for item in "ab"] == [False, True]
    assert calls(work, "a") == ["one"]
    work.edit("b x").edit("a x", "b x").edit("a -", "b x").edit("a x", "b x")
    assert found(work)["a"].by_person, "checked off anew"


def test_the_only_item_whose_removal_was_undone_is_what_it_was(work: Work) -> None:
    work.write("a >").look("one").write("a x").end().edit().edit("a x")
    [plan] = plans_of(work.conversation)
    assert plan.latest.lines[0].kinds == (Kind.RESTORED,)
    assert not found(work)["a"].by_person
    assert calls(work, "a") == ["one"]


def test_as_it_stood_at_a_revision(work: Work) -> None:
    work.write("a >", "b -").look("one").write("a x", "b >").look("two").write("a x", "b x").end()
    [plan] = plans_of(work.conversation)
    first, second, _third = plan.revisions
    assert [call.summary_line for call in evidence_of(plan, first)["a"].calls] == ["one"]
    assert "b" not in evidence_of(plan, first)
    assert not evidence_of(plan, first)["a"].work.completed
    assert [call.summary_line for call in evidence_of(plan, second)["b"].calls] == ["two"]


def test_files_are_those_that_a_call_changed(work: Work) -> None:
    work.write("a >")
    work.call("write_file", "succeeded", arguments='{"path": "/workspace/b.py", "content": "x"}')
    work.call("edit_file", "succeeded", arguments='{"path": "./a.py"}')
    work.call("edit_file", "succeeded", arguments='{"path": "b.py"}')
    work.call("edit_file", "failed", arguments='{"path": "c.py"}')
    work.call("edit_file", "unknown", arguments='{"path": "c.py"}')
    work.call("bash", "succeeded", detail={"changed": ["d.py", "a.py"], "changed_more": 3})
    work.call("bash", "failed", detail={"changed": ["e.py"]})
    assert found(work)["a"].files == ["b.py", "a.py", "d.py", "e.py"]
    assert found(work)["a"].files_written == ["b.py", "a.py"]
    assert (found(work)["a"].more_files, found(work)["a"].files_counted) == (1, 5)
    assert found(work)["a"].files_are_more


def test_unnamed_files_of_several_commands_are_not_added_up(work: Work) -> None:
    work.write("a >")
    for _command in range(3):
        work.call("bash", "succeeded", detail={"changed": ["a.py", "b.py"], "changed_more": 50})
    assert (found(work)["a"].more_files, found(work)["a"].files_counted) == (50, 52)


@pytest.mark.parametrize(
    "detail",
    [
        {},
        {"changed": "a.py"},
        {"changed": {"a": 1}},
        {"changed": [1, None, "", "/etc/passwd", "../a", "a/../../b", "a" * 1001]},
    ],
)
def test_what_no_command_left_names_no_files(work: Work, detail: dict[str, Any]) -> None:
    work.write("a >")
    work.call("bash", "succeeded", detail=detail | {"changed_more": 5})
    work.call("bash", "succeeded", detail={"changed_more": "many"})
    work.call("read_file", "succeeded", detail={"changed": ["a.py"]})
    assert (found(work)["a"].files, found(work)["a"].files_counted) == ([], 0)
    assert not found(work)["a"].files_are_more


def test_its_place_in_the_transcript(work: Work) -> None:
    work.look("one").write("a x", "b >").write("a x", "b x", "c -").end()
    first, begun = list(work.turn.tool_calls.order_by("pk"))[:2]
    assert found(work)["a"].place == first.dom_id
    assert found(work)["b"].place == begun.dom_id
    assert found(work).get("c", NONE).place == ""


def test_the_place_of_an_item_that_was_reset_is_where_it_started_anew(work: Work) -> None:
    work.write("a >", "b -").look("one").write("a x", "b x").end()
    work.go_on().write("a -", "b -").write("a >", "b -").look("two").end()
    again = list(work.turn.tool_calls.filter(name="TodoWrite").order_by("pk"))[1]
    assert found(work)["a"].place == again.dom_id
    work.go_on().look("three")
    assert found(work)["a"].place == again.dom_id, "a turn that goes on with it is no new start"


class Clock:
    """Gives the rows of a turn their times, in seconds since its beginning."""

    def __init__(self, work: Work) -> None:
        self.start = timezone.now()
        self.work = work

    def at(self, seconds: float) -> datetime.datetime:
        return self.start + datetime.timedelta(seconds=seconds)

    def turn(self, started: float, ended: float | None) -> None:
        ends = None if ended is None else self.at(ended)
        Turn.objects.filter(pk=self.work.turn.pk).update(started_at=self.at(started), ended_at=ends)

    def lists(self, *seconds: float) -> None:
        rows = self.work.conversation.revisions.order_by("pk")
        for row, second in zip(rows, seconds, strict=True):
            rows.filter(pk=row.pk).update(created_at=self.at(second))


@pytest.fixture
def clock(work: Work) -> Clock:
    return Clock(work)


def test_time_is_that_of_turns_at_work(work: Work, clock: Clock) -> None:
    work.write("a >", "b -").look("one").end()
    clock.turn(0, 30)
    work.go_on().look("two").write("a x", "b >").end()
    clock.turn(1000, 1020)
    clock.lists(10, 1005)
    assert found(work)["a"].seconds == pytest.approx(20 + 5)
    assert found(work)["b"].seconds == pytest.approx(15)


@pytest.mark.parametrize("more", [{"decided_at": 70}, {"ended_at": 70, "status": "stopped"}])
def test_waiting_for_an_answer_is_told_apart(work: Work, clock: Clock, more: dict[str, Any]) -> None:
    times = {name: clock.at(value) if name.endswith("_at") else value for name, value in more.items()}
    decision = {"decision": "once"} if "decided_at" in more else {}
    work.write("a >").call("bash", "succeeded", asked_at=clock.at(20))
    ToolCall.objects.filter(name="bash").update(**times, **decision)
    work.end()
    clock.turn(0, 100)
    clock.lists(10)
    assert found(work)["a"].waited == pytest.approx(50)
    assert found(work)["a"].seconds == pytest.approx(40)


def test_work_that_goes_on(work: Work, clock: Clock) -> None:
    work.write("a >").call("bash", "waiting", asked_at=clock.at(20))
    clock.turn(0, None)
    clock.lists(10)
    [plan] = plans_of(work.conversation)
    evidence = evidence_of(plan, now=clock.at(60))["a"]
    assert (evidence.seconds, evidence.waited) == (pytest.approx(10), pytest.approx(40))


def test_a_clock_that_was_set_back(work: Work, clock: Clock) -> None:
    work.write("a >").write("a x").end()
    clock.turn(50, 20)
    clock.lists(40, 30)
    assert found(work)["a"].seconds == 0
