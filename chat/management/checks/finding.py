"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One part of the site and how it is; where it is not well, the sentence ends with the cure."""

    part: str
    well: bool
    sentence: str

    def __str__(self) -> str:
        return f"{'ok' if self.well else 'FAIL':<4}  {self.part}: {self.sentence}"
