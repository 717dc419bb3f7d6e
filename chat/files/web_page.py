"""An HTML file of a workspace, as a page that can be shown in a frame."""

from __future__ import annotations

import html
import os
import posixpath
import re
from collections.abc import Callable
from urllib.parse import quote, unquote, urlsplit

from chat.agent.pictures import data_url
from chat.agent.workspace import Workspace, WorkspaceError
from chat.files.archive import opened_file, read_head
from chat.files.preview import SVG_HEAD, picture_type, text_of

MAX_PAGE_BYTES = 1024 * 1024  # of the HTML file, and of each stylesheet and script
MAX_INLINED_BYTES = 8 * 1024 * 1024  # of stylesheets, pictures and scripts together
MAX_INLINED_FILES = 1000  # that are looked for

_ATTRIBUTE = r"""(?<![\w-]){name}\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+)"""
_STYLESHEET = re.compile(r"<link(?=[\s/])([^<>]*)>", re.IGNORECASE)
_PICTURE = re.compile(r"(<img\s[^<>]*?)" + _ATTRIBUTE.format(name="src"), re.IGNORECASE)
_SCRIPT = re.compile(r"(<script\s[^<>]*?)" + _ATTRIBUTE.format(name="src"), re.IGNORECASE)
_LINK = re.compile(r"(<a\s[^<>]*?)" + _ATTRIBUTE.format(name="href"), re.IGNORECASE)
_HREF = re.compile(_ATTRIBUTE.format(name="href"), re.IGNORECASE)
_IS_STYLESHEET = re.compile(r"""\brel\s*=\s*["']?stylesheet\b""", re.IGNORECASE)
# What could contact a server in spite of a policy (`preconnect`, `dns-prefetch`), or lead away. The tokenizer
# of HTML decodes nothing in the name of an element, so none is missed.
_REACHES_OUT = re.compile(r"<(?:link|meta|base)(?=[\s/>])", re.IGNORECASE)
_RUNS = re.compile(r"<script[\s/>]|<[a-z][^<>]*\son[a-z]{2,24}\s?=", re.IGNORECASE)
_JAVASCRIPT = "text/javascript;charset=utf-8"
_NOTHING = "<basefont"  # is allowed where those are, and has no effect


def web_page_of(workspace: Workspace, path: str, *, scripts: bool = False) -> str:
    """The HTML file with its stylesheets and pictures inside, if they are files of the workspace.

    With `scripts` those are, too. It contacts no server as long as its policy forbids requests. Links open in
    a new tab; those to files of the workspace lead to `../file/`. Raises WorkspaceError if there is no such
    file, or if it is no text.
    """
    data, size = read_head(workspace, path, MAX_PAGE_BYTES)
    decoded = text_of(data, cut=size > len(data))
    if decoded is None:
        raise WorkspaceError(f"{path} is not text.")
    files = _Files(workspace, posixpath.dirname(path))
    text = _STYLESHEET.sub(files.stylesheet, decoded[0])
    text = _REACHES_OUT.sub(_NOTHING, text)
    text = _PICTURE.sub(files.picture, text)
    text = _SCRIPT.sub(files.script, text) if scripts else text
    return _LINK.sub(files.link, text)


def has_scripts(text: str) -> bool:
    """Whether a page would do more if its scripts ran."""
    return bool(_RUNS.search(text))


class _Files:
    """What a page in `folder` refers to, up to a total size and a number of files."""

    def __init__(self, workspace: Workspace, folder: str) -> None:
        self._workspace = workspace
        self._folder = folder
        self._left = MAX_INLINED_BYTES
        self._files_left = MAX_INLINED_FILES

    def stylesheet(self, element: re.Match[str]) -> str:
        href = _HREF.search(element[1])
        if not href or not _IS_STYLESHEET.search(element[1]):
            return element[0]
        data = self._read(href[1], MAX_PAGE_BYTES, lambda _path, _head: True)
        decoded = text_of(data) if data else None
        # `</style` would end the element; in CSS the escape means the same.
        return "<style>" + decoded[0].replace("</", r"<\/") + "</style>" if decoded else element[0]

    def picture(self, element: re.Match[str]) -> str:
        data = self._read(element[2], MAX_INLINED_BYTES, picture_type)
        if not data:
            return element[0]
        return f'{element[1]}src="{data_url(picture_type(_address(element[2]), data), data)}"'

    def script(self, element: re.Match[str]) -> str:
        data = self._read(element[2], MAX_PAGE_BYTES, lambda _path, _head: True)
        return f'{element[1]}src="{data_url(_JAVASCRIPT, data)}"' if data else element[0]

    def link(self, element: re.Match[str]) -> str:
        address = _address(element[2])
        if address.startswith("#"):
            return element[0]
        path = self._path(address)
        href = f'"../file/?path={quote(path)}"' if path else element[2]
        return f'{element[1]}target="_blank" rel="noreferrer" href={href}'

    def _read(self, value: str, limit: int, is_wanted: Callable[[str, bytes], object]) -> bytes | None:
        path = self._path(_address(value))
        if not path or not self._files_left:
            return None
        self._files_left -= 1
        try:
            with opened_file(self._workspace, path) as file:
                size = os.fstat(file).st_size
                if size > min(limit, self._left) or not is_wanted(path, os.pread(file, SVG_HEAD, 0)):
                    return None
                self._left -= size
                return os.pread(file, size, 0)
        except WorkspaceError:
            return None

    def _path(self, address: str) -> str:
        """The path in the workspace; "" if it leads elsewhere."""
        try:
            parts = urlsplit(address)
        except ValueError:
            return ""
        is_elsewhere = parts.scheme or parts.netloc or parts.path.startswith("/")
        return "" if is_elsewhere or not parts.path else posixpath.join(self._folder, unquote(parts.path))


def _address(value: str) -> str:
    """The address in the value of an attribute, which may be in quotation marks."""
    return html.unescape(value[1:-1] if value[:1] in ("'", '"') else value).strip()
