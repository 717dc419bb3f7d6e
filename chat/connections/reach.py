"""Whether a name leads where a connection may lead, as far as can be told ahead of connecting."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLateError
from ipaddress import ip_address

from chat.agent.addresses import refusal

SECONDS = 5.0
_resolvers = ThreadPoolExecutor(4, "resolver")


def leads_astray(host: str, *, inside: bool) -> bool:
    """Whether any address of the host is one that may not be connected to.

    A name that leads nowhere, or not in time, does no harm yet: every connection is checked once more, by the
    address that it really goes to.
    """
    try:
        found = _resolvers.submit(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM).result(SECONDS)
    except (OSError, UnicodeError, TooLateError):
        return False
    addresses = {str(entry[4][0]).partition("%")[0] for entry in found}
    return any(refusal(str(ip_address(address)), inside=inside) for address in addresses)
