"""Templates of this project: an HTML tag may run over several lines and is still sent on one."""

from __future__ import annotations

import re

from django.template import Origin
from django.template.loaders import filesystem

_PART = r"\{%.*?%\}|\{\{.*?\}\}"
_TAG = re.compile(rf"""<[a-zA-Z](?:{_PART}|"(?:{_PART}|[^"])*"|'(?:{_PART}|[^'])*'|[^<>"'])*>""")


class Loader(filesystem.Loader):
    """Joins the lines of a tag: its indentation would travel with every frame that draws it."""

    def get_contents(self, origin: Origin) -> str:
        """The template's source."""
        return join_tags(super().get_contents(origin))


def join_tags(source: str) -> str:
    """The source with each HTML tag on one line. Text and template tags stay as they are."""
    return _TAG.sub(lambda tag: re.sub(r"\n\s*", " ", re.sub(r"\n\s*(?=>)", "", tag[0])), source)
