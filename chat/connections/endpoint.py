"""Model endpoints: a connection's, or the environment's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from chat.agent.addresses import refusal
from chat.models import Connection

Allow = Callable[[IPv4Address | IPv6Address], bool]


class InsecureError(Exception):
    """A connection would use http without permission from staff."""


@dataclass(frozen=True)
class Endpoint:
    """What a client needs; the environment's has no `connection`, and `inside` None sets no restriction."""

    connection: int | None
    version: str = ""
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    inside: bool | None = None
    transport: str | None = None

    @property
    def client(self) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "api_key": self.key,
            "headers": self.headers,
            "transport": import_string(self.transport)() if self.transport else None,
            "proxy": settings.MODEL_PROXY,
            "allow": None if self.inside is None else address_filter(inside=self.inside),
        }


def endpoint_of(connection: Connection | None) -> Endpoint:
    """The connection's endpoint, or the environment's; raises SecretUnreadableError and InsecureError."""
    if connection is None:
        return _environment()
    inside = connection.may_reach_inside
    if connection.base_url.startswith("http:") and not inside:
        raise InsecureError
    secrets = connection.unsealed_secrets
    return Endpoint(
        connection.pk,
        connection.version,
        connection.base_url,
        secrets.key or None,
        secrets.headers,
        # We cannot check where a proxy connects to, so only staff's connections use it unrestricted.
        None if settings.MODEL_PROXY and connection.is_run_by_staff and not inside else inside,
    )


def address_filter(*, inside: bool) -> Allow:
    """A filter of addresses that may be connected to: public ones, with `inside` also local ones."""

    def allowed(address: IPv4Address | IPv6Address) -> bool:
        return not refusal(str(address), inside=inside)

    return allowed


def _environment() -> Endpoint:
    if settings.MODEL_TRANSPORT:
        return Endpoint(None, base_url="http://demo/v1", key="demo", transport=settings.MODEL_TRANSPORT)
    return Endpoint(None, base_url=settings.MODEL_BASE_URL, key=settings.MODEL_API_KEY)
