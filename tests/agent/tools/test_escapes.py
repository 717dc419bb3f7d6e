"""Attempts of a hostile command to escape."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket

import pytest

from chat.agent.sandbox import CommandOutcome, Sandbox
from tests.agent.tools.people import Server

# Each prints ESCAPED if it works. {secret} and {folder} are paths on the server, {pid} is its process.
ATTEMPTS = {
    "server's environment": "grep -aq SERVER_SECRET /proc/*/environ && echo ESCAPED",
    "environment of process 1": "tr '\\0' '\\n' < /proc/1/environ | grep -qv '^PATH=' && echo ESCAPED",
    "server's process": "[ -e /proc/{pid} ] && echo ESCAPED; kill -0 {pid} && echo ESCAPED",
    "paths in the words of process 1": (
        "tr '\\0' '\\n' < /proc/1/cmdline | sed '/^-c$/,$d' | grep -q {folder} && echo ESCAPED"
    ),
    "another's file by path": "cat {secret} && echo ESCAPED",
    "another's file by symbolic link": "ln -s {secret} link; cat link && echo ESCAPED",
    "another's file by ..": "cat ../other/secret.txt ../../other/secret.txt && echo ESCAPED",
    "another's file by /proc/1/root": "cat /proc/1/root{secret} /proc/1/cwd{secret} && echo ESCAPED",
    "another's file by an open descriptor": "cat /proc/*/fd/*/../../other/secret.txt && echo ESCAPED",
    "inherited descriptors": "ls /proc/self/fd | grep -qvE '^[0123]$' && echo ESCAPED",
    "the server's old root": "ls -d /oldroot /newroot /.old && echo ESCAPED",
    "/etc/shadow": "cat /etc/shadow && echo ESCAPED",
    "/etc/hostname": "cat /etc/hostname && echo ESCAPED",
    "/root": "ls /root && echo ESCAPED",
    "/home": "ls /home && echo ESCAPED",
    "/var": "ls /var && echo ESCAPED",
    "/sys": "ls /sys/kernel && echo ESCAPED",
    "write to /": "touch /x && echo ESCAPED",
    "write to /usr": "touch /usr/x && echo ESCAPED",
    "write to /etc": "touch /etc/x && echo ESCAPED; echo x >> /etc/passwd && echo ESCAPED",
    "write to /dev": "touch /dev/x && echo ESCAPED",
    "core_pattern": "echo x > /proc/sys/kernel/core_pattern && echo ESCAPED",
    "own namespaces' sysctl": "echo 0 > /proc/sys/net/ipv4/ip_forward && echo ESCAPED",
    "sysrq": "echo h > /proc/sysrq-trigger && echo ESCAPED",
    "adjust the out-of-memory killer": "echo -1000 > /proc/self/oom_score_adj && echo ESCAPED",
    "hard link across mounts": "ln /usr/bin/env env && echo ESCAPED",
    "a set-user program": "cp /usr/bin/id id; chmod u+s id; [ $(./id -u) = 1000 ] || echo ESCAPED",
    "a device": "mknod disk b 254 0 && echo ESCAPED",
    "a user namespace": "unshare --user true && echo ESCAPED",
    "a mount namespace": "unshare --mount true && echo ESCAPED",
    "mount": "mount -t tmpfs none /tmp && echo ESCAPED",
    "bind mount": "mount --bind /tmp /usr && echo ESCAPED",
    "umount": "umount /workspace && echo ESCAPED; umount -l /proc/sys && echo ESCAPED",
    "remount": "mount -o remount,rw,bind /usr && echo ESCAPED",
    "chroot": "/usr/sbin/chroot /tmp true && echo ESCAPED",
    "nsenter": "nsenter -t 1 -m true && echo ESCAPED",
    "capabilities": "grep -E 'Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | grep -qv '0\\{16\\}' && echo ESCAPED",
    "new privileges": "grep -q 'NoNewPrivs:.0' /proc/self/status && echo ESCAPED",
    "the terminal": "(: < /dev/tty) && echo ESCAPED",
    "a route": "[ $(wc -l < /proc/net/route) -gt 1 ] && echo ESCAPED",
    "an interface": "ls /proc/sys/net/ipv4/conf | grep -qvE '^(all|default|lo)$' && echo ESCAPED",
    "TCP to the server": "(: < /dev/tcp/127.0.0.1/{port}) && echo ESCAPED",
    "a Unix socket of the server": (
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{secret}.socket')\" "
        "&& echo ESCAPED"
    ),
    "UDP": "(echo x > /dev/udp/192.0.2.1/53) && echo ESCAPED",
    "names": "getent hosts example.org && echo ESCAPED",
    "the kernel's log": "dmesg && echo ESCAPED",
    "host name": "hostname elsewhere && echo ESCAPED",
    "the clock": "date -s 2000-01-01 && echo ESCAPED",
    "files of the machine's processes": "[ $(ls -d /proc/[0-9]* | wc -l) -gt 8 ] && echo ESCAPED",
    "raised limits": "ulimit -n 4096 && echo ESCAPED; ulimit -f unlimited && echo ESCAPED",
}


@pytest.fixture
def listener() -> object:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made.getsockname()[1]


def test_no_command_escapes(server: Server, listener: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_SECRET", "SERVER_SECRET")
    named = {"secret": server.secret, "folder": server.folder, "pid": os.getpid(), "port": listener}

    async def scenario() -> list[CommandOutcome]:
        commands = [_filled_in(command, named) for command in ATTEMPTS.values()]
        runs = (Sandbox().run(f"{command}\necho tried", server.workspace, 60) for command in commands)
        return await asyncio.gather(*runs)

    with socket.socket(socket.AF_UNIX) as host:
        host.bind(f"{server.secret}.socket")
        host.listen()
        outcomes = server.run(scenario)
    for attempt, outcome in zip(ATTEMPTS, outcomes, strict=True):
        assert outcome.output.rstrip().endswith("tried"), attempt
        for sign in ("ESCAPED", "command not found", "a secret"):
            assert sign not in outcome.output, attempt


def _filled_in(command: str, named: dict[str, object]) -> str:
    for name, value in named.items():
        command = command.replace(f"{{{name}}}", str(value))
    return command


CALLS = {
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "kernel crypto": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "packet": "socket.socket(17, socket.SOCK_RAW)",
    "bluetooth": "socket.socket(31, socket.SOCK_RAW)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "TCP": "socket.create_connection(('1.1.1.1', 80), 2)",
    "abstract": "socket.socket(socket.AF_UNIX).connect('\\0sandbox-test')",
    "typing into a terminal": "fcntl.ioctl(os.openpty()[1], 0x5412, b'x')",
    "typing, with high bits": "ioctl(os.openpty()[1], 0x100005412, b'x')",
    "a console's clipboard": "fcntl.ioctl(os.openpty()[1], 0x541C, b'x')",
    "io_uring": "call(425, 1, 0)",
    "bpf": "call({'x86_64': 321}.get(machine, 280), 0, 0, 0)",
    "userfaultfd": "call({'x86_64': 323}.get(machine, 282), 0)",
    "perf_event_open": "call({'x86_64': 298}.get(machine, 241), 0, 0, 0, 0, 0)",
    "keyctl": "call({'x86_64': 250}.get(machine, 219), 0, -3, 0)",
    "add_key": "call({'x86_64': 248}.get(machine, 217), b'user', b'x', b'y', 1, -3)",
    "ptrace": "call({'x86_64': 101}.get(machine, 117), 0, 0, 0, 0)",
    "process_vm_readv": "call({'x86_64': 310}.get(machine, 270), 1, 0, 0, 0, 0, 0)",
    "open_by_handle_at": "call({'x86_64': 304}.get(machine, 265), 0, 0, 0)",
    "unshare": "call({'x86_64': 272}.get(machine, 97), 0x10000000)",
    "clone of a user namespace": "call({'x86_64': 56}.get(machine, 220), 0x10000011, 0, 0, 0, 0)",
    "setns": "call({'x86_64': 308}.get(machine, 268), 0, 0)",
    "fsopen": "call(430, b'tmpfs', 0)",
    "open_tree": "call(428, -100, b'/', 1)",
    "kexec_load": "call({'x86_64': 246}.get(machine, 104), 0, 0, 0, 0)",
    "init_module": "call({'x86_64': 175}.get(machine, 105), 0, 0, b'')",
    "swapon": "call({'x86_64': 167}.get(machine, 224), b'/x', 0)",
    "reboot": "call({'x86_64': 169}.get(machine, 142), 0, 0, 0, 0)",
    "acct": "call({'x86_64': 163}.get(machine, 89), 0)",
    "memfd_secret": "call(447, 0)",
}
_TRY = """
import ctypes, fcntl, json, os, platform, socket, sys
machine = platform.machine()
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def call(*words):
    check(libc.syscall(*(ctypes.c_long(w) if isinstance(w, int) else w for w in words)))
