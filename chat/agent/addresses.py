"""Which IP addresses an HTTP server may have; the resolved address counts, never the name."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address


def _networks(*texts: str) -> list[IPv4Network | IPv6Network]:
    return [ip_network(text) for text in texts]


# Clouds' metadata services (credentials), addresses of no single machine, and the range that a local NAT64
# may translate to any IPv4 address (64:ff9b:1::/48).
_NEVER = _networks(
    "0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "192.0.0.192/32", "100.100.100.200/32",
    "224.0.0.0/4", "240.0.0.0/4", "::/128", "64:ff9b:1::/48", "fe80::/10", "ff00::/8", "fd00:ec2::254/128",
)  # fmt: skip
# Not globally reachable by IANA's special-purpose address registries. The standard library's `is_global`
# lacks some of them, depending on the Python version.
_INSIDE = _networks(
    "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "2001::/23", "2001:db8::/32", "3fff::/20",
)  # fmt: skip
_PUBLIC_IPV6 = ip_network("2000::/3")  # the only range that IANA has allocated for global unicast
# The last 32 bits are an IPv4 address: compatible, mapped, translated, and NAT64.
_ENDING_IN_IPV4 = _networks("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")


def refusal(text: str, *, inside: bool) -> str:
    """Why the address may not be connected to, as the end of a sentence; empty if it may.

    `inside` permits private addresses, but never link-local, multicast or metadata ones.
    """
    address = _effective_address(ip_address(text.partition("%")[0]))
    if any(address in network for network in _NEVER):
        return "is one that no server has (link-local, multicast, or a cloud's own)"
    if inside:
        return ""
    outside = isinstance(address, IPv4Address) or address in _PUBLIC_IPV6
    if not outside or any(address in network for network in _INSIDE):
        return "is inside a network, which the administrator has not allowed for this server"
    return ""


def _effective_address(address: Address) -> Address:
    """The IPv4 address embedded in an IPv6 address, if there is one."""
    if isinstance(address, IPv4Address) or int(address) <= 1:  # :: and ::1 embed nothing
        return address
    if any(address in network for network in _ENDING_IN_IPV4):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.sixtofour or (teredo[1] if teredo else address)
