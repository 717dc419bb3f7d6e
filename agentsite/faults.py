"""Error pages."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.csrf import requires_csrf_token
from django.views.defaults import server_error

RETRY_AFTER = 5  # seconds


@requires_csrf_token
def error_page(request: HttpRequest) -> HttpResponse:
    """The page for an unhandled exception: 503 if the database is unavailable or full, else 500."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return server_error(request)
    return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": str(RETRY_AFTER)})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for an unreadable request. Django's own view would parse the form again and fail."""
    return HttpResponse(render_to_string("400.html"), status=400)
