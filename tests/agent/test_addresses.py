"""Which addresses may be connected to."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

import pytest

from chat.agent.addresses import refusal

INSIDE = [
    "127.0.0.1",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "::127.0.0.1",
    "fc00::1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::1",
    "192.88.99.1",
    "198.18.0.1",
    "192.0.0.8",
    "::ffff:0:7f00:1",
    "3fff::1",
    "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
    "5f00::1",
    "fec0::1",
    "4000::1",
]
NEVER = [
    "0.0.0.0",
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "::ffff:0:a9fe:a9fe",
    "::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "64:ff9b:1::1",
    "64:ff9b:1:ffff:ffff:ffff:a9fe:a9fe",
    "168.63.129.16",
    "192.0.0.192",
    "100.100.100.200",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "fe80::1%eth0",
    "ff02::1",
    "fd00:ec2::254",
]

# The whole of https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry:
# each block, and whether it is globally reachable ("N/A" counts as not).
REGISTRY = """
0.0.0.0/8 no, 0.0.0.0/32 no, 10.0.0.0/8 no, 100.64.0.0/10 no, 127.0.0.0/8 no, 169.254.0.0/16 no,
172.16.0.0/12 no, 192.0.0.0/24 no, 192.0.0.0/29 no, 192.0.0.8/32 no, 192.0.0.9/32 yes, 192.0.0.10/32 yes,
192.0.0.170/32 no, 192.0.0.171/32 no, 192.0.2.0/24 no, 192.31.196.0/24 yes, 192.52.193.0/24 yes,
192.88.99.0/24 no, 192.88.99.2/32 no, 192.168.0.0/16 no, 192.175.48.0/24 yes, 198.18.0.0/15 no,
198.51.100.0/24 no, 203.0.113.0/24 no, 240.0.0.0/4 no, 255.255.255.255/32 no,
::1/128 no, ::/128 no, ::ffff:0:0/96 no, 64:ff9b::/96 yes, 64:ff9b:1::/48 no, 100::/64 no, 100:0:0:1::/64 no,
2001::/23 no, 2001::/32 no, 2001:1::1/128 yes, 2001:1::2/128 yes, 2001:1::3/128 yes, 2001:2::/48 no,
2001:3::/32 yes, 2001:4:112::/48 yes, 2001:10::/28 no, 2001:20::/28 yes, 2001:30::/28 yes, 2001:db8::/32 no,
2002::/16 no, 2620:4f:8000::/48 yes, 3fff::/20 no, 5f00::/16 no, fc00::/7 no, fe80::/10 no
"""
# Refused though reachable: protocols have these for themselves, and no server answers there.
STRICTER = ["192.0.0.0/24", "2001::/23"]
# Judged by the IPv4 address that they stand for.
STANDING_FOR_IPV4 = ["::ffff:0:0/96", "64:ff9b::/96", "2001::/32", "2002::/16"]


def test_no_special_purpose_address_is_public_unless_the_registry_says_so() -> None:
    blocks = [entry.split() for entry in REGISTRY.replace("\n", " ").split(",")]
    assert len(blocks) == 51
    for text, reachable in blocks:
        block = ip_network(text)
        public = reachable == "yes" and not any(
            block.version == each.version and block.subnet_of(each)  # type: ignore[arg-type]
            for each in map(ip_network, STRICTER)
        )
        if text in STANDING_FOR_IPV4:
            continue
        for address in (block[0], block[block.num_addresses // 2], block[-1]):
            assert bool(refusal(str(address), inside=False)) != public, address
    for inner in ("127.0.0.1", "10.0.0.1", "192.0.0.8", "169.254.169.254"):
        number = int(ip_address(inner))
        for standing in (
            0xFFFF << 32 | number,
            0x64FF9B << 96 | number,
            0x20010000 << 96 | number ^ 0xFFFFFFFF,
            0x2002 << 112 | number << 80,
        ):
            assert refusal(str(IPv6Address(standing)), inside=False), IPv6Address(standing)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_ones_may_always_be(address: str) -> None:
    assert not refusal(address, inside=False)


@pytest.mark.parametrize("address", INSIDE)
def test_those_inside_a_network_only_if_allowed(address: str) -> None:
    assert refusal(address, inside=False)
    assert not refusal(address, inside=True)


@pytest.mark.parametrize("address", NEVER)
def test_some_never(address: str) -> None:
    assert refusal(address, inside=False)
    assert refusal(address, inside=True)
