"""Which program a shell command runs, where that can be said for certain."""

from __future__ import annotations

import re

# A name that is looked up on the sandbox's fixed PATH. A path may lead to a file that the agent has written.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
# What makes more of a command than one program with its arguments: further commands, substitutions,
# redirections, escapes, comments, braces that expand to words.
_SYNTAX = frozenset(";&|<>()`$\\{}#!\n\r")

_KEYWORDS = (
    "if then else elif fi case esac for select while until do done in function time coproc"  # bash's own
)
# A builtin may run what its arguments say (eval, trap, mapfile -C, even [ -v 'x[$(...)]' ]), or change what
# a name means. These few cannot, and are left out of the list: echo, false, pwd, true.
_BUILTINS = (
    "alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown "
    "enable eval exec exit export fc fg getopts hash help history jobs kill let local logout mapfile popd "
    "printf pushd read readarray readonly return set shift shopt source suspend test times trap type typeset "
    "ulimit umask unalias unset wait"
)
# Their business is to run another program, which the argument names.
_RUNNERS = (
    "ash bash busybox chroot chrt csh dash doas env find fish flock gdb ionice ksh ltrace nice nohup nsenter "
    "parallel prlimit runuser rbash screen script setarch setpriv setsid sh ssh stdbuf strace su sudo "
    "taskset tcsh timeout tmux toybox unshare watch xargs zsh"
)
_OTHERS = frozenset(f"{_KEYWORDS} {_BUILTINS} {_RUNNERS}".split())


def program_of(command: str) -> str:
    """The one program that bash runs for the command, by name; empty where it is none, several, or any.

    Takes a plain name with plain or quoted arguments. Anything that could run another program besides, or
    make the name mean something else, gives an empty text, and so does whatever is not understood.
    """
    line = command.strip(" \t\n")
    name = re.split(r"[ \t]", line, maxsplit=1)[0]
    is_program = _NAME.fullmatch(name) and name not in _OTHERS
    return name if is_program and _is_simple(line) else ""


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
