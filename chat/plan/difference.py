"""The difference between two todo lists, by the ids of their items."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

Item = Mapping[str, Any]


class Kind(StrEnum):
    ADDED = "added"
    RESTORED = "restored"
    REMOVED = "removed"
    REWORDED = "reworded"
    MOVED = "moved"
    STATUS = "status"


@dataclass(frozen=True)
class Line:
    """An item of a list, and how it changed since the previous list.

    `before` is the item in that list; None if it is new. An item that is `gone` is in neither list, but was
    in an earlier one of the same plan. `skipped` items were removed by the user; such an item is `relisted`
    once the agent has added another one with its text.
    """

    item: Item
    kinds: tuple[Kind, ...] = ()
    before: Item | None = None
    gone: bool = False
    skipped: bool = False
    relisted: bool = False

    @property
    def is_removed(self) -> bool:
        return self.gone or Kind.REMOVED in self.kinds


def change_text(line: Line, kind: Kind) -> str:
    """One of the item's changes in words."""
    words = {
        Kind.ADDED: _("added"),
        Kind.RESTORED: _("restored"),
        Kind.REMOVED: _("skipped") if line.skipped else _("removed"),
        Kind.REWORDED: _("edited"),
        Kind.MOVED: _("moved"),
    }
    states = {"completed": _("done"), "in_progress": _("started"), "pending": _("reopened")}
    return words.get(kind) or states[line.item["status"]]


def lines_of(
    items: Sequence[Item],
    before: Sequence[Line] = (),
    skipped: Collection[str] = (),
    *,
    by_user: bool = False,
) -> list[Line]:
    """The lines of `items` compared with the previous list's lines; a removed item stays behind the same one.

    `skipped` are the ids of the items that the user removed; `by_user` says whether the list is the user's.
    """
    old_items = {line.item["id"]: line.item for line in before if not line.is_removed}
    moved = _moved([item["id"] for item in items], list(old_items))
    gone = {line.item["id"] for line in before if line.is_removed}
    lines = [_line(item, old_items.get(item["id"]), item["id"] in moved, gone) for item in items]
    ids = {item["id"] for item in items}
    removed = [_removed(line, skipped) for line in before if line.item["id"] not in ids]
    if not by_user:
        removed = _relisted(removed, lines)
    return _insert_removed(lines, removed, before)


def _line(item: Item, before: Item | None, moved: bool, gone: Collection[str]) -> Line:
    if before is None:
        return Line(item, (Kind.RESTORED if item["id"] in gone else Kind.ADDED,))
    kinds = {
        Kind.REWORDED: item["content"] != before["content"],
        Kind.STATUS: item["status"] != before["status"],
        Kind.MOVED: moved,
    }
    return Line(item, tuple(kind for kind, applies in kinds.items() if applies), before)


def _insert_removed(lines: list[Line], removed: list[Line], before: Sequence[Line]) -> list[Line]:
    """Each goes where it was: right behind the line that was ahead of it, wherever that is now."""
    order = [line.item["id"] for line in before]
    for line in removed:
        place = order.index(line.item["id"])
        ids = [other.item["id"] for other in lines]
        lines.insert(ids.index(order[place - 1]) + 1 if place else 0, line)
    return lines


def _removed(line: Line, skipped: Collection[str]) -> Line:
    if line.is_removed:
        return replace(line, kinds=(), before=None, gone=True)
    return Line(line.item, (Kind.REMOVED,), before=line.item, skipped=line.item["id"] in skipped)


def _relisted(removed: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    """The removed lines; each new item takes the place of one that was skipped, if the text is the same."""
    new = Counter(line.item["content"] for line in lines if Kind.ADDED in line.kinds)
    marked = []
    for line in removed:
        text = line.item["content"]
        is_relisted = line.skipped and not line.relisted and new[text] > 0
        new[text] -= is_relisted
        marked.append(replace(line, relisted=True) if is_relisted else line)
    return marked


def _moved(after: Sequence[str], before: Sequence[str]) -> set[str]:
    """The fewest ids that must have moved for all others to be in the same order in both lists.

    Of two that changed places, as one does that is moved down by one, both: either may have been moved.
    """
    positions = {id_: position for position, id_ in enumerate(before)}
    common = [id_ for id_ in after if id_ in positions]
    before_them = sorted(common, key=positions.__getitem__)
    changed = {now for now, then in zip(common, before_them, strict=True) if now != then}
    return changed if len(changed) == 2 else set(common) - set(_longest_in_order(common, positions))


def _longest_in_order(ids: Sequence[str], positions: Mapping[str, int]) -> list[str]:
    """The longest subsequence of ids with increasing positions (patience sorting)."""
    tops: list[int] = []
    piles: list[str] = []
    predecessors: dict[str, str | None] = {}
    for id_ in ids:
        pile = bisect_left(tops, positions[id_])
        tops[pile : pile + 1] = [positions[id_]]
        piles[pile : pile + 1] = [id_]
        predecessors[id_] = piles[pile - 1] if pile else None
    run: list[str] = []
    current = piles[-1] if piles else None
    while current is not None:
        run.append(current)
        current = predecessors[current]
    return run[::-1]
