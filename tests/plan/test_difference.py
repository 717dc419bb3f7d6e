"""What changed between two lists."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from chat.plan.difference import Item, Kind, Line, lines_of

STATUS = {"-": "pending", ">": "in_progress", "x": "completed"}


def a_list(*items: str) -> list[Item]:
    """Items as `id status text`, the text being the id where there is none: "a x" or "a > Read the files"."""
    made = [item.split(" ", 2) for item in items]
    return [{"id": id_, "status": STATUS[mark], "content": "".join(text) or id_} for id_, mark, *text in made]


def told(lines: Sequence[Line]) -> list[str]:
    """Each line as its id and its changes."""
    return [" ".join([line.item["id"], *line.kinds, *(["gone"] * line.gone)]) for line in lines]


def after(*lists: list[Item]) -> list[str]:
    """The lines of the last of consecutive lists."""
    lines: list[Line] = []
    for items in lists:
        lines = lines_of(items, lines)
    return told(lines)


def test_a_first_list_is_all_new() -> None:
    assert after(a_list("a -", "b >")) == ["a added", "b added"]


def test_the_same_again_is_no_change() -> None:
    assert after(a_list("a -", "b >"), a_list("a -", "b >")) == ["a", "b"]


def test_status_and_text() -> None:
    assert after(a_list("a -", "b > Look"), a_list("a x", "b > Look around")) == ["a status", "b reworded"]


def test_what_was_before_is_kept() -> None:
    [line] = lines_of(a_list("a x Look around"), lines_of(a_list("a > Look")))
    assert line.before == a_list("a > Look")[0]
    assert line.kinds == (Kind.REWORDED, Kind.STATUS)


def test_a_removed_item_stays_where_it_stood() -> None:
    assert after(a_list("a -", "b -", "c -"), a_list("a -", "c -")) == ["a", "b removed", "c"]
    assert after(a_list("a -", "b -"), a_list("b -")) == ["a removed", "b"]


def test_it_stays_in_view_in_later_lists() -> None:
    lists = a_list("a -", "b -", "c -"), a_list("a -", "c -"), a_list("a x", "d -", "c -")
    assert after(*lists) == ["a status", "b gone", "d added", "c"]


def test_it_goes_along_with_the_item_ahead_of_it() -> None:
    """So that moving an item up and down again leads back."""
    skipped = a_list("a -", "b -", "c -"), a_list("a -", "c -")
    assert after(*skipped, a_list("c -", "a -")) == ["c moved", "a moved", "b gone"]
    assert after(*skipped, a_list("c -", "a -"), a_list("a -", "c -")) == ["a moved", "b gone", "c moved"]


def test_neighbours_that_are_removed_keep_their_order() -> None:
    assert after(a_list("a -", "b -", "c -", "d -"), a_list("d -")) == [
        "a removed",
        "b removed",
        "c removed",
        "d",
    ]


def test_what_the_person_skipped_is_told_so_for_good() -> None:
    lines = lines_of(a_list("a -"), lines_of(a_list("a -", "b -", "c -")), skipped=["b"])
    assert [(line.item["id"], line.skipped) for line in lines] == [("a", False), ("b", True), ("c", False)]
    [_, skipped, removed] = lines_of(a_list("a x"), lines)
    assert (skipped.gone, skipped.skipped, removed.skipped) == (True, True, False)
    again = lines_of(a_list("a x", "b -"), lines)
    assert told(again) == ["a status", "b restored", "c gone"]
    assert not again[1].skipped


def test_a_new_item_of_the_agents_takes_the_place_of_one_skipped_item_with_its_text() -> None:
    lines = lines_of(a_list("a - W", "b - W", "c -"))
    lines = lines_of(a_list("c -"), lines, skipped=["a", "b"], by_user=True)
    lines = lines_of(a_list("c -", "u - W"), lines, by_user=True)
    assert [line.item["id"] for line in lines if line.relisted] == []
    lines = lines_of(a_list("c -", "u - W", "z - W"), lines)
    assert [line.item["id"] for line in lines if line.relisted] == ["a"]
    lines = lines_of(a_list("c -", "u - W", "z x W"), lines)
    assert [line.item["id"] for line in lines if line.relisted] == ["a"]
    assert [line.item["id"] for line in lines if line.skipped] == ["a", "b"]


def test_an_emptied_list_shows_what_it_held() -> None:
    assert after(a_list("a -", "b x"), []) == ["a removed", "b removed"]


def test_only_what_must_have_been_moved_is_told_so() -> None:
    assert after(a_list("a -", "b -", "c -", "d -"), a_list("d -", "a -", "b -", "c -")) == [
        "d moved", "a", "b", "c",
    ]  # fmt: skip


def test_of_two_that_changed_places_either_may_have_been_moved() -> None:
    before = a_list("a -", "b -", "c -")
    assert after(before, a_list("b -", "a -", "c -")) == ["b moved", "a moved", "c"]
    assert after(before, a_list("c -", "b -", "a -")) == ["c moved", "b", "a moved"]
    assert after(before, a_list("b -", "c -", "a -")) == ["b", "c", "a moved"]


def test_what_others_left_and_joined_is_not_moved() -> None:
    assert after(a_list("a -", "b -", "c -"), a_list("n -", "b -", "m -", "c -")) == [
        "a removed", "n added", "b", "m added", "c",
    ]  # fmt: skip


LISTS = st.lists(
    st.lists(st.sampled_from("abcdefgh"), unique=True).flatmap(
        lambda ids: st.tuples(*(st.sampled_from([f"{id_} -", f"{id_} >", f"{id_} x New"]) for id_ in ids))
    ),
    min_size=1,
    max_size=6,
)


@given(LISTS)
def test_any_lists(lists: list[tuple[str, ...]]) -> None:
    """The last list can be reconstructed from the lines, each id once, and so can the one before."""
    lines: list[Line] = []
    before: list[Item] = []
    for each in lists:
        items = a_list(*each)
        lines = lines_of(items, lines)
        ids = [line.item["id"] for line in lines]
        assert [line.item for line in lines if not line.is_removed] == items
        assert len(ids) == len(set(ids))
        assert _undone(lines) == {item["id"]: item for item in before}
        unmoved = [
            line.item["id"]
            for line in lines
            if line.before and not {Kind.MOVED, Kind.REMOVED} & set(line.kinds)
        ]
        assert [item["id"] for item in before if item["id"] in unmoved] == unmoved
        before = items


def _undone(lines: Sequence[Line]) -> dict[str, Item]:
    """The list before, by its ids, as the lines remember it."""
    return {line.item["id"]: line.before for line in lines if line.before is not None}
