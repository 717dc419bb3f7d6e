"""Markdown to HTML, the same for pages and for streaming text."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from django.utils.html import escape
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt, helpers
from markdown_it.helpers import parseLinkLabel
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from chat.agent.workspace import Workspace
from chat.files.colour import coloured_fence
from chat.files.preview import PICTURE_NAMES
from chat.files.tree import address as file_address
from chat.live.alerts import alerts
from chat.live.cjk import EmphasisParser, soft_break
from chat.live.details import details
from chat.live.inline_tags import inline_tags
from chat.live.mathematics import MAX_FORMULA, math_html

MAX_BLOCK = 32 * 1024  # characters; the parser's worst cases are quadratic
LONG_CODE = 24  # lines above which code is folded
MAX_NAMED = 200  # files that the code of a text may name
MAX_CACHED = 3 * 1024 * 1024  # characters of large texts whose HTML is cached
_NEWLINE = re.compile(r"\r\n|\r|\n")  # the parser's line ends
_FENCE = re.compile(r"(?:[ \t]*\r?\n)* {0,3}(`{3,}|~{3,})")
_ANY_FENCE = re.compile(r"(?m)^ {0,3}(```|~~~)")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_SAFE_LINKS = ("http://", "https://", "mailto:")
# A relative path with an extension is a file of the workspace.
_FILE = re.compile(r"(?![\w+.-]+:|www\.)[^/\\#?][^\\#?]*\.\w{1,10}(?:#.*)?")
_NAME = re.compile(r"[^\s/\\#?](?:[^\n\\#?]{0,250}[^\s/\\#?])?")  # the path of a file in code
_LINE = re.compile(r":\d+(?:[-:]\d+)?\Z")  # after the path, the place in the file
# The top of the workspace, as the agent sees it and as models are used to from elsewhere.
_TOP = re.compile(r"(?:sandbox:)?/workspace/|sandbox:/(?:mnt/data/)?")
_OUTSIDE = {"target": "_blank", "rel": "noopener noreferrer nofollow"}
_FIGURE = re.compile(r"(?=.*[\s/–-])[-+−~≈<>≤≥±$€£¥ ]*\d.{0,15}")  # a number with its unit, or a date
_HOST = re.compile(r"(?<![a-z0-9.-])(?:[a-z0-9-]+\.)+[a-z0-9-]+|\[[0-9a-f:.]+\]|localhost")
_SCHEME = re.compile(r"(?:^|[^A-Za-z0-9+.-])(https?)$", re.IGNORECASE)
# Text in Chinese may follow an address with no blank between: letters of other scripts than Latin are part of
# it only after a separator, if it stands on its own. A host with them is taken whole or not at all.
_LETTER = r"(?:[^\W\x00-\x7f]|[\u0900-\u0963\u0966-\u0eff\u3099\u309a])"  # not ASCII; also vowel signs
_LETTERS = rf"(?<=[-/=_.#?&+%]){_LETTER}+(?:·{_LETTER}+)*"
_LATIN = r"[-!#$%&'()*+,./0-9:;=?@A-Z\[\]_a-z~\xc0-\u036f\u1e00-\u1eff]"
_BEGIN = rf"(?i:https?)://(?=[^\W_]|\[)(?![\w.-]*[A-Za-z0-9]{_LETTER}+\.\w)"
_ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9+.-])(?:(?<!{_LETTER}){_BEGIN}(?:{_LATIN}|{_LETTERS})*+"
    rf"|{_BEGIN}(?![A-Za-z0-9.-]*[.-]{_LETTER}){_LATIN}+)"
)
_TASK = re.compile(r"\[([ xX])\][ \t]")
_PRICE = re.compile(r"\$\d[\d,.]*(?=[\u3000-\u9fff\uff00-\uffef])")  # Chinese has no space after it
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # Hebrew, Arabic and their kin
_WITH_SIDES = {"bullet_list_open", "ordered_list_open", "blockquote_open", "table_open"}


class FileUrls(Protocol):
    """The URLs of the workspace's files on a read-only page; "" for those that are not there."""

    def file(self, path: str) -> str: ...

    def picture(self, path: str) -> str: ...


