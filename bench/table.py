"""Figures side by side, as text."""

from __future__ import annotations

from collections.abc import Mapping


def table(
    figures: Mapping[str, float], floors: Mapping[str, Mapping[str, float]], targets: Mapping[str, float]
) -> str:
    """Each figure with what it should be, and as a multiple of the floors of the same run."""
    heads = ["", "site", "target", *(f"floor: {kind}" for kind in floors), *("ratio" for _kind in floors)]
    rows = [heads]
    for name, value in figures.items():
        beneath = [floor.get(name) for floor in floors.values()]
        ratios = [f"{value / least:.1f}x" if least else "" for least in beneath]
        rows.append([name, number(value), number(targets.get(name)), *map(number, beneath), *ratios])
    return laid_out(rows)


def number(value: float | None) -> str:
    """A figure in about three digits; empty for none."""
    if value is None:
        return ""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def laid_out(rows: list[list[str]]) -> str:
    """Rows in columns; the first one is text, the others are figures."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + "\n"
        for row in rows
    )
