"""What a conversation's plans come to, and that it is counted again whenever something was missed."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from chat.models import Conversation, PlanCount, PlanFigures, Step, Turn
from chat.models.plan_stats import COUNTS
from chat.plan import plan_stats
from chat.plan.plan_stats import Share, count, count_behind
from tests.plan.conftest import Work


def counted(work: Work) -> PlanFigures:
    """The one row of the conversation's figures, counted if need be."""
    count(work.conversation.pk)
    return PlanFigures.objects.get(conversation=work.conversation)


def behind() -> int:
    return PlanCount.outdated(Conversation.objects.all()).count()


def told(row: PlanFigures, *names: str) -> tuple[int, ...]:
    return tuple(getattr(row, name) for name in names)


def test_imported_turns_do_not_count(work: Work) -> None:
    work.write("a >").look("one").write("a x").end()
    Conversation.objects.filter(pk=work.conversation.pk).update(imported_at=timezone.now())
    count(work.conversation.pk)
    assert not PlanFigures.objects.exists()
    assert not behind()


def test_a_list_that_is_finished(work: Work) -> None:
    work.write("a >", "b -").look("one").write("a x", "b >").look("two").write("a x", "b x").end()
    row = counted(work)
    assert told(row, "lists", "finished", "given_up", "items", "completed") == (1, 1, 0, 2, 2)
    assert told(row, "turns", "steps", "writes", "refused", "planning_steps") == (1, 5, 3, 0, 3)
    assert (row.owner, row.policy, row.profile) == (work.conversation.owner, "focused", "Focused")
    assert row.day == timezone.localdate()


def test_lists_that_are_not(work: Work) -> None:
    work.write("a x", "b >").write("n x").write("n x", "m >").write().write("o x", "p x").write().end()
    row = counted(work)
    assert told(row, "lists", "finished", "given_up", "items", "completed") == (3, 1, 1, 6, 4)


def test_a_list_of_nothing_is_none(work: Work) -> None:
    work.write().end()
    assert told(counted(work), "lists", "writes") == (0, 1)


def test_a_turn_that_goes_on_is_not_counted_yet(work: Work) -> None:
    work.write("a x", "b >").end().go_on().write("a x", "b x").look("one")
    assert told(counted(work), "lists", "finished", "turns", "writes") == (1, 0, 1, 1)
    work.end()
    assert told(counted(work), "lists", "finished", "turns", "writes") == (1, 1, 2, 2)


def test_what_the_person_did_is_counted_apart(work: Work) -> None:
    work.write("a x", "b >", "c -").end().edit("a x", "b x", skipped="c")
    row = counted(work)
    assert told(row, "finished", "finished_together", "ticked", "skipped", "timed") == (1, 1, 1, 1, 1)
    work.go_on().write("n x").end()
    row = counted(work)
    assert told(row, "lists", "finished", "finished_together", "ticked", "skipped") == (2, 2, 1, 1, 1)


def test_an_undone_removal_is_not_counted(work: Work) -> None:
    work.write("a x").end().edit().edit("a x")
    assert told(counted(work), "lists", "completed", "ticked", "timed") == (1, 1, 0, 1)


def test_reminders_and_the_lists_that_follow(work: Work) -> None:
    work.write("a >").look("1", "2", "3", "4").write("a >").look("5", "6").refused().end()
    for number, is_given in ((3, True), (5, True), (6, True), (7, True), (8, True)):
        Step.objects.filter(turn=work.turn, number=number).update(reminder="Update" * is_given)
    # Lists are in steps 1, 6 and 9.
    assert told(counted(work), "reminders", "followed") == (5, 3)


def test_refused_lists_are_told_by_reason(work: Work) -> None:
    work.refused().refused().write("a x").refused().end()
    row = counted(work)
    assert told(row, "writes", "refused") == (4, 3)
    assert row.reasons == {"required.content": 3}


def test_tokens_are_shared_by_bytes(work: Work) -> None:
    work.call("TodoWrite", "succeeded", arguments="a" * 51)  # and nine of the name
    work.beside("read_file", "succeeded", arguments="é" * 3)  # six bytes, and nine
    assert work.step
    work.turn.messages.create(step=work.step, role="assistant", text="t" * 20, reasoning="r" * 5)
    usage = {"input_tokens": 4000, "output_tokens": 1100, "reasoning_tokens": 100, "cached_tokens": 900}
    Step.objects.update(**usage)
    work.end()
    row = counted(work)
    assert row.written_tokens == round(1000 * 60 / 95)
    assert told(row, "planning_steps", "planning_input_tokens", "planning_cached_tokens") == (0, 0, 0)
    Step.objects.update(reasoning_tokens=0)
    PlanCount.objects.all().delete()
    assert counted(work).written_tokens == round(1100 * 60 / 100), "reasoning that is not counted apart"


def test_a_call_that_only_planned_took_its_whole_input(work: Work) -> None:
    work.write("a >").write("a x").end()
    Step.objects.update(input_tokens=500, cached_tokens=300, output_tokens=70, estimated=True)
    row = counted(work)
    assert told(row, "planning_steps", "planning_input_tokens", "planning_cached_tokens") == (2, 1000, 600)
    assert told(row, "written_tokens", "offering_tokens", "input_tokens") == (140, 0, 1000)
    assert told(row, "estimated_writes", "estimated_steps") == (2, 2)


def test_offering_planning_is_estimated_where_tools_were_used(work: Work) -> None:
    work.look("one", "two").say().end().go_on().say().end()
    row = counted(work)
    assert told(row, "steps", "turns") == (4, 2)
    assert row.offering_tokens % 3 == 0, "for the three calls of the turn that used tools"
    assert 500 < row.offering_tokens / 3 < 3000


