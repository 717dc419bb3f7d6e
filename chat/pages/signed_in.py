"""The request of somebody who is signed in, as the login middleware lets only those through."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest


class SignedInRequest(HttpRequest):
    """For annotations alone: a request with a user."""

    user: User
