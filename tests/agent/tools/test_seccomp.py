"""The filter's verdicts for both machine types (this machine's is also tested for real)."""

from __future__ import annotations

import errno
import struct

import pytest

from chat.agent.sandbox import seccomp

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOW, _KILL = "allow", "kill"


def _decide(machine: str, number: int, *arguments: int, arch: int | None = None) -> str | int:
    """The kernel's verdict on a call: a small interpreter of classic BPF."""
    data = struct.pack("=IIQ6Q", number, arch or _ARCH[machine], 0, *arguments, *[0] * (6 - len(arguments)))
    code = list(struct.iter_unpack("=HBBI", seccomp.program(machine)))
    place, loaded = 0, 0
    while True:
        kind, yes, no, value = code[place]
        place += 1
        if kind == 0x06:
            return {0x7FFF0000: _ALLOW, 0x80000000: _KILL}.get(value, value & 0xFFFF)
        if kind == 0x20:
            loaded = struct.unpack_from("=I", data, value)[0]
        else:
            true = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[kind]
            place += yes if true else no


@pytest.mark.parametrize(("machine", "socket"), [("x86_64", 41), ("aarch64", 198)])
def test_only_four_families_of_sockets(machine: str, socket: int) -> None:
    for number in (socket, {41: 53, 198: 199}[socket]):
        for family in range(64):
            expected = _ALLOW if family in (1, 2, 10, 16) else errno.EAFNOSUPPORT
            assert _decide(machine, number, family) == expected


@pytest.mark.parametrize(("machine", "ioctl"), [("x86_64", 16), ("aarch64", 29)])
def test_no_typing_into_terminals(machine: str, ioctl: int) -> None:
    assert _decide(machine, ioctl, 0, 0x5412) == errno.EPERM
    assert _decide(machine, ioctl, 0, 0x1_0000_5412) == errno.EPERM
    assert _decide(machine, ioctl, 0, 0x541C) == errno.EPERM
    assert _decide(machine, ioctl, 0, 0x5413) == _ALLOW


@pytest.mark.parametrize(("machine", "clone", "fallocate"), [("x86_64", 56, 285), ("aarch64", 220, 47)])
def test_threads_but_no_user_namespaces_and_no_reserving(machine: str, clone: int, fallocate: int) -> None:
    assert _decide(machine, clone, 0x3D0F00) == _ALLOW
    assert _decide(machine, clone, 0x10000011) == errno.EPERM
    assert _decide(machine, fallocate) == errno.EOPNOTSUPP
    assert _decide(machine, 435) == errno.ENOSYS


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_another_architecture_is_killed(machine: str) -> None:
    assert _decide(machine, 0, arch=0x40000003) == _KILL
    assert _decide(machine, 0) == _ALLOW
    assert seccomp.supported(machine)


def test_x32_is_killed() -> None:
    assert _decide("x86_64", 0x40000000) == _KILL


def test_other_processors_are_not_known() -> None:
    assert not seccomp.supported("riscv64")
