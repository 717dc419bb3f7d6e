"""Sentences of chat.agent.mcp about servers and their tools, in the reader's language.

They are stored in English, as the model reads them.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

TEMPLATES = (
    gettext_noop("It cannot be reached."),
    gettext_noop("It did not answer in time."),
    gettext_noop("It gave no answer within %(seconds)s seconds."),
    gettext_noop("It answered with an error of the protocol."),
    gettext_noop("It answered in a form that the protocol does not know."),
    gettext_noop("The connection failed."),
    gettext_noop("The connection ended."),
    gettext_noop("It could not be started: %(reason)s."),
    gettext_noop("It ended with exit code 127."),
    gettext_noop("It ended with exit code %(code)s."),
    gettext_noop("It closed its output."),
    gettext_noop("It wrote without end, and was stopped."),
    gettext_noop("It used more than %(size)s MiB of memory."),
    gettext_noop("Its folder holds more than %(size)s MiB."),
    gettext_noop("It is to read %(folder)s, which is no folder here."),
    gettext_noop("It lists more than %(count)s tools, or no end of pages of them."),
    gettext_noop("Commands cannot run in a sandbox here: %(reason)s."),
    gettext_noop("its schema cannot be written as JSON"),
    gettext_noop("its schema has %(size)s characters, and %(limit)s are the limit"),
    gettext_noop("its schema is of type %(kind)s, and arguments are an object"),
    gettext_noop("its schema is a reference to another one"),
    gettext_noop("its schema refers to another document"),
    gettext_noop("its schema is nested more than %(depth)s deep"),
    gettext_noop("its schema has something in it that is no schema"),
)
_VALUE = re.compile(r"%\\\((\w+)\\\)s")  # as re.escape leaves it


def mcp_sentence(sentence: str) -> str:
    """The sentence in the current language; one that is not known stays as it is."""
    for template, pattern in _PATTERNS:
        if found := pattern.fullmatch(sentence):
            return _(template) % found.groupdict() if found.groupdict() else _(template)
    return sentence


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_VALUE.sub(r"(?P<\1>.+)", re.escape(template)), re.DOTALL)


_PATTERNS = [(template, _pattern(template)) for template in TEMPLATES]
