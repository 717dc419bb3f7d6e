"""`manage.py sign-in-link`: a sign-in link for a user without a password."""

# ruff: noqa: N999 (the command's name)

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from chat.management.address import site_address
from chat.models import SignInLink, site_owner


class Command(BaseCommand):
    help = "Print a link that signs a user in, once, within an hour. The site may be running."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", help="the user's name; default: the site's owner")
        parser.add_argument(
            "--address", metavar="URL", help="where browsers find the site, such as https://chat.example.org"
        )

    def handle(self, *args: Any, name: str | None, address: str | None, **options: Any) -> None:
        base = (address or _address()).rstrip("/")
        if not base.startswith(("http://", "https://")):
            raise CommandError(f"--address must begin with http:// or https://, not be {address!r}.")
        try:
            user = site_owner() if name is None else get_user_model().objects.filter(username=name).first()
            if user is None or not user.is_active:
                raise CommandError(f"No active user is called {name!r}.")
            token = SignInLink.issue(user)
        except DatabaseError as error:
            raise CommandError(f"The database is not ready ({error}): `manage.py serve` makes it.") from None
        self.stdout.write(f"Sign in: {base}/sign-in/{token}/")
        self.stdout.write(f"It signs {user.get_username()} in, once, within an hour, if {base} is where the")
        self.stdout.write("site is found; otherwise put --address https://... behind the command.")


def _address() -> str:
    """The site's URL by its settings: the first trusted origin, or where `serve` listens."""
    return next(iter(settings.TRUSTED_ORIGINS), site_address(settings.BIND, settings.PORT))