def test_items_are_timed(work: Work) -> None:
    work.write("a >", "b -", "c -").write("a x", "b -", "c -").write("a x", "b x", "c x").end()
    began = timezone.now() - datetime.timedelta(hours=1)
    Turn.objects.update(started_at=began, ended_at=began + datetime.timedelta(seconds=100))
    for seconds, revision in zip((10, 25, 85), work.conversation.revisions.order_by("pk"), strict=True):
        revision.created_at = began + datetime.timedelta(seconds=seconds)
        revision.save(update_fields=["created_at"])
    row = counted(work)
    # Two that are ticked together share their minute.
    assert (row.timed, sorted(row.seconds)) == (3, [15, 30, 30])


def test_each_day_profile_and_policy_has_a_row(work: Work) -> None:
    work.write("a x").end().go_on().write("a x", "b x").end().go_on().write("n x").end()
    _first, second, third = work.conversation.turns.order_by("pk")
    second.profile_snapshot |= {"title": "Lean", "todo_policy": "lean"}
    second.save()
    Turn.objects.filter(pk=third.pk).update(started_at=timezone.now() - datetime.timedelta(days=2))
    count(work.conversation.pk)
    rows = PlanFigures.objects.order_by("day", "policy")
    assert [(row.policy, row.turns, row.lists, row.writes) for row in rows] == [
        ("focused", 1, 1, 1),
        ("focused", 1, 1, 1),
        ("lean", 1, 0, 1),
    ], "a list counts where it was begun"


def test_a_day_is_one_of_the_sites_time_zone(work: Work, settings: Any) -> None:
    work.write("a x").end()
    Turn.objects.update(started_at=datetime.datetime(2026, 5, 4, 12, tzinfo=datetime.UTC))
    settings.TIME_ZONE = "Pacific/Kiritimati"  # 14 hours ahead
    assert counted(work).day == datetime.date(2026, 5, 5)


def test_what_was_counted_is_not_counted_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    assert behind() == 0, "nothing has ended"
    work.write("a x").end()
    assert behind() == 1
    assert count_behind(Conversation.objects.all(), 5) == 0
    assert behind() == 0
    work.edit("a x", "b x")
    assert behind() == 1
    count(work.conversation.pk)
    assert behind() == 0
    monkeypatch.setattr("chat.models.plan_stats.VERSION", 99)
    assert behind() == 1, "it was counted in another way"


def test_counting_again_changes_nothing(work: Work) -> None:
    work.write("a >").look("one").refused().write("a x").end().edit("a x", "b x")
    first = counted(work)
    PlanCount.objects.all().delete()
    again = counted(work)
    assert [getattr(again, name) for name in COUNTS] == [getattr(first, name) for name in COUNTS]
    assert (again.seconds, again.reasons, again.day) == (first.seconds, first.reasons, first.day)


def test_only_so_many_are_counted_at_once(work: Work) -> None:
    work.write("a x").end()
    other = Work(work.conversation.owner)
    other.write("b x").end()
    assert count_behind(Conversation.objects.all(), 1) == 1
    assert PlanFigures.objects.get().conversation == other.conversation, "what moved last comes first"
    assert count_behind(Conversation.objects.all(), 1) == 0
    assert PlanFigures.objects.count() == 2


def test_a_deleted_conversation_counts_no_more(work: Work) -> None:
    work.write("a x").end()
    count(work.conversation.pk)
    key = work.conversation.pk
    work.conversation.delete()
    assert not PlanFigures.objects.exists()
    count(key)
    assert not PlanFigures.objects.exists()


def test_counting_takes_as_many_queries_for_many_lists(work: Work) -> None:
    def queries() -> int:
        PlanCount.objects.all().delete()
        with CaptureQueriesContext(connection) as asked:
            count(work.conversation.pk)
        return len(asked)

    work.write("a >").look("one").write("a x").refused().end()
    few = queries()
    for number in range(4):
        work.go_on().write(f"n{number} >", "m -").look("one", "two").write(f"n{number} x", "m x").end()
    assert queries() == few


def test_an_older_count_does_not_replace_a_newer_one(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two concurrent counts: the one that read before a turn ended writes last."""
    work.write("a >").end()
    read = plan_stats.figures_of

    def overtaken(conversation: Conversation) -> list[PlanFigures]:
        rows = read(conversation)
        monkeypatch.undo()
        work.go_on().write("a x").end()
        count(conversation.pk)
        return rows

    monkeypatch.setattr(plan_stats, "figures_of", overtaken)
    count(work.conversation.pk)
    assert (PlanFigures.objects.get().finished, behind()) == (1, 0)


# From Newcombe, Statistics in Medicine 17 (1998), table I: the score method without continuity correction.
@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(81, 263, 25.53, 36.62), (15, 148, 6.24, 16.05), (0, 20, 0.0, 16.11), (1, 29, 0.61, 17.18)],
)
def test_intervals_are_as_published(part: int, whole: int, low: float, high: float) -> None:
    share = Share(part, whole)
    assert (share.low, share.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_any_share_lies_in_its_interval(one: int, other: int) -> None:
    share = Share(one, one + other)
    assert -1e-9 <= share.low <= share.percent + 1e-9
    assert share.percent <= share.high + 1e-9 <= 100 + 1e-6


def test_four_are_too_few() -> None:
    assert not Share(4, 4).is_enough
    assert Share(0, 5).is_enough
    assert (Share(0, 0).percent, Share(0, 0).low, Share(0, 0).high) == (0.0, 0.0, 100.0)
