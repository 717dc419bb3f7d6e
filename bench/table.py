"""Formats figures as a text table."""

from __future__ import annotations

from collections.abc import Mapping


def table(
    figures: Mapping[str, float], floors: Mapping[str, Mapping[str, float]], targets: Mapping[str, float]
) -> str:
    """Each figure with its target, and as a multiple of the floors of the same run."""
    heads = ["", "site", "target", *(f"floor: {kind}" for kind in floors), *("ratio" for _kind in floors)]
    rows = [heads]
    for name, value in figures.items():
        floor_values = [floor.get(name) for floor in floors.values()]
        ratios = [f"{value / floor_value:.1f}x" if floor_value else "" for floor_value in floor_values]
        rows.append([name, number(value), number(targets.get(name)), *map(number, floor_values), *ratios])
    return format_rows(rows)


def number(value: float | None) -> str:
    if value is None:
        return ""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def format_rows(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(
            cell.ljust(width) if not column_index else cell.rjust(width)
            for column_index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + "\n"
        for row in rows
    )
