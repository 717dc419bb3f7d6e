"""Which addresses a server over HTTP may have: what counts is where a name leads, never the name."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address


def _networks(*texts: str) -> list[IPv4Network | IPv6Network]:
    return [ip_network(text) for text in texts]


# Where clouds keep their machines' credentials, and what leads to nobody in particular.
_NEVER = _networks(
    "0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "192.0.0.192/32", "100.100.100.200/32",
    "224.0.0.0/4", "240.0.0.0/4", "::/128", "fe80::/10", "ff00::/8", "fd00:ec2::254/128",
)  # fmt: skip
# Not public, though `is_global` says so.
_INSIDE = _networks("192.88.99.0/24", "fec0::/10")
_NAT64 = ip_network("64:ff9b::/96")


def refusal(text: str, *, inside: bool) -> str:
    """Why the address may not be spoken to, as the end of a sentence; empty if it may.

    `inside` allows those of this machine and of private networks. Link-local, multicast and the addresses
    at which clouds hand out credentials are never allowed.
    """
    address = _meant(ip_address(text.partition("%")[0]))
    if any(address in network for network in _NEVER):
        return "is one that no server has (link-local, multicast, or a cloud's own)"
    if inside:
        return ""
    if not address.is_global or any(address in network for network in _INSIDE):
        return "is inside a network, which the administrator has not allowed for this server"
    return ""


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour or address
    if address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 1):  # the latter: ::a.b.c.d
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.teredo[1] if address.teredo else address
