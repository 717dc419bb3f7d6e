"""The one program that a shell command runs, if it is a plain one."""

from __future__ import annotations

import re

# What makes more of a command than one program with its arguments: further commands, substitutions,
# redirections, escapes, comments, braces that expand to words.
_SYNTAX = frozenset(";&|<>()`$\\{}#!\n\r")

# Programs that run no other program, whatever their arguments and the files they read. An allow-list, because
# programs that run others cannot be enumerated (choom, linux64, run-parts, sotruss, git with an alias).
# One option keeps these out: sort (--compress-program), split (--filter), install (--strip-program),
# diff (-l runs pr), file (-z runs gzip), printf (-v 'x[$(...)]', in bash), dd (seek= in /proc/self/mem).
PLAIN_PROGRAMS = frozenset(
    """
    basename cat chmod cksum cmp comm cp cut date df dirname du echo expand false fold grep head id join ln ls
    md5sum mkdir mv nl nproc od paste pwd readlink realpath rev rm rmdir seq sha1sum sha256sum sha512sum
    sleep stat tac tail touch tr true truncate uname unexpand uniq wc whoami
    """.split()  # noqa: SIM905 - a list of words reads better
)


def program_of(command: str) -> str:
    """The plain program that bash runs for the command; empty if it may run anything else.

    Takes a bare name, which is looked up on the sandbox's fixed PATH, with plain or quoted arguments. A path
    may lead to a file that the agent has written, so that it is no plain program.
    """
    line = command.strip(" \t\n")
    name = re.split(r"[ \t]", line, maxsplit=1)[0]
    return name if name in PLAIN_PROGRAMS and _is_simple(line) else ""


def _is_simple(line: str) -> bool:
    """Whether the line is one command, with nothing in it that bash would run or expand to a command."""
    quote = ""
    for character in line:
        if character < " " and character not in "\t\n":
            return False
        if quote == "'":
            quote = "" if character == "'" else quote
        elif quote == '"':
            if character in "$`\\":
                return False
            quote = "" if character == '"' else quote
        elif character in "'\"":
            quote = character
        elif character in _SYNTAX:
            return False
    return not quote
