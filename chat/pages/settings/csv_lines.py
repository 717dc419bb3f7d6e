"""CSV downloads."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")


def csv_file(name: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    response = StreamingHttpResponse(_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _lines(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield "\ufeff"  # or Excel takes it for another encoding than UTF-8
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow(map(_without_formula, row))


class _Echo:
    def write(self, line: str) -> str:
        return line


def _without_formula(cell: Any) -> Any:
    """Escape text that a spreadsheet would run as a formula: model names come from outside."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_PREFIXES) else cell
