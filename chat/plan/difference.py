"""What one list has and another has not: told item by item, by the ids that stay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Item = Mapping[str, Any]


class Kind(StrEnum):
    """What became of an item."""

    ADDED = "added"
    REMOVED = "removed"
    REWORDED = "reworded"
    MOVED = "moved"
    STATUS = "status"


@dataclass(frozen=True)
class Line:
    """An item as a list shows it, and what became of it since the list before.

    `before` is the item as it was there; None for one that was not in it. One that is `gone` is in neither
    of the two, but was in an earlier list of the same plan. `skipped` says that the person left it out.
    """

    item: Item
    kinds: tuple[Kind, ...] = ()
    before: Item | None = None
    gone: bool = False
    skipped: bool = False

    @property
    def is_removed(self) -> bool:
        """Whether the list has it no more."""
        return self.gone or Kind.REMOVED in self.kinds


def lines_of(items: Sequence[Item], before: Sequence[Line] = (), skipped: Collection[str] = ()) -> list[Line]:
    """The list `items` as it follows the one that `before` shows; what is removed stays where it stood.

    `skipped` are the ids of those that the person has removed.
    """
    known = {line.item["id"]: line.item for line in before if not line.is_removed}
    moved = _moved([item["id"] for item in items], list(known))
    lines = [_line(item, known.get(item["id"]), item["id"] in moved) for item in items]
    listed = {item["id"] for item in items}
    removed = [_removed(line, skipped) for line in before if line.item["id"] not in listed]
    return _with_removed(lines, removed, before)


def _line(item: Item, before: Item | None, moved: bool) -> Line:
    if before is None:
        return Line(item, (Kind.ADDED,))
    kinds = {
        Kind.REWORDED: item["content"] != before["content"],
        Kind.STATUS: item["status"] != before["status"],
        Kind.MOVED: moved,
    }
    return Line(item, tuple(kind for kind, is_so in kinds.items() if is_so), before)


def _with_removed(lines: list[Line], removed: list[Line], before: Sequence[Line]) -> list[Line]:
    """The lines, each removed one behind the line that stood ahead of it."""
    order = [line.item["id"] for line in before]
    for line in removed:
        ahead = set(order[: order.index(line.item["id"])])
        places = [place for place, other in enumerate(lines, 1) if other.item["id"] in ahead]
        lines.insert(max(places, default=0), line)
    return lines


def _removed(line: Line, skipped: Collection[str]) -> Line:
    if line.is_removed:
        return Line(line.item, gone=True, skipped=line.skipped)
    return Line(line.item, (Kind.REMOVED,), before=line.item, skipped=line.item["id"] in skipped)


def _moved(after: Sequence[str], before: Sequence[str]) -> set[str]:
    """The fewest ids that must have been moved for the rest to stand in the same order in both."""
    places = {id_: place for place, id_ in enumerate(before)}
    common = [id_ for id_ in after if id_ in places]
    return set(common) - set(_longest_in_order(common, places))


def _longest_in_order(ids: Sequence[str], places: Mapping[str, int]) -> list[str]:
    """The longest of the runs of ids whose places only grow (patience sorting)."""
    tops: list[int] = []
    piles: list[str] = []
    ahead: dict[str, str | None] = {}
    for id_ in ids:
        pile = bisect_left(tops, places[id_])
        tops[pile : pile + 1] = [places[id_]]
        piles[pile : pile + 1] = [id_]
        ahead[id_] = piles[pile - 1] if pile else None
    run: list[str] = []
    current = piles[-1] if piles else None
    while current is not None:
        run.append(current)
        current = ahead[current]
    return run[::-1]