class Place(NamedTuple):
    """Where a text is shown: the pages for its files, as seen from there, and the folder its paths begin at.

    The same `version` lets a browser keep the pictures that it has, another loads them again. The ids of
    footnotes begin with `name`, which is unique on the page; without one they are not links. Code that names
    a file of `workspace` leads to it. A read-only page has the files of `urls` alone.
    """

    file_page: str = "files/file/"
    image_page: str = "files/image/"
    folder: str = ""
    version: str = ""
    name: str = ""
    workspace: Workspace | None = None
    urls: FileUrls | None = None


CONVERSATION = Place()
CacheKey = tuple[str, Place, bool, str | None]  # text, place, `read_only`, language


def render(text: str, place: Place = CONVERSATION, *, read_only: bool = False) -> str:
    """The text as HTML, without any markup of the text's own; `read_only` leaves out buttons."""
    if len(text) <= MAX_BLOCK:
        env = {"place": place, "read_only": read_only, "notes": place.name}
        return str(_MARKDOWN.render(text, env))
    if place.urls:
        return _whole(Settling(text, place, read_only=read_only))
    key = _key(text, place, read_only)
    html = _large_cache.get(key)
    if html is None:
        with _render_lock:  # one at a time: threads would only compete for the interpreter
            html = _large_cache.get(key) or _keep(key, Settling(text, place, read_only=read_only))
    return html


def render_typed(text: str, *, read_only: bool = False) -> str:
    """A message as its user typed it, except that addresses are links and fenced code is shown as code.

    A fence with several words beside it is code only if it has an end, and its line stays above the code.
    """
    if len(text) > MAX_BLOCK:
        return escape(text)
    if not _ANY_FENCE.search(text):
        return _with_links(text)
    env = {"place": CONVERSATION, "read_only": read_only}
    lines = [0, *(match.end() for match in _NEWLINE.finditer(text)), len(text)]
    parts, end = [], 0
    for token in _MARKDOWN.parse(text, env):
        if token.type == "fence" and token.level == 0 and token.map:
            begin, after = (lines[min(line, len(lines) - 1)] for line in token.map)
            if len(token.info.split()) > 1:
                last_line = text[lines[token.map[1] - 1] : after].strip()
                if set(last_line) != set(token.markup):
                    continue
                begin = lines[token.map[0] + 1]
            code = _MARKDOWN.renderer.render([token], _MARKDOWN.options, env)
            parts += [_with_links(text[end:begin].strip("\r\n")), str(code).rstrip()]
            end = after
    return "".join([*parts, _with_links(text[end:].strip("\r\n") if parts else text)])


def _with_links(text: str) -> str:
    parts, end = [], 0
    for match in _ADDRESS.finditer(text):
        address = _without_punctuation(match[0])
        url = _MARKDOWN.normalizeLink(address)
        if _host(url):
            link = Token("link_open", "a", 1, attrs={"href": url})
            opened = _MARKDOWN.renderer.render([link], _MARKDOWN.options, {"place": CONVERSATION})
            parts += [escape(text[end : match.start()]), f"{opened}{escape(address)}</a>"]
            end = match.start() + len(address)
    return "".join([*parts, escape(text[end:])])


def render_grown(text: Settling) -> str:
    """The same for a text that has grown, of which only what has not settled is parsed.

    A text that may define references is parsed whole: blocks that settled before would differ.
    """
    large = len(text.text) > MAX_BLOCK and "]:" not in text.text
    key = _key(text.text, text.place, text.read_only)
    return _keep(key, text) if large else render(text.text, text.place)


def _key(text: str, place: Place, read_only: bool) -> CacheKey:
    return text, place._replace(workspace=None), read_only, get_language()


def _keep(key: CacheKey, text: Settling) -> str:
    html = _whole(text)
    with _cache_lock:
        _large_cache[key] = html
        while len(_large_cache) > 1 and sum(len(key[0]) for key in _large_cache) > MAX_CACHED:
            del _large_cache[next(iter(_large_cache))]
    return html


def _whole(text: Settling) -> str:
    _blocks, tail = text.advance()
    return "".join(text.html) + tail


