"""Tables as CSV, line by line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet lets a formula begin


def csv_file(name: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    """A file to download, in UTF-8, whose first line names the columns."""
    response = StreamingHttpResponse(_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _lines(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow(map(_harmless, row))


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, line: str) -> str:
        return line


def _harmless(cell: Any) -> Any:
    """A text that no spreadsheet takes for a formula: names of models are anybody's to choose."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
