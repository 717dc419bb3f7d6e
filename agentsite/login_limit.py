"""How many passwords one may try, by django-axes: for one name from an address, and for any from it.

After `AXES_FAILURE_LIMIT` wrong ones for a name from an address, or `PER_ADDRESS` for any names from it, no
password is taken for `AXES_COOLOFF_TIME`, not even the right one. Sign-in links need none, and go on working.
"""

from __future__ import annotations

import ipaddress
import logging
import math
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

log = logging.getLogger(__name__)

PER_ADDRESS = 20

Credentials = dict[str, Any] | None


class LoginLimit(AxesDatabaseHandler):
    """Counts an attempt before it is made; the package counts after, so that many at once are all tried."""

    def is_allowed(self, request: Any, credentials: Credentials = None) -> bool:
        """Whether a password may be tried now. Counts as a failure until it turns out to be right."""
        if self.is_locked(request, credentials):
            return False
        self.clean_expired_user_attempts(request, credentials)
        now = {"attempt_time": request.axes_attempt_time, "path_info": request.axes_path_info}
        attempt, _new = AccessAttempt.objects.get_or_create(
            username=get_client_username(request, credentials),
            ip_address=request.axes_ip_address,
            user_agent="",
            defaults={"failures_since_start": 0, **now},
        )
        tried = AccessAttempt.objects.filter(pk=attempt.pk)
        tried.update(failures_since_start=F("failures_since_start") + 1, **now)
        return all(_count(attempts) <= limit for attempts, limit in self._counted(request, credentials))

    def is_locked(self, request: Any, credentials: Credentials = None) -> bool:
        """Whether a limit is reached."""
        return any(_count(attempts) >= limit for attempts, limit in self._counted(request, credentials))

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any
    ) -> None:
        """Write it to the log, and have `locked_out` answer where no more passwords are taken."""
        if request is None:
            return
        request.axes_credentials = credentials
        if request.axes_locked_out:
            return
        # A name is quoted, so that whatever it has in it stays on the line.
        client = f"{get_client_username(request, credentials)!r} from {request.axes_ip_address}"
        log.warning("wrong password for %s", client)
        if self.is_locked(request, credentials):
            request.axes_locked_out = True
            log.warning("no password is taken for %s in the next %s", client, settings.AXES_COOLOFF_TIME)

    def reset_user_attempts(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """Forget the failures for this name alone, or an account of one's own would clear the address."""
        by_name, _by_address = self.filter_user_attempts(request, credentials)
        return int(by_name.delete()[0])

    def seconds_left(self, request: HttpRequest, credentials: Credentials) -> int:
        """How long at most until a password may be tried again."""
        latest = [
            attempts.latest("attempt_time").attempt_time
            for attempts, limit in self._counted(request, credentials)
            if _count(attempts) >= limit
        ]
        end = max(latest, default=timezone.now()) + settings.AXES_COOLOFF_TIME
        return max(math.ceil((end - timezone.now()).total_seconds()), 1)

    def _counted(
        self, request: HttpRequest, credentials: Credentials
    ) -> list[tuple[QuerySet[AccessAttempt], int]]:
        """The failures by each of `AXES_LOCKOUT_PARAMETERS`, and the limit of each."""
        by_name, by_address = self.get_user_attempts(request, credentials)
        return [(by_name, settings.AXES_FAILURE_LIMIT), (by_address, PER_ADDRESS)]


def _count(attempts: QuerySet[AccessAttempt]) -> int:
    return sum(attempts.values_list("failures_since_start", flat=True))


def locked_out(
    request: HttpRequest, _response: HttpResponse | None, credentials: Credentials = None
) -> HttpResponse:
    """The page that says how long to wait."""
    seconds = LoginLimit().seconds_left(request, credentials)
    response = render(request, "locked_out.html", {"minutes": math.ceil(seconds / 60)}, status=429)
    response["Retry-After"] = str(seconds)
    return response


def client_address(request: HttpRequest) -> str:
    """The client's address: behind a proxy that is trusted what that proxy saw, which it puts last.

    An IPv6 client has a whole /64 to choose from, which counts as one address.
    """
    given = request.META.get("REMOTE_ADDR", "")
    if settings.TRUST_PROXY:
        given = request.headers.get("X-Forwarded-For", given).rpartition(",")[2].strip()
    try:
        address = ipaddress.ip_address(given)
    except ValueError:  # a Unix socket has none; not NULL, of which a database would keep many rows
        return "0.0.0.0"  # noqa: S104 (nothing listens on it)
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address.packed, 64), strict=False).network_address)
