"""Which program a command runs: named only where nothing else can be meant."""

from __future__ import annotations

import pytest

from chat.models.program import program_of


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("ls", "ls"),
        ("  ls -la src  \n", "ls"),
        ("python3 -m unittest -v", "python3"),
        ("python3.11\tx.py", "python3.11"),
        ("git commit -m 'mend it; $(rm -rf /) & more'", "git"),
        ('git commit -m "mend it; (all of it) & more"', "git"),
        ("python3 -c 'print(1)\nprint(2)'", "python3"),
        ("grep -rn 'a|b' *.py", "grep"),
        ("cat ~/x [ab]?.txt a=b", "cat"),
        ("7z l x.7z", "7z"),
        ("echo it's fine'", "echo"),
        ("g++ -o x x.cc", "g++"),
    ],
)
def test_one_program_with_arguments_has_a_name(command: str, program: str) -> None:
    assert program_of(command) == program


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
    assert program_of(command) == ""


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
    assert program_of(command) == ""


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'rm x'", "sh x.sh", "env rm x", "xargs rm", "nohup rm x", "nice rm x", "timeout 5 rm x",
        "time rm x", "exec rm x", "eval 'rm x'", "source x.sh", "command rm x", "builtin eval x", "sudo rm x",
        "find . -exec rm {} +", "find . -delete", "watch rm x", "strace rm x", "busybox rm x", "setsid rm x",
        "trap 'rm x' EXIT", "printf -v 'x[$(rm x)]' y", "test -v 'x[$(rm x)]'", "mapfile -C 'rm x' -c 1 y",
        "read 'x[$(rm x)]'", "unset 'x[$(rm x)]'", "alias ls='rm x'", "cd /tmp", "export PATH=/workspace",
        "if true", "while true", "function ls", "coproc ls", "hash -p ./x ls", "enable -f ./x.so ls",
    ],
)  # fmt: skip
def test_what_runs_another_program_has_none(command: str) -> None:
    assert program_of(command) == ""
