"""The owner: the account of whoever runs the site."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model

if TYPE_CHECKING:
    from django.contrib.auth.models import User

OWNER = "owner"


def site_owner() -> User:
    """The first active superuser; made if there is none, and then without a password until one is set."""
    users = get_user_model()
    owner = users.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return owner or users.objects.create_superuser(_free_name(), password=None)


def _free_name() -> str:
    """`owner`, with a number behind it where somebody is called so already."""
    names = chain([OWNER], (f"{OWNER}-{number}" for number in count(2)))
    return next(name for name in names if not get_user_model().objects.filter(username=name).exists())
