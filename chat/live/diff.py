"""Line-by-line differences between two texts, bounded in time and size, for partials/_diff.html."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chat.models import ToolCall

Kind = Literal["same", "removed", "added"]

CONTEXT = 3  # unchanged lines shown around a change
MAX_LINES = 400
MAX_CHARACTERS = 32 * 1024  # shown in total
MAX_LINE_LENGTH = 1000  # characters shown of one line
FOLDED_SIZE = (8, 2 * MAX_LINE_LENGTH)  # lines and characters of a folded diff
LINE_OVERHEAD = 170  # characters of HTML around a line

_SIGNS: dict[Kind, str] = {"same": " ", "removed": "-", "added": "+"}
# Characters that would move, hide or reverse adjacent text are made visible to reviewers.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "\u2421"}
_INVISIBLE = (
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
_PICTURES |= {code: f"<U+{code:04X}>" for code in _INVISIBLE}


@dataclass(frozen=True)
class DiffLine:
    """A shown line; `changed` is the part that differs from its counterpart."""

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
    skipped: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True)
class Diff:
    """A change: the numbers of added and removed lines, and the lines to show."""

    added: int
    removed: int
    hunks: tuple[Hunk, ...]
    unshown: int = 0
    """Changed lines beyond what is shown."""
    binary: bool = False
    """One of the sides is no text, so there are no lines."""
    cut: bool = False
    """The texts were cut before, so what follows them is not compared."""

    @property
    def same(self) -> bool:
        return not (self.added or self.removed or self.binary)

    @property
    def size(self) -> int:
        return sum(LINE_OVERHEAD + len(line.text) for hunk in self.hunks for line in hunk.lines)

    @property
    def beginning(self) -> Diff:
        hunks = tuple(_shown(self.hunks, *FOLDED_SIZE))
        return replace(self, hunks=hunks, unshown=self.added + self.removed - _changes(hunks))


def diff_of(before: str | bytes | None, after: str | bytes | None, *, cut: bool = False) -> Diff:
    """The change from `before` to `after`; None is a missing file. Bytes that are not UTF-8 are binary."""
    old, new = _text(before), _text(after)
    if old is None or new is None:
        return Diff(0, 0, (), binary=before != after, cut=cut)
    edits = edit_script(_lines(old), _lines(new))
    added = sum(len(edit.new) for edit in edits if edit.changes)
    removed = sum(len(edit.old) for edit in edits if edit.changes)
    hunks = tuple(_shown(_hunks(edits), MAX_LINES, MAX_CHARACTERS))
    return Diff(added, removed, hunks, added + removed - _changes(hunks), cut=cut)


def diff_of_call(call: ToolCall) -> Diff | None:
    """What a call changed in a file; None if nothing. For a call without a result, what it would change."""
    is_pending = call.status in (ToolCall.Status.WAITING, ToolCall.Status.PENDING, ToolCall.Status.RUNNING)
    detail = call.detail.get("foreseen", {}) if is_pending else call.detail
    if not (is_pending or call.status == ToolCall.Status.SUCCEEDED) or not isinstance(
        detail.get("after"), str
    ):
        return None
    before = b"\0" if detail.get("binary") else detail.get("before")
    return diff_of(before, detail["after"], cut=bool(detail.get("cut")))


def _text(side: str | bytes | None) -> str | None:
    if isinstance(side, bytes):
        try:
            side = side.decode()
        except UnicodeDecodeError:
            return None
    return None if side and "\0" in side else side or ""


def _lines(text: str) -> list[str]:
    """Lines with their line feeds, the only line ends."""
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


def _hunks(edits: Sequence[Edit]) -> Iterator[Hunk]:
    """The changes with their context; other unchanged lines are only counted."""
    skipped, lines = 0, list[DiffLine]()
    for index, edit in enumerate(edits):
        if edit.changes:
            lines += _changed(edit)
            continue
        first, last = index == 0, index == len(edits) - 1
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
    return [_line("same", edit.at_new + index, edit.new[index]) for index in range(start, stop)]


def _changed(edit: Edit) -> Iterator[DiffLine]:
    """Removed lines, then added ones; if they pair up, with the differing parts marked."""
    pairs = list(zip(edit.old, edit.new, strict=True)) if len(edit.old) == len(edit.new) else []
    for index, text in enumerate(edit.old[:MAX_LINES]):
        yield _line("removed", edit.at_old + index, text, pairs[index][1] if pairs else "")
    for index, text in enumerate(edit.new[:MAX_LINES]):
        yield _line("added", edit.at_new + index, text, pairs[index][0] if pairs else "")


def _line(kind: Kind, at: int, line: str, other: str = "") -> DiffLine:
    text = line.removesuffix("\n")
    start, end = _differing(text[:MAX_LINE_LENGTH], other.removesuffix("\n")[:MAX_LINE_LENGTH])
    if len(text) > MAX_LINE_LENGTH:
        text = text[:MAX_LINE_LENGTH] + "…"
    head, changed, tail = (_visible(piece) for piece in (text[:start], text[start:end], text[end:]))
    return DiffLine(kind, at + 1, head, changed, tail, open_end=not line.endswith("\n"))


def _differing(text: str, other: str) -> tuple[int, int]:
    """The differing part of a line; (0, 0) if it has too little in common with its counterpart."""
    shorter = min(len(text), len(other))
    start = next((i for i in range(shorter) if text[i] != other[i]), shorter)
    rest = shorter - start
    tail = next((i for i in range(rest) if text[-1 - i] != other[-1 - i]), rest)
    return (start, len(text) - tail) if 2 * (start + tail) > shorter else (0, 0)


def _visible(text: str) -> str:
    return text.translate(_PICTURES)


def _changes(hunks: Iterable[Hunk]) -> int:
    return sum(line.kind != "same" for hunk in hunks for line in hunk.lines)


def _shown(hunks: Iterable[Hunk], lines_left: int, room: int) -> Iterator[Hunk]:
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


# The shortest edit script between two lists of lines, with bounded work: the greedy algorithm of
# Eugene W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986). Its cost grows with the number
# of changes, so it gives up at many changes, not at long texts. `difflib` takes 0.4 to 0.9 s for two texts of
# 3,000 lines of which most recur, this 10 ms; its `autojunk` is as fast, but ignores lines that recur.

MAX_CHANGES = 200  # lines; beyond, the differing part is a single change
MAX_COMPARISONS = 200_000  # lines compared


@dataclass(frozen=True)
class Edit:
    """A range of lines that is unchanged (`changes` is false), or where `old` is replaced by `new`."""

    at_old: int
    at_new: int
    old: Sequence[str]
    new: Sequence[str]
    changes: bool


def edit_script(old: Sequence[str], new: Sequence[str]) -> list[Edit]:
    """Edits from `old` to `new`, in order; unchanged and changed ranges alternate."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    kept = _matches(old[head : len(old) - tail], new[head : len(new) - tail])
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


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Matching ranges as positions and length; none if finding them takes too much work."""
    if not old or not new:
        return []
    numbers: dict[str, int] = {}  # comparing numbers is fast for long lines too
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    trail = [] if set(a).isdisjoint(b) else _trail(a, b)
    return _backtrack(trail, len(a), len(b)) if trail else []


def _trail(a: list[int], b: list[int]) -> list[dict[int, int]]:
    """For each number of changes, how far into `a` each diagonal (x - y) was reached with one change less."""
    far, trail, work = {1: 0}, list[dict[int, int]](), 0
    for changes in range(min(len(a) + len(b), MAX_CHANGES) + 1):
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
            if work > MAX_COMPARISONS:
                return []
    return []


def _came_from(far: dict[int, int], diagonal: int, changes: int) -> int:
    """The diagonal of the previous change: a line was added (above) or removed (below)."""
    added = diagonal == -changes or (diagonal != changes and far[diagonal - 1] < far[diagonal + 1])
    return diagonal + 1 if added else diagonal - 1


def _backtrack(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    matches: list[tuple[int, int, int]] = []
    for changes in range(len(trail) - 1, -1, -1):
        far, diagonal = trail[changes], x - y
        came = _came_from(far, diagonal, changes)
        start = far[came] + (came < diagonal)
        if x > start:
            matches.append((start, start - diagonal, x - start))
        x, y = far[came], far[came] - came
    return matches[::-1]
