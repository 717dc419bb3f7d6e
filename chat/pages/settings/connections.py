"""The connections that a person may use, and those that are theirs to change."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat.models import Connection
from chat.pages.signed_in import SignedInRequest


@require_safe
def connections(request: SignedInRequest) -> HttpResponse:
    """All that the person may choose."""
    context = {"section": "connections", "connections": Connection.offered_to(request.user)}
    return render(request, "settings/connections.html", context)