def ioctl(file, request, text):
    check(libc.ioctl(ctypes.c_int(file), ctypes.c_ulong(request), text))
def attempt(expression):
    try:
        eval(expression)
        return "ESCAPED"
    except OSError:
        return "refused"
print(json.dumps({name: attempt(expression) for name, expression in json.loads(sys.argv[1]).items()}))
"""


def test_the_kernel_refuses(server: Server) -> None:
    with socket.socket(socket.AF_UNIX) as host:
        host.bind("\0sandbox-test")
        host.listen()
        outcome = server.bash(f"python3 -c {shlex.quote(_TRY)} {shlex.quote(json.dumps(CALLS))}")
    assert json.loads(outcome.output) == dict.fromkeys(CALLS, "refused")


def test_calls_of_a_32_bit_program_are_refused_or_killed(server: Server) -> None:
    # int 0x80 reaches the 32-bit table, whose numbers mean other calls.
    program = (
        "import ctypes, mmap\n"
        "m = mmap.mmap(-1, 4096, prot=7)\n"
        "m.write(bytes.fromhex('b814000000cd80c3'))\n"  # mov eax, 20 (getpid); int 0x80; ret
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\n"
        "print('ESC' + 'APED')\n"
    )
    outcome = server.bash(f"python3 -c {shlex.quote(program)}")
    assert "ESCAPED" not in outcome.output
    assert outcome.exit_code > 128


def test_what_an_honest_command_needs_is_there(server: Server) -> None:
    loopback = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "c = socket.create_connection(s.getsockname()); print('loopback', bool(c))"
    )
    outcome = server.bash(
        "set -e\nid -un\npwd\necho text > file; cat file; rm file; mkdir -p a/b; mv a c; rm -r c\n"
        f"python3 -c {shlex.quote(loopback)}\n"
        "python3 -c \"import ssl, ctypes, multiprocessing, sqlite3; print('modules')\"\n"
        "echo x > /tmp/x; echo x > /dev/shm/x; echo $HOME; seq 3 | sort -r | head -1; date > /dev/null\n"
        "cat <(echo substituted); sleep 0 & wait; mktemp > /dev/null"
    )
    lines = "user /workspace text loopback,True modules /tmp 3 substituted".replace(",", " ")
    assert outcome.output.split() == lines.split()
    assert outcome.ok
