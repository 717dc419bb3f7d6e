"""What is answered where a page could not be made."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.csrf import requires_csrf_token
from django.views.defaults import server_error

AGAIN = 5  # seconds after which it is worth another try


@requires_csrf_token
def fault(request: HttpRequest) -> HttpResponse:
    """The page for the exception that is being handled: 503 where the database was away or full, else 500."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return server_error(request)
    return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": str(AGAIN)})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for a request that cannot be read. Django's own view would read its form again, and fail."""
    return HttpResponse(render_to_string("400.html"), status=400)
