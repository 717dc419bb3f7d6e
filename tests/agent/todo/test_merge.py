"""Merging a list that the model wrote without knowing the user's changes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chat.agent.todo import POLICIES, Status, TodoItem, merged
from chat.agent.todo.edit import with_edits_kept

STATES = {"-": Status.PENDING, ">": Status.IN_PROGRESS, "x": Status.COMPLETED}


def a_list(*items: str) -> tuple[TodoItem, ...]:
    """Items as `id status text`, the text being the id where there is none."""
    parts = [item.split(" ", 2) for item in items]
    return tuple(TodoItem(" ".join(text) or id_, STATES[mark], id=id_) for id_, mark, *text in parts)


def told(items: tuple[TodoItem, ...]) -> list[str]:
    marks = {status: mark for mark, status in STATES.items()}
    return [
        " ".join([item.id, marks[item.status], *([item.content] if item.content != item.id else [])])
        for item in items
    ]


KNOWN = a_list("a >", "b -", "c -")


def test_what_only_the_model_changed_is_as_it_wrote_it() -> None:
    written = a_list("a x", "b > Begin", "d -")
    assert merged(written, KNOWN, KNOWN) == written


def test_a_state_that_the_policy_of_the_written_list_does_not_have_is_the_users_to_keep() -> None:
    lean = POLICIES["lean"]
    written = tuple(replace(item, policy=lean) for item in a_list("a x", "b -"))
    persons, known = a_list("a >", "b -"), a_list("a x", "b -")
    assert told(merged(written, persons, known)) == ["a >", "b -"]


def test_a_skipped_item_does_not_come_back() -> None:
    assert told(merged(a_list("a x", "b >", "c -"), a_list("a >", "c -"), KNOWN)) == ["a x", "c -"]


def test_a_tick_stays_and_so_does_an_item_that_was_opened_again() -> None:
    assert told(merged(a_list("a >", "b -", "c -"), a_list("a >", "b x", "c -"), KNOWN))[1] == "b x"
    known = a_list("a x", "b >")
    assert told(merged(a_list("a x", "b x"), a_list("a -", "b >"), known)) == ["a -", "b x"]


def test_the_persons_words_stay_with_the_models_state() -> None:
    persons = a_list("a > Look closely", "b -", "c -")
    assert told(merged(a_list("a x Look", "b >", "c -"), persons, KNOWN)) == [
        "a x Look closely",
        "b >",
        "c -",
    ]


def test_what_the_person_added_stays_where_they_put_it() -> None:
    persons = a_list("n - First", "a >", "m - Between", "b -", "c -")
    assert told(merged(a_list("a x", "b >", "d -", "c -"), persons, KNOWN)) == [
        "n - First", "a x", "m - Between", "b >", "d -", "c -",
    ]  # fmt: skip


def test_what_both_added_is_one() -> None:
    persons = a_list("a >", "b -", "c -", "p x Run the tests")
    written = a_list("a x", "b >", "c -", "z - Run the tests")
    assert told(merged(written, persons, KNOWN)) == ["a x", "b >", "c -", "p x Run the tests"]


def test_what_both_added_twice_is_two() -> None:
    persons = a_list("a >", "p x Buy", "q - Buy")
    written = a_list("a x", "y - Buy", "z - Buy")
    assert told(merged(written, persons, KNOWN[:1])) == ["a x", "p x Buy", "q - Buy"]
    assert told(merged(written[:2], persons, KNOWN[:1])) == ["a x", "p x Buy", "q - Buy"]


def test_the_persons_order_holds_for_what_both_have() -> None:
    written = a_list("a x", "b >", "n -", "c -")
    assert told(merged(written, a_list("c -", "a >", "b -"), KNOWN)) == ["c -", "a x", "n -", "b >"]


def test_the_models_order_holds_where_the_person_moved_nothing() -> None:
    assert told(merged(a_list("c -", "a x"), a_list("a >", "b -", "c -"), KNOWN)) == ["c -", "a x"]


def test_what_the_model_left_out_stays_if_the_person_changed_it() -> None:
    persons = a_list("a > Look closely", "b -", "c x")
    assert told(merged(a_list("b >"), persons, KNOWN)) == ["a - Look closely", "b >", "c x"]


ITEMS = st.lists(st.sampled_from("abcdef"), unique=True).flatmap(
    lambda ids: st.tuples(*(st.sampled_from([f"{id_} -", f"{id_} x", f"{id_} - New"]) for id_ in ids))
)


@given(ITEMS, ITEMS, ITEMS)
def test_any_three_lists(written: tuple[str, ...], persons: tuple[str, ...], known: tuple[str, ...]) -> None:
    """No edit of the user is lost, and no item is duplicated."""
    listed = {item[0] for item in known}
    written = tuple(item if item[0] in listed else item.replace(item[0], item[0] * 2, 1) for item in written)
    before, after = {item.id: item for item in a_list(*known)}, {item.id: item for item in a_list(*persons)}
    items = merged(a_list(*written), a_list(*persons), a_list(*known))
    by_id = {item.id: item for item in items}
    assert len(by_id) == len(items)
    assert not {id_ for id_ in before if id_ not in after} & set(by_id)
    for id_, item in after.items():
        if id_ not in before:
            assert id_ in by_id or item.content in {other.content for other in items}
        elif item.content != before[id_].content:
            assert by_id[id_].content == item.content
        elif item.status != before[id_].status:
            assert by_id[id_].status == item.status
    assert merged(a_list(*written), a_list(*known), a_list(*known)) == a_list(*written)


EDITED = a_list("a >", "b - Better", "d x")  # c is skipped, d is ticked
WRITTEN = a_list("a >", "b - B", "c -", "d -")


def test_what_the_model_repeats_does_not_undo_what_the_user_changed() -> None:
    new = a_list("a x", "b > B", "c -", "d -", "e -")
    assert told(with_edits_kept(new, EDITED, WRITTEN)) == ["a x", "b > Better", "d x", "e -"]


def test_a_model_that_repeats_its_order_leaves_the_users() -> None:
    moved = a_list("c -", "a >", "b -")
    assert told(with_edits_kept(a_list("a x", "b >", "n -", "c -"), moved, KNOWN)) == [
        "c -",
        "a x",
        "n -",
        "b >",
    ]
    another = a_list("b >", "a x", "c -")
    assert with_edits_kept(another, moved, KNOWN) == another


def test_what_the_model_writes_in_other_words_or_begins_is_as_it_wrote_it() -> None:
    new = a_list("a x", "b > Best", "c - See", "d >")
    assert with_edits_kept(new, EDITED, WRITTEN) == new
    assert with_edits_kept(new, EDITED, a_list("a -", "b - Better")) == new
