"""Limits on password attempts, with django-axes: per name and address, and per address.

After AXES_FAILURE_LIMIT wrong passwords for a name from an address, or PER_ADDRESS from an address, every
password is refused for AXES_COOLOFF_TIME, even the right one. Sign-in links still work.
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
    """Counts an attempt before the password check; the package counts after, so concurrent attempts pass."""

    def is_allowed(self, request: Any, credentials: Credentials = None) -> bool:
        """Whether a password may be tried now. Counts as a failure until it proves right."""
        if self.is_locked(request, credentials):
            return False
        self.clean_expired_user_attempts(request, credentials)
        values = {"attempt_time": request.axes_attempt_time, "path_info": request.axes_path_info}
        attempt, _new = AccessAttempt.objects.get_or_create(
            username=get_client_username(request, credentials),
            ip_address=request.axes_ip_address,
            user_agent="",
            defaults={"failures_since_start": 0, **values},
        )
        row = AccessAttempt.objects.filter(pk=attempt.pk)
        row.update(failures_since_start=F("failures_since_start") + 1, **values)
        return all(_count(attempts) <= limit for attempts, limit in self._limits(request, credentials))

    def is_locked(self, request: Any, credentials: Credentials = None) -> bool:
        return any(_count(attempts) >= limit for attempts, limit in self._limits(request, credentials))

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any
    ) -> None:
        """Log the failure, and set `axes_locked_out` if the limit is reached."""
        if request is None:
            return
        request.axes_credentials = credentials
        if request.axes_locked_out:
            return
        # Quoted, so that a line break in a name cannot start a new log line.
        client = f"{get_client_username(request, credentials)!r} from {request.axes_ip_address}"
        log.warning("wrong password for %s", client)
        if self.is_locked(request, credentials):
            request.axes_locked_out = True
            log.warning("no password is taken for %s in the next %s", client, settings.AXES_COOLOFF_TIME)

    def reset_user_attempts(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """Clear this name's failures only, or an attacker could clear the address by signing in."""
        by_name, _by_address = self.filter_user_attempts(request, credentials)
        return int(by_name.delete()[0])

    def seconds_left(self, request: HttpRequest, credentials: Credentials) -> int:
        latest = [
            attempts.latest("attempt_time").attempt_time
            for attempts, limit in self._limits(request, credentials)
            if _count(attempts) >= limit
        ]
        end = max(latest, default=timezone.now()) + settings.AXES_COOLOFF_TIME
        return max(math.ceil((end - timezone.now()).total_seconds()), 1)

    def _limits(
        self, request: HttpRequest, credentials: Credentials
    ) -> list[tuple[QuerySet[AccessAttempt], int]]:
        by_name, by_address = self.get_user_attempts(request, credentials)
        return [(by_name, settings.AXES_FAILURE_LIMIT), (by_address, PER_ADDRESS)]


def _count(attempts: QuerySet[AccessAttempt]) -> int:
    return sum(attempts.values_list("failures_since_start", flat=True))


def locked_out(
    request: HttpRequest, _response: HttpResponse | None, credentials: Credentials = None
) -> HttpResponse:
    seconds = LoginLimit().seconds_left(request, credentials)
    response = render(request, "locked_out.html", {"minutes": math.ceil(seconds / 60)}, status=429)
    response["Retry-After"] = str(seconds)
    return response


def client_address(request: HttpRequest) -> str:
    """The client's address; with TRUST_PROXY the last one in X-Forwarded-For, which the proxy appends.

    An IPv6 address is reduced to its /64 network: a client can use any address in it.
    """
    text = request.META.get("REMOTE_ADDR", "")
    if settings.TRUST_PROXY:
        text = request.headers.get("X-Forwarded-For", text).rpartition(",")[2].strip()
    try:
        address = ipaddress.ip_address(text)
    except ValueError:  # a Unix socket has none; NULL would not be unique in the database
        return "0.0.0.0"  # noqa: S104 (nothing listens on it)
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address.packed, 64), strict=False).network_address)
