"""What changed between two texts, line by line, ready to be drawn by partials/_diff.html.

`diff_of(before, after, cut=False) -> Diff` compares; in a template, `{% load rendering %}{% diff change %}`
draws a Diff's lines and `{% diff_count change %}` its counts. Time and size are bounded whatever the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["same", "removed", "added"]

CONTEXT = 3  # unchanged lines shown around a change
MOST_LINES = 400
MOST_CHARACTERS = 32 * 1024  # shown altogether
LONGEST_LINE = 1000  # characters shown of one line
BEGINNING = (8, 2 * LONGEST_LINE)  # lines and characters of a diff that is drawn folded
TAGS = 170  # characters of HTML around a line

_SIGNS: dict[Kind, str] = {"same": " ", "removed": "-", "added": "+"}
# What would move, hide or turn round the text beside it is shown as what it is; a reviewer must see it.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "\u2421"}
_TURNING = (
    *range(0x80, 0xA0),
    0x061C,
    0x200B,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    0x2060,
    *range(0x2066, 0x206A),
    0xFEFF,
)
_PICTURES |= {code: f"<U+{code:04X}>" for code in _TURNING}


@dataclass(frozen=True)
class DiffLine:
    """One line on show; `changed` stands between `head` and `tail`, which its counterpart has too."""

    kind: Kind
    number: int
    """Its place in the file, counted from 1: in the old one for a removed line, else in the new one."""
    head: str
    changed: str = ""
    tail: str = ""
    open_end: bool = False
    """The file ends here without a line break."""

    @property
    def sign(self) -> str:
        return _SIGNS[self.kind]

    @property
    def text(self) -> str:
        return self.head + self.changed + self.tail


@dataclass(frozen=True)
class Hunk:
    """Lines that stand together; `skipped` unchanged ones are left out ahead of them."""

    skipped: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True)
class Diff:
    """A change: how many lines were added and removed, and what is to be shown of it."""

    added: int
    removed: int
    hunks: tuple[Hunk, ...]
    unshown: int = 0
    """Changed lines beyond what is shown."""
    binary: bool = False
    """One of the sides is no text, so there are no lines."""
    cut: bool = False
    """The texts themselves were cut before they came here, so what follows them is not compared."""

    @property
    def same(self) -> bool:
        return not (self.added or self.removed or self.binary)

    @property
    def size(self) -> int:
        """About how many characters of HTML draw it."""
        return sum(TAGS + len(line.text) for hunk in self.hunks for line in hunk.lines)

    @property
    def beginning(self) -> Diff:
        """The same change with only its first lines on show."""
        hunks = tuple(_shown(self.hunks, *BEGINNING))
        return replace(self, hunks=hunks, unshown=self.added + self.removed - _changes(hunks))


def diff_of(before: str | bytes | None, after: str | bytes | None, *, cut: bool = False) -> Diff:
    """What changed from `before` to `after`; None stands for a file that is not there.

    Bytes are taken as UTF-8, and as binary where they are not. `cut` says that the texts are beginnings.
    """
    old, new = _text(before), _text(after)
    if old is None or new is None:
        return Diff(0, 0, (), binary=before != after, cut=cut)
    edits = edit_script(_lines(old), _lines(new))
    added = sum(len(edit.new) for edit in edits if edit.changes)
    removed = sum(len(edit.old) for edit in edits if edit.changes)
    hunks = tuple(_shown(_hunks(edits), MOST_LINES, MOST_CHARACTERS))
    return Diff(added, removed, hunks, added + removed - _changes(hunks), cut=cut)


def _text(side: str | bytes | None) -> str | None:
    """The side as text; None for one that is none."""
    if isinstance(side, bytes):
        try:
            side = side.decode()
        except UnicodeDecodeError:
            return None
    return None if side and "\0" in side else side or ""


def _lines(text: str) -> list[str]:
    """Lines with their line feeds; nothing else ends one."""
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


def _hunks(edits: Sequence[Edit]) -> Iterator[Hunk]:
    """The changes, each with the lines around it; what lies far from all of them is only counted."""
    skipped, lines = 0, list[DiffLine]()
    for place, edit in enumerate(edits):
        if edit.changes:
            lines += _changed(edit)
            continue
        first, last = place == 0, place == len(edits) - 1
        before = 0 if first else CONTEXT
        after = 0 if last else CONTEXT
        if len(edit.new) <= before + after:
            lines += _same(edit, 0, len(edit.new))
            continue
        lines += _same(edit, 0, before)
        if lines:
            yield Hunk(skipped, tuple(lines))
        skipped, lines = len(edit.new) - before - after, _same(edit, len(edit.new) - after, len(edit.new))
    if any(line.kind != "same" for line in lines):
        yield Hunk(skipped, tuple(lines))


def _same(edit: Edit, start: int, stop: int) -> list[DiffLine]:
    return [_line("same", edit.at_new + place, edit.new[place]) for place in range(start, stop)]


def _changed(edit: Edit) -> Iterator[DiffLine]:
    """Removed lines, then added ones; where they pair up, what differs within them is told apart."""
    pairs = list(zip(edit.old, edit.new, strict=True)) if len(edit.old) == len(edit.new) else []
    for place, text in enumerate(edit.old[:MOST_LINES]):
        yield _line("removed", edit.at_old + place, text, pairs[place][1] if pairs else "")
    for place, text in enumerate(edit.new[:MOST_LINES]):
        yield _line("added", edit.at_new + place, text, pairs[place][0] if pairs else "")


def _line(kind: Kind, at: int, line: str, other: str = "") -> DiffLine:
    text = line.removesuffix("\n")
    start, end = _differing(text[:LONGEST_LINE], other.removesuffix("\n")[:LONGEST_LINE])
    if len(text) > LONGEST_LINE:
        text = text[:LONGEST_LINE] + "…"
    head, changed, tail = (_visible(piece) for piece in (text[:start], text[start:end], text[end:]))
    return DiffLine(kind, at + 1, head, changed, tail, open_end=not line.endswith("\n"))


def _differing(text: str, other: str) -> tuple[int, int]:
    """Where a line differs from its counterpart; (0, 0) where there is too little in common to be of use."""
    shorter = min(len(text), len(other))
    start = next((i for i in range(shorter) if text[i] != other[i]), shorter)
    most = shorter - start
    tail = next((i for i in range(most) if text[-1 - i] != other[-1 - i]), most)
    return (start, len(text) - tail) if 2 * (start + tail) > shorter else (0, 0)


def _visible(text: str) -> str:
    return text.translate(_PICTURES)


def _changes(hunks: Iterable[Hunk]) -> int:
    return sum(line.kind != "same" for hunk in hunks for line in hunk.lines)


def _shown(hunks: Iterable[Hunk], lines_left: int, room: int) -> Iterator[Hunk]:
    """As many of the hunks' lines as there is room for."""
    for hunk in hunks:
        kept = []
        for line in hunk.lines:
            lines_left, room = lines_left - 1, room - len(line.text)
            if lines_left < 0 or room < 0:
                break
            kept.append(line)
        if kept:
            yield Hunk(hunk.skipped, tuple(kept))
        if len(kept) < len(hunk.lines):
            return


# The shortest way from one list of lines to another, within a bound of work.
#
# The greedy algorithm of Eugene W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): its cost
# grows with the number of changes, so that many changes, and not a long text, are where it gives up.

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
