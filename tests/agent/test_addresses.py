"""Which addresses may be spoken to."""

from __future__ import annotations

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
]
NEVER = [
    "0.0.0.0",
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
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


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:1.1.1.1"])
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
