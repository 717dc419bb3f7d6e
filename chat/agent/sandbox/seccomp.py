"""The system calls denied to commands, as a classic BPF program for seccomp.

bubblewrap's namespaces already confine what a command reaches; this denies what they do not cover (sockets to
the virtual machine's host, typing into a terminal, reserving disk space) and the usual entry points of kernel
exploits.
"""

from __future__ import annotations

import errno
import functools
import platform
import struct
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = (
    0,
    4,
    16,
)  # offsets in struct seccomp_data; arguments are 8 bytes each, low half first

_FAMILIES = (
    1,
    2,
    10,
    16,
)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: they end at the sandbox's own network namespace
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_NEW_USER_NAMESPACE = 0x10000000
_X32 = 0x40000000

# Denied on every machine; x86-64 and arm64 number.
_DENIED = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
# Fail with ENOSYS, so that programs fall back: filters cannot see the flags of clone3.
_MISSING = {"clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
_X86_ONLY = {
    "_sysctl": 156,
    "ioperm": 173,
    "iopl": 172,
    "modify_ldt": 154,
    "sysfs": 139,
    "uselib": 134,
    "ustat": 136,
}


@dataclass(frozen=True)
class _Machine:
    column: int
    arch: int
    clone: int
    fallocate: int
    ioctl: int
    socket: int
    socketpair: int


_MACHINES = {
    "x86_64": _Machine(0, 0xC000003E, clone=56, fallocate=285, ioctl=16, socket=41, socketpair=53),
    "aarch64": _Machine(1, 0xC00000B7, clone=220, fallocate=47, ioctl=29, socket=198, socketpair=199),
}


def supported(machine: str = "") -> bool:
    """Whether there is a filter for this machine type (`uname -m`; default: this machine's)."""
    return (machine or platform.machine()) in _MACHINES


@functools.cache
def program(machine: str = "") -> bytes:
    """The filter for bubblewrap's --seccomp: an array of struct sock_filter."""
    name = machine or platform.machine()
    known = _MACHINES[name]
    # The architecture comes first: call numbers depend on it.
    code = [_load(_ARCH), _jump(_EQUAL, known.arch, 1, 0), _return(_KILL), _load(_NUMBER)]
    if name == "x86_64":
        code += [_jump(_AT_LEAST, _X32, 0, 1), _return(_KILL)]
        code += _fail_calls(list(_X86_ONLY.values()), errno.EPERM)
    code += _fail_calls([numbers[known.column] for numbers in _DENIED.values()], errno.EPERM)
    code += _fail_calls(list(_MISSING.values()), errno.ENOSYS)
    # Reserving space is instant, faster than any disk check; programs write zeros instead.
    code += _fail_calls([known.fallocate], errno.EOPNOTSUPP)
    code += _only_families(known.socket) + _only_families(known.socketpair)
    code += _without_values(known.ioctl, 1, _TERMINAL_INPUT)
    code += _when(
        known.clone, [_load(_ARGUMENTS), _jump(_ANY_BIT, _NEW_USER_NAMESPACE, 0, 1), _fail(errno.EPERM)]
    )
    return b"".join([*code, _return(_ALLOW)])


def _fail_calls(numbers: list[int], error: int) -> list[bytes]:
    return [part for number in numbers for part in (_jump(_EQUAL, number, 0, 1), _fail(error))]


def _only_families(number: int) -> list[bytes]:
    count = len(_FAMILIES)
    checks = [_jump(_EQUAL, family, count - index, 0) for index, family in enumerate(_FAMILIES)]
    return _when(number, [_load(_ARGUMENTS), *checks, _fail(errno.EAFNOSUPPORT)])


def _without_values(number: int, argument: int, values: tuple[int, ...]) -> list[bytes]:
    # The kernel only uses the low half, so only that is compared.
    checks = [part for value in values for part in (_jump(_EQUAL, value, 0, 1), _fail(errno.EPERM))]
    return _when(number, [_load(_ARGUMENTS + 8 * argument), *checks])


def _when(number: int, body: list[bytes]) -> list[bytes]:
    return [_jump(_EQUAL, number, 0, len(body)), *body, _load(_NUMBER)]


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _jump(test: int, value: int, yes: int, no: int) -> bytes:
    return struct.pack("=HBBI", test, yes, no, value)


def _return(action: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, action)


def _fail(error: int) -> bytes:
    return _return(_ERRNO | error)
