"""The plain program that a command runs: named only if it can run nothing else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from chat.models.tool_call import PLAIN_PROGRAMS, shell_program


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("ls", "ls"),
        ("  ls -la src  \n", "ls"),
        ("wc\t-l x.py", "wc"),
        ("echo 'mend it; $(rm -rf /) & more'", "echo"),
        ('echo "mend it; (all of it) & more"', "echo"),
        ("grep -e 'print(1)\nprint(2)' x.py", "grep"),
        ("grep -rn 'a|b' *.py", "grep"),
        ("cat ~/x [ab]?.txt a=b", "cat"),
        ("echo it's fine'", "echo"),
    ],
)
def test_one_program_with_arguments_has_a_name(command: str, program: str) -> None:
    assert shell_program(command) == program


@pytest.mark.parametrize(
    "command",
    [
        "ls; rm x", "ls && rm x", "ls || rm x", "ls & rm x", "ls &", "ls | sh", "ls |& sh", "ls\nrm x",
        "ls\rrm x", "ls $(rm x)", "ls `rm x`", 'ls "$(rm x)"', 'ls "`rm x`"', "ls $X", 'ls "$X"',
        "ls ${X:=y}", "ls $((1))", "ls > x", "ls >> x", "ls < x", "ls 2>&1", "ls >& x", "ls <(rm x)",
        "ls << E\nE", "ls <<< x",
        "ls \\\nx", "\\ls", 'ls "\\$(x)"', "(ls)", "{ ls; }", "{ls,-a}", "ls {a,b}", "!ls", "! ls", "ls # x",
        "ls 'x", 'ls "x', "ls x'", "ls\x00", "ls '\x1b[2J'", "ls\x0bx",
    ],
)  # fmt: skip
def test_more_than_one_program_has_none(command: str) -> None:
    assert shell_program(command) == ""


@pytest.mark.parametrize(
    "command",
    [
        "", "   ", "X=1 ls", "PATH=/workspace ls", "LD_PRELOAD=./x.so ls", "x[0]=1 ls", "./run.sh",
        "/usr/bin/ls",
        "../x", "~/x", "'ls' x", '"ls"', "l's'", "l?", "*", "$0", "-x", "%1", ".", ": x", "[ -v x ]",
        "[[ x ]]",
        "ls\u00a0x", "ls\u2003x", "lѕ x", "=ls",
    ],
)  # fmt: skip
def test_a_first_word_that_is_no_plain_name_has_none(command: str) -> None:
    assert shell_program(command) == ""


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'rm x'", "sh x.sh", "env rm x", "xargs rm", "nohup rm x", "nice rm x", "timeout 5 rm x",
        "time rm x", "exec rm x", "eval 'rm x'", "source x.sh", "command rm x", "builtin eval x", "sudo rm x",
        "find . -exec rm {} +", "find . -delete", "watch rm x", "strace rm x", "busybox rm x", "setsid rm x",
        "trap 'rm x' EXIT", "printf -v 'x[$(rm x)]' y", "test -v 'x[$(rm x)]'", "mapfile -C 'rm x' -c 1 y",
        "read 'x[$(rm x)]'", "unset 'x[$(rm x)]'", "alias ls='rm x'", "cd /tmp", "export PATH=/workspace",
        "if true", "while true", "function ls", "coproc ls", "hash -p ./x ls", "enable -f ./x.so ls",
        "linux64 rm x", "x86_64 rm x", "i386 rm x", "choom -n 0 rm x", "sotruss rm x", "run-parts ./hooks",
        "start-stop-daemon -S -x /bin/rm x", "git -c alias.x='!rm x' x", "git diff", "make", "awk '{}' x",
        "tar -cf x.tar --checkpoint=1 --checkpoint-action=exec=./x .", "sed '1e rm x' x",
        "sort --compress-program=./x x", "split --filter=./x x", "install -s --strip-program=./x a b",
        "diff -l a b", "file -z x", "dd of=/proc/self/mem", "python3 x.py", "perl x", "ruby x", "node x",
        "pytest", "pip install .", "cargo run", "npm test", "g++ x.cc", "less x", "man ls", "vi x", "ed x",
        "zip -T -TT ./x a b", "rsync -e ./x a b", "locale -a", "ps", "ld.so ./x", "7z l x.7z", "which ls",
        "dpkg -i x.deb", "unheard-of x", "ls2", "LS",
    ],
)  # fmt: skip
def test_what_may_run_another_program_has_none(command: str) -> None:
    assert shell_program(command) == ""


def test_no_plain_program_calls_a_function_that_runs_another() -> None:
    """Looks at the names of functions that each program takes from the C library."""
    runs_others = re.compile(rb"\0(exec[vl]\w*|fexecve|posix_spawnp?|popen|system|wordexp)\0")
    path = "/usr/local/bin:/usr/bin:/bin"
    assert runs_others.search(Path(shutil.which("env", path=path) or "").read_bytes()), (
        "the test sees nothing"
    )
    for name in sorted(PLAIN_PROGRAMS):
        found = Path(shutil.which(name, path=path) or "missing").read_bytes()
        assert found.startswith(b"\x7fELF"), f"{name} is a script"
        assert not runs_others.search(found), name
