"""A page, or the part of it that the page's own script asks for at the same address."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def page_or_part(
    request: HttpRequest, page: str, part: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render the template `part` if htmx asks, else `page`.

    A part has status 200, since htmx swaps no other in. A browser must not take the one out of its cache for
    the other, as it otherwise does on Back.
    """
    is_part = "HX-Request" in request.headers
    response = render(request, part if is_part else page, context, status=200 if is_part else status)
    patch_vary_headers(response, ["HX-Request"])
    return response
