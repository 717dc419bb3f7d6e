"""Compression of pages."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PageCompression(GZipMiddleware):
    """Compresses whole responses of text, with the random length that hides secrets from BREACH.

    A streamed response is left alone: each piece is on its way at once. So are pictures and files, which
    would not get smaller; static files are compressed when they are collected.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The response, compressed if the browser takes that and it is worth it."""
        if response.streaming or not response.get("Content-Type", "").startswith("text/"):
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
