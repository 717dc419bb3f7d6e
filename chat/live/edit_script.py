"""The shortest way from one list of lines to another, within a bound of work.

The greedy algorithm of Eugene W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): its cost
grows with the number of changes, so that many changes, and not a long text, are where it gives up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_CHANGES = 200  # lines; beyond, the differing part is one change as a whole
MOST_WORK = 200_000  # lines compared


@dataclass(frozen=True)
class Edit:
    """A stretch of lines that stays (`changes` is false), or is replaced: `old` by `new`."""

    at_old: int
    at_new: int
    old: Sequence[str]
    new: Sequence[str]
    changes: bool


def edit_script(old: Sequence[str], new: Sequence[str]) -> list[Edit]:
    """Edits that lead from `old` to `new`, in order; kept and changed stretches take turns."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    most = shorter - head
    tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    kept = _kept(old[head : len(old) - tail], new[head : len(new) - tail])
    matches = [(0, 0, head), *((x + head, y + head, size) for x, y, size in kept)]
    return _edits(old, new, [*matches, (len(old) - tail, len(new) - tail, tail)])


def _edits(old: Sequence[str], new: Sequence[str], matches: list[tuple[int, int, int]]) -> list[Edit]:
    edits: list[Edit] = []
    x = y = 0
    for at_old, at_new, size in matches:
        if at_old > x or at_new > y:
            edits.append(Edit(x, y, old[x:at_old], new[y:at_new], changes=True))
        x, y = at_old + size, at_new + size
        if size:
            edits.append(Edit(at_old, at_new, old[at_old:x], new[at_new:y], changes=False))
    return edits


def _kept(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """The stretches that both have, as places and length; none where finding them is too much work."""
    if not old or not new:
        return []
    numbers: dict[str, int] = {}  # comparing numbers takes the same time however long the lines are
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    trail = [] if set(a).isdisjoint(b) else _trail(a, b)
    return _stretches(trail, len(a), len(b)) if trail else []


def _trail(a: list[int], b: list[int]) -> list[dict[int, int]]:
    """For each number of changes, how far into `a` each diagonal (x - y) was reached with one change less."""
    far, trail, work = {1: 0}, list[dict[int, int]](), 0
    for changes in range(min(len(a) + len(b), MOST_CHANGES) + 1):
        trail.append(far.copy())
        for diagonal in range(-changes, changes + 1, 2):
            came = _came_from(far, diagonal, changes)
            start = x = far[came] + (came < diagonal)
            while x < len(a) and x - diagonal < len(b) and a[x] == b[x - diagonal]:
                x += 1
            far[diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return trail
            work += x - start + 1
            if work > MOST_WORK:
                return []
    return []


def _came_from(far: dict[int, int], diagonal: int, changes: int) -> int:
    """The diagonal from which one more change leads here: by a line added (above), or one removed (below)."""
    added = diagonal == -changes or (diagonal != changes and far[diagonal - 1] < far[diagonal + 1])
    return diagonal + 1 if added else diagonal - 1


def _stretches(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    """Walk back from the end, and give the kept stretches on the way, first to last."""
    found: list[tuple[int, int, int]] = []
    for changes in range(len(trail) - 1, -1, -1):
        far, diagonal = trail[changes], x - y
        came = _came_from(far, diagonal, changes)
        start = far[came] + (came < diagonal)
        if x > start:
            found.append((start, start - diagonal, x - start))
        x, y = far[came], far[came] - came
    return found[::-1]