class Block(NamedTuple):
    start: int
    html: str


class Settling:
    """A growing text. Blocks that can no longer change are returned once, the open end each time.

    `settled` is the length of the settled blocks' text, `html` their HTML.
    """

    def __init__(self, text: str = "", place: Place = CONVERSATION, *, read_only: bool = False) -> None:
        self.text = text
        self.place = place
        self.read_only = read_only
        self.settled = 0
        self.html: list[str] = []
        self._searched = 0  # how far a block above MAX_BLOCK has been searched for its end

    def advance(self) -> tuple[list[Block], str]:
        """The newly settled blocks, and the HTML of the open end, from one parse of the open text.

        A block above MAX_BLOCK is shown unformatted: code up to its closing fence, others up to a blank line.
        """
        settled, tail = self._settle()
        self.html += (block.html for block in settled)
        return settled, tail

    def _settle(self) -> tuple[list[Block], str]:
        settled: list[Block] = []
        while True:
            if self._searched:
                end = self._end_of_large_block()
                large = f"<pre>{escape(self.text[self.settled : end])}</pre>"
                if end is None:
                    return settled, large
                settled.append(Block(self.settled, large))
                self.settled, self._searched = end, 0
            open_text = self.text[self.settled : self.settled + MAX_BLOCK]
            blocks = _blocks(open_text, {"place": self.place, "read_only": self.read_only})
            last = blocks.pop() if blocks else Block(0, "")
            settled += [Block(self.settled + start, html) for start, html in blocks]
            rest = len(self.text) - self.settled - len(open_text)
            self.settled += last.start
            if not rest:
                return settled, last.html
            if not last.start:
                self._searched = self.settled + MAX_BLOCK

    def _end_of_large_block(self) -> int | None:
        fence = _FENCE.match(self.text, self.settled)
        closing = re.compile(rf"(?m)^ {{0,3}}{fence[1]}+[ \t]*\r?\n") if fence else _BLANK_LINE
        latest_line = self.text.rfind("\n", self.settled, self._searched)
        end = closing.search(self.text, max(latest_line, self.settled))
        self._searched = len(self.text)
        return end.end() if end else None


def _blocks(text: str, env: dict[str, Any]) -> list[Block]:
    """The blocks of a text. An incomplete first line belongs to the block before it."""
    tokens = _MARKDOWN.parse(text, env)
    lines = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    places = [
        (index, lines[token.map[0]])
        for index, token in enumerate(tokens)
        if token.level == 0 and token.nesting >= 0 and token.map and token.map[0] + 1 < len(lines)
    ]
    begins = [0, *(index for index, _start in places[1:])]
    ends = [*begins[1:], len(tokens)]
    starts = [0, *(start for _index, start in places[1:])]
    render = _MARKDOWN.renderer.render
    return [
        Block(start, str(render(tokens[begin:end], _MARKDOWN.options, env)))
        for start, begin, end in zip(starts, begins, ends, strict=True)
    ]


def _highlight(code: str, language: str, _attributes: str) -> str:
    return coloured_fence(code, language)


