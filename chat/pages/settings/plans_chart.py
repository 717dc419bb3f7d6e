"""Charts of plans: a bar across for each policy or profile, as rectangles on a plane of 1000 by 24."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chat.live.figures import grouped, lasting, tokens
from chat.pages.settings.plans_report import Line

WIDTH = 1000
FEW = 12  # lines that a chart has room for


@dataclass(frozen=True)
class Piece:
    """A stretch of a bar, in units of the plane; a `faint` one goes on behind the main one."""

    x: str
    width: str
    faint: bool = False


@dataclass(frozen=True)
class Bar:
    """A line's bar. `words` tells what it shows; without pieces there is too little to show."""

    line: Line
    words: str
    pieces: Sequence[Piece] = ()
    whisker: tuple[str, str] | None = None


@dataclass(frozen=True)
class Bars:
    """Bars, and the words at the two ends of their scale."""

    bars: Sequence[Bar]
    ends: tuple[str, str] = field(default=("", ""))

    @property
    def says(self) -> bool:
        """Whether anything is to be seen."""
        return any(bar.pieces or bar.whisker for bar in self.bars)


def finished_bars(lines: Sequence[Line]) -> Bars:
    """How many of their lists were finished, of 100, with the interval in which the true share may lie."""
    return Bars([_finished(line) for line in _listed(lines)], ("0 %", "100 %"))


def time_bars(lines: Sequence[Line]) -> Bars:
    """How long items took: up to the median, and faintly on to what nine of ten stay within."""
    timed = [line for line in _listed(lines) if line.counts["timed"]]
    most = max((line.ninetieth or 0 for line in timed), default=0)
    return Bars([_time(line, most) for line in timed], ("0", lasting(most)))


def token_bars(lines: Sequence[Line]) -> Bars:
    """Planning's part of all tokens: what was written, faintly on the input that planning added."""
    listed = _listed(lines)
    most = max((line.planning.percent for line in listed if line.is_enough), default=0.0)
    return Bars([_tokens(line, most) for line in listed], ("0 %", percent(most, 1)))


def _listed(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line.counts["lists"]][:FEW]


def _finished(line: Line) -> Bar:
    share = line.finished
    counted = _("%(part)s of %(whole)s") % {"part": grouped(share.part), "whole": grouped(share.whole)}
    if not line.is_enough:
        return Bar(line, counted)
    whisker = (_short(10 * share.low), _short(10 * share.high))
    return Bar(line, f"{percent(share.percent)} · {counted}", [_piece(0, share.percent, 100)], whisker)


def _time(line: Line, most: float) -> Bar:
    if line.median is None or line.ninetieth is None:
        return Bar(line, _("too few"))
    words = f"{lasting(line.median)} · {lasting(line.ninetieth)}"
    far = _piece(line.median, line.ninetieth - line.median, most, faint=True)
    return Bar(line, words, [_piece(0, line.median, most), far])


def _tokens(line: Line, most: float) -> Bar:
    words = f"~{tokens(line.planning_tokens)}"
    if not line.is_enough:
        return Bar(line, words)
    whole = line.planning
    written = 100 * line.counts["written_tokens"] / whole.whole if whole.whole else 0.0
    pieces = [_piece(0, written, most), _piece(written, whole.percent - written, most, faint=True)]
    return Bar(line, f"~{percent(whole.percent, 1)} · {words}", pieces)


def percent(value: float, digits: int = 0) -> str:
    """A percentage with so many digits behind the point."""
    return f"{number_format(round(value, digits), digits)} %"


def _piece(start: float, length: float, whole: float, *, faint: bool = False) -> Piece:
    scale = WIDTH / whole if whole else 0.0
    return Piece(_short(start * scale), _short(max(0.0, length) * scale), faint)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
