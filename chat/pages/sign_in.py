"""The link that `serve` prints at its start, and `manage.py sign-in-link` at any time."""

from __future__ import annotations

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chat.models import SignInLink


@login_not_required
@never_cache
@require_GET
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Sign its user in, once, and lead to the composer; say what to do when the link is spent.

    A browser that fetches the page before its user asks for it does not spend the link.
    """
    if "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", "")):
        return HttpResponse(status=503)
    user = SignInLink.redeem(token)
    if user is not None:
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    if request.user.is_authenticated:
        return redirect("new_conversation")
    return render(request, "sign_in_spent.html", status=410)