def _fence(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """Code, with its language and its buttons. What is long is folded where there is a script."""
    html = RendererHTML.fence(self, tokens, place, options, env).replace("<pre>", '<pre tabindex="0">', 1)
    language = escape(tokens[place].info.split(maxsplit=1)[0]) if tokens[place].info.strip() else ""
    is_long = tokens[place].content.count("\n") > LONG_CODE
    buttons = "" if env.get("read_only") else _code_buttons(is_long)
    bar = f'<div class="code-block__bar"><span>{language}</span>{buttons}</div>'
    return f'<div class="code-block">{bar}{html.rstrip()}</div>\n'


def _code_buttons(is_long: bool) -> str:
    """Before the code, so that a growing block grows at its end."""
    wrap, copy, copied = escape(_("Wrap lines")), escape(_("Copy")), escape(_("Copied"))
    button = '<button class="code-block__{}" type="button" {}>{}</button>'
    less, everything = escape(_("Show less")), escape(_("Show all"))
    more = button.format("more", f'aria-expanded="false" data-other="{less}"', everything)
    return "".join(
        [
            more if is_long else "",
            button.format("wrap", 'aria-pressed="false"', wrap),
            button.format("copy", f'data-copy data-copied="{copied}"', copy),
        ]
    )


def _code(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Code, which is a link where it names a file that is there."""
    html = RendererHTML.code_inline(self, tokens, index, options, env)
    link = "" if env.get("in_link") else _file_link(_named_file(tokens[index].content, env), env)
    return f"{link}{html}</a>" if link else html


def _named_file(name: str, env: Any) -> str:
    place = env["place"]
    top = _TOP.match(name)
    path = _LINE.sub("", name[top.end() :] if top else name.removeprefix("./"))
    if not _NAME.fullmatch(path):
        return ""
    path = path if top else place.folder + path
    return path if env["read_only"] or _is_there(path, env) else ""


def _is_there(path: str, env: Any) -> bool:
    """Whether the workspace has the file: each is looked for once, and up to MAX_NAMED of them."""
    workspace, known = env["place"].workspace, env.setdefault("files", {})
    if workspace and path not in known and len(known) < MAX_NAMED:
        known[path] = workspace.has_file(path)
    return bool(known.get(path))


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token, place, in_link = tokens[index], env["place"], env.get("in_link")
    path = _file_in(token, place.folder)
    name, file_link = token.content or path, "" if in_link else _file_link(path, env)
    if path.lower().endswith(PICTURE_NAMES) and (picture := _picture(path, name, env)):
        return f"{file_link}{picture}</a>" if file_link else picture
    if file_link:
        return f"{file_link}{escape(name)}</a>"
    # Loading an image could leak the conversation to its server, so its description is a link to it.
    url = str(token.attrGet("src") or "")
    if in_link or not _host(url):
        return f'<span class="image-left-out">[{escape(token.content or "image")}]</span>'
    link = Token("link_open", "a", 1, attrs={"href": url, **_OUTSIDE})
    text = token.content or url
    return f"{self.renderToken([link], 0, options, env)}{escape(text)}</a>{_host_note(url, text)}"


def _picture(path: str, name: str, env: Any) -> str:
    """A picture of the workspace; "" where it is not shown."""
    place = env["place"]
    if env["read_only"]:
        url = place.urls.picture(path) if place.urls else ""
    else:
        url = place.image_page + file_address(path) + (f"&at={place.version}" if place.version else "")
    return f'<img class="picture" src="{escape(url)}" alt="{escape(name)}" loading="lazy">' if url else ""


def _link_open(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    env["in_link"] = True
    if path := _file_in(tokens[index], env["place"].folder):
        return _file_link(path, env)
    tokens[index].attrs |= _OUTSIDE
    return self.renderToken(tokens, index, options, env)


def _file_link(path: str, env: Any) -> str:
    """The beginning of a link to a file of the workspace; "" where it is not shown."""
    place = env["place"]
    if not path:
        return ""
    if env["read_only"]:
        url = place.urls.file(path) if place.urls else ""
        return f'<a href="{escape(url)}">' if url else ""
    return f'<a href="{escape(place.file_page + file_address(path))}" data-in-panel>'


def _file_in(token: Token, folder: str = "") -> str:
    """The path of the workspace's file that a link or image names; "" if it leads elsewhere."""
    return _path_of(str(token.attrGet("href") or token.attrGet("src") or ""), folder)


def _path_of(url: str, folder: str = "") -> str:
    top = _TOP.match(url)
    path = url[top.end() :] if top else url
    if not _FILE.fullmatch(path):
        return ""
    path = unquote(path.partition("#")[0]).removeprefix("./")
    return path if top else folder + path


def _cell(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Align a cell by a class: the content security policy allows no styles in elements.

    A number and its unit stay in one line.
    """
    if style := tokens[index].attrs.pop("style", ""):
        tokens[index].attrSet("class", str(style).replace("text-align:", "cell--"))
    if _FIGURE.fullmatch(tokens[index + 1].content):
        tokens[index].attrJoin("class", "cell--figure")
    return self.renderToken(tokens, index, options, env)


def _link_close(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, env: Any) -> str:
    """Close the link, with the host that it leads to where its text does not say so."""
    env["in_link"] = False
    begin = next(index for index in range(place, -1, -1) if tokens[index].type == "link_open")
    path = _file_in(tokens[begin], env["place"].folder)
    if path and not _file_link(path, env):
        return ""
    text = "".join(token.content for token in tokens[begin:place])
    return f"</a>{_host_note(str(tokens[begin].attrGet('href') or ''), text)}"


def _host_note(address: str, text: str) -> str:
    """The host, unless the text names it before any other."""
    host = _host(address)
    named = _HOST.search(text.lower())
    if not host or (named and named[0].removeprefix("www.") == host.removeprefix("www.")):
        return ""
    return f'<span class="link-host"> ({escape(host)})</span>'


def _host(address: str) -> str:
    try:
        parts = urlsplit(address)
        return (parts.hostname or "") if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _bare_link(state: StateInline, silent: bool) -> bool:
    """Make a link of an address that stands in the text."""
    if silent or state.linkLevel or state.src[state.pos] != ":":
        return False
    scheme = _SCHEME.search(state.pending[-12:])
    found = _ADDRESS.match(state.src, state.pos - len(scheme[1]), state.posMax) if scheme else None
    if scheme is None or found is None:
        return False
    address = _without_punctuation(found[0])
    url = state.md.normalizeLink(address)
    if not _host(url) or not state.md.validateLink(url):
        return False
    state.pending = state.pending[: -len(scheme[1])]
    state.push("link_open", "a", 1).attrs = {"href": url}
    state.push("text", "", 0).content = address
    state.push("link_close", "a", -1)
    state.pos += len(address) - len(scheme[1])
    return True


def _without_punctuation(address: str) -> str:
    """The address without what ends the sentence or closes a bracket around it."""
    while address:
        last = address[-1]
        opening = {")": "(", "]": "["}.get(last)
        if last not in ".,;:!?'*_~" and (opening is None or address.count(last) <= address.count(opening)):
            break
        address = address[:-1]
    return address


def _tasks(state: StateCore) -> None:
    """Show list items that begin with `[ ]` or `[x]` as tasks."""
    for item, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if (item.type, paragraph.type, inline.type) != ("list_item_open", "paragraph_open", "inline"):
            continue
        first = inline.children[0] if inline.children else None
        if first and first.type == "text" and (mark := _TASK.match(first.content)):
            item.attrSet("class", "task")
            first.content = ("☐ " if mark[1] == " " else "☑ ") + first.content[mark.end() :]


def _directions(state: StateCore) -> None:
    """Turn what has a left and a right side around, if its text begins on the right."""
    if _RIGHT_TO_LEFT.search(state.src):
        for token in state.tokens:
            if token.type in _WITH_SIDES:
                token.attrSet("dir", "auto")


def _bracket_math(state: StateInline, silent: bool) -> bool:
    r"""A formula in \(...\) or \[...\]."""
    opening = state.src[state.pos : state.pos + 2]
    closing = {r"\(": r"\)", r"\[": r"\]"}.get(opening)
    if closing is None:
        return False
    begin = state.pos + 2
    end = state.src.find(closing, begin, min(state.posMax, begin + MAX_FORMULA + 2))
    formula = state.src[begin:end].strip() if end > 0 else ""
    if not formula:
        return False
    if not silent:
        token = state.push("math_inline_double" if closing == r"\]" else "math_inline", "math", 0)
        token.content = formula
    state.pos = end + 2
    return True


def _price(state: StateInline, silent: bool) -> bool:
    """The dollar of a price in a Chinese sentence, which begins no formula."""
    found = _PRICE.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        state.pending += found[0]
    state.pos = found.end()
    return True


def _bracket_math_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    r"""A formula on lines of its own, from \[ at the start of one to \] at the end of one."""
    begin = state.bMarks[first] + state.tShift[first]
    if state.is_code_block(first) or not state.src.startswith(r"\[", begin):
        return False
    for line in range(first, last):
        text = state.getLines(line, line + 1, state.blkIndent, False).strip()
        if not text or (line > first and state.sCount[line] < state.blkIndent):
            return False
        if text.endswith(r"\]") and (line > first or len(text) > 3):
            break
    else:
        return False
    if not silent:
        token = state.push("math_block", "math", 0)
        token.content = state.getLines(first, line + 1, state.blkIndent, False).strip()[2:-2].strip()
        token.map = [first, line + 1]
        state.line = line + 1
    return True


def _math(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
    token = tokens[place]
    html = math_html(token.content.strip(), token.type != "math_inline")
    return f'<div class="math">{html}</div>\n' if token.type == "math_block" else html


def _footnote_reference(
    _self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, env: Any
) -> str:
    label = f"[{tokens[place].meta['id'] + 1}]"
    # Links only in what is parsed as a whole: the parts of a growing text count their notes anew.
    if env.get("notes"):
        note, reference = _footnote_ids(tokens[place], env)
        label = f'<a id="{reference}" href="#{note}">{label}</a>'
    return f'<sup class="footnote-ref">{label}</sup>'


def _footnote_open(_self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, env: Any) -> str:
    return f'<li id="{_footnote_ids(tokens[place], env)[0]}">' if env.get("notes") else "<li>"


def _footnote_anchor(
    _self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, env: Any
) -> str:
    if not env.get("notes"):
        return ""
    _note, reference = _footnote_ids(tokens[place], env)
    label = escape(_("Back to the text"))
    return f' <a href="#{reference}" aria-label="{label}">↩\ufe0e</a>'


def _footnote_ids(token: Token, env: Any) -> tuple[str, str]:
    """The ids of a note and of one reference to it."""
    note = f"{env['notes']}-note-{token.meta['id'] + 1}"
    return escape(note), escape(f"{note}-ref-{token.meta.get('subId', 0) + 1}")


def _label_end(state: StateInline, start: int, disable_nested: bool = False) -> int:
    """The end of a link's label, or -1. The package scans to the end of the text for each open bracket."""
    closed = state.src.find("]", start, state.posMax) >= 0
    return parseLinkLabel(state, start, disable_nested) if closed else -1


def _is_shown_as_link(url: str) -> bool:
    if not url.lower().startswith(_SAFE_LINKS):
        return bool(_path_of(url))
    return url.lower().startswith("mailto:") or bool(_host(url))


_RENDERING = {
    "fence": _fence,
    "code_inline": _code,
    "image": _image,
    "link_open": _link_open,
    "link_close": _link_close,
    "th_open": _cell,
    "td_open": _cell,
    "footnote_ref": _footnote_reference,
    "footnote_open": _footnote_open,
    "footnote_anchor": _footnote_anchor,
    "math_inline": _math,
    "math_inline_double": _math,
    "math_block": _math,
    "softbreak": soft_break,
}


def _parser() -> MarkdownIt:
    parser = MarkdownIt()
    parser.inline = EmphasisParser()
    parser.configure("commonmark", {"html": False, "highlight": _highlight})
    own = vars(helpers) | {"parseLinkLabel": _label_end}
    parser.helpers = SimpleNamespace(**own)  # type: ignore[assignment]
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _is_shown_as_link  # type: ignore[method-assign]
    footnote_plugin(parser, inline=False)
    dollarmath_plugin(
        parser,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        allow_blank_lines=False,
        double_inline=True,
    )
    parser.inline.ruler.before("escape", "bracket_math", _bracket_math)
    parser.inline.ruler.before("math_inline", "price", _price)
    parser.block.ruler.before("fence", "bracket_math", _bracket_math_block)
    parser.inline.ruler.after("text", "bare_link", _bare_link)
    parser.core.ruler.push("tasks", _tasks)
    parser.core.ruler.push("directions", _directions)
    inline_tags(parser)
    alerts(parser)
    details(parser)
    for name, rule in _RENDERING.items():
        parser.add_render_rule(name, rule)
    return parser


_MARKDOWN = _parser()
_large_cache: dict[CacheKey, str] = {}
_render_lock = threading.Lock()
_cache_lock = threading.Lock()
