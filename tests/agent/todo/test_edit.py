"""An edit by the user, on a list that may have changed since they saw it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chat.agent.todo import POLICIES, Action, Edit, EditError, Status, TodoItem, filled
from tests.agent.todo.test_merge import a_list, told

SEEN = a_list("a >", "b -", "c x")
FOCUSED = POLICIES["focused"]


def after(edit: Edit, now: tuple[TodoItem, ...] = SEEN) -> list[str]:
    return told(tuple(edit.applied(now, SEEN, FOCUSED, "en")))


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        (Edit("tick", "a"), ["a x", "b -", "c x"]),
        (Edit("untick", "c"), ["a >", "b -", "c -"]),
        (Edit("untick", "a"), ["a >", "b -", "c x"]),
        (Edit("skip", "a"), ["b -", "c x"]),
        (Edit("remove", "b"), ["a >", "c x"]),
        (Edit("up", "a"), ["a >", "b -", "c x"]),
        (Edit("down", "a"), ["b -", "a >", "c x"]),
        (Edit("move", "c", place=0), ["c x", "a >", "b -"]),
        (Edit("move", "a", place=99), ["b -", "c x", "a >"]),
        (Edit("reword", "b", " Two\n words "), ["a >", "b - Two words", "c x"]),
    ],
)
def test_each_action(edit: Edit, left: list[str]) -> None:
    assert after(edit) == left


def test_it_is_made_in_the_list_as_it_is_now() -> None:
    now = a_list("n -", "c x", "a x", "b >")
    assert after(Edit("skip", "b"), now) == ["n -", "c x", "a x"]
    assert after(Edit("up", "a"), now) == ["n -", "a x", "c x", "b >"]


def test_what_was_skipped_is_restored_in_its_place() -> None:
    assert after(Edit("restore", "b"), a_list("a >", "c x")) == ["a >", "b -", "c x"]
    assert after(Edit("restore", "a"), a_list("b >", "c x")) == ["a -", "b >", "c x"]
    assert after(Edit("restore", "c"), a_list("n -")) == ["n -", "c x"]
    assert after(Edit("restore", "b")) == ["a >", "b -", "c x"], "it is there already"
    assert after(Edit("restore", "b"), a_list("a >", "n x b")) == ["a >", "b -", "n x b"], (
        "as it was asked for"
    )


def test_of_two_with_the_same_text_the_one_that_was_meant_changes() -> None:
    seen = a_list("a - Buy", "b - Call", "c - Buy")
    for action, left in [
        ("skip", ["b - Call", "c - Buy"]),
        ("remove", ["b - Call", "c - Buy"]),
        ("tick", ["a x Buy", "b - Call", "c - Buy"]),
        ("reword", ["a - Sell", "b - Call", "c - Buy"]),
        ("down", ["b - Call", "a - Buy", "c - Buy"]),
    ]:
        assert told(tuple(Edit(action, "a", "Sell").applied(seen, seen, FOCUSED, "en"))) == left
    assert Edit("restore", "a").applied(seen[1:], seen, FOCUSED, "en") == [*seen]
    assert Edit("restore", "c").applied(seen[:2], seen[1:], FOCUSED, "en")[1] == seen[2]


@pytest.mark.parametrize("action", ["reword", "tick", "untick", "skip", "remove"])
def test_words_that_were_not_read_are_left_alone(action: Action) -> None:
    now = a_list("a >", "b - Something else", "c x")
    with pytest.raises(EditError) as refused:
        after(Edit(action, "b", "Mine"), now)
    assert refused.value.kind == "changed"
    assert refused.value.current == now[1]
    assert after(Edit("down", "b"), now)[2] == "b - Something else", "a move is of the item, whatever it says"


def test_the_same_words_twice_are_no_conflict() -> None:
    assert after(Edit("reword", "b", "Mine"), a_list("a >", "b - Mine", "c x"))[1] == "b - Mine"


@pytest.mark.parametrize("action", ["skip", "remove"])
def test_a_repeated_skip_is_none(action: Action) -> None:
    assert after(Edit(action, "b"), SEEN[:1]) == after(Edit("up", "a"), SEEN[:1])


@pytest.mark.parametrize("action", ["reword", "tick", "untick", "up", "down", "move"])
def test_an_item_that_is_gone(action: Action) -> None:
    with pytest.raises(EditError) as refused:
        after(Edit(action, "b", "Mine"), SEEN[:1])
    assert (refused.value.kind, refused.value.current) == ("gone", None)


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (Edit("add", text=" \t"), "blank"),
        (Edit("add", text="x" * 501), "long"),
        (Edit("reword", "a", ""), "blank"),
    ],
)
def test_words_that_are_none(edit: Edit, kind: str) -> None:
    with pytest.raises(EditError) as refused:
        after(edit)
    assert refused.value.kind == kind


def test_a_full_list_can_be_changed_but_not_added_to() -> None:
    policy = replace(FOCUSED, max_items=3)
    with pytest.raises(EditError) as refused:
        Edit("add", text="More").applied(SEEN, SEEN, policy, "en")
    assert refused.value.kind == "too_many"
    longer = [*SEEN, *a_list("d -")]  # as it may have come out of two lists that were made one
    assert Edit("tick", "a").applied(longer, longer, policy, "en")[0].status is Status.COMPLETED


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_what_a_person_does_not_type_is_filled_in(policy: str) -> None:
    items = [
        TodoItem("Read", Status.IN_PROGRESS, "Reading", "2", "a"),
        TodoItem("Write", id="b"),
        TodoItem("Test", id="c"),
    ]
    full = filled(items, POLICIES[policy])
    assert [item.key for item in full] == (["2", "1", "3"] if policy == "checklist" else ["", "", ""])
    forms = ["Reading", "Write", "Test"] if policy == "focused" else ["", "", ""]
    assert [item.active_form for item in full] == forms
    states = set(POLICIES[policy].states.values())
    assert all(item.status in states for item in full)
    assert [item.id for item in full] == ["a", "b", "c"]
