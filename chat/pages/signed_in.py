"""The request of a signed-in user, for annotations."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest


class SignedInRequest(HttpRequest):
    """LoginRequiredMiddleware ensures that `user` is not anonymous."""

    user: User
