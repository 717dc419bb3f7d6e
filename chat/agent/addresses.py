"""Which addresses a server over HTTP may have: what counts is where a name leads, never the name."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address


def _networks(*texts: str) -> list[IPv4Network | IPv6Network]:
    return [ip_network(text) for text in texts]


# Where clouds keep their machines' credentials, what leads to no single machine, and what a translator in
# this network may lead to any IPv4 address (64:ff9b:1::/48).
_NEVER = _networks(
    "0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "192.0.0.192/32", "100.100.100.200/32",
    "224.0.0.0/4", "240.0.0.0/4", "::/128", "64:ff9b:1::/48", "fe80::/10", "ff00::/8", "fd00:ec2::254/128",
)  # fmt: skip
# Of IANA's registries of special-purpose addresses, those that are not globally reachable. `is_global` of the
# standard library lacks some, and which ones depends on Python's version.
_INSIDE = _networks(
    "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "2001::/23", "2001:db8::/32", "3fff::/20",
)  # fmt: skip
_PUBLIC_IPV6 = ip_network("2000::/3")  # IANA has given out no other addresses for single machines
# Their last 32 bits are an IPv4 address: compatible, mapped, translated, and NAT64.
_ENDING_IN_IPV4 = _networks("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")


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
    outside = isinstance(address, IPv4Address) or address in _PUBLIC_IPV6
    if not outside or any(address in network for network in _INSIDE):
        return "is inside a network, which the administrator has not allowed for this server"
    return ""


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv4Address) or int(address) <= 1:  # :: and ::1 are addresses of their own
        return address
    if any(address in network for network in _ENDING_IN_IPV4):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.sixtofour or (teredo[1] if teredo else address)
