"""Read-only pages of a record."""

from __future__ import annotations

from django.http import StreamingHttpResponse

from chat.export.page import ReadOnly, page_pieces
from chat.export.record import Record
from chat.pages.streaming import RowsStream

# These pages show untrusted text to readers who may be administrators. Even if some of it became markup,
# it could send no request with the reader's cookies.
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'none'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


def read_only_page(
    record: Record, read_only: ReadOnly, template: str, **more: object
) -> StreamingHttpResponse:
    pieces = page_pieces(record, read_only, template, **more)
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "private, no-store"}
    return StreamingHttpResponse(RowsStream(pieces), content_type="text/html; charset=utf-8", headers=headers)
