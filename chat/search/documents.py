"""The searchable texts of rows, the same for indexing and for showing hits."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chat.models.follow_up import own_words
from chat.models.search_index import SearchEntry
from chat.models.tool_call import MAX_PATH
from chat.search.words import prepared

if TYPE_CHECKING:
    from chat.models.message import Message
    from chat.models.todo_revision import TodoRevision
    from chat.models.tool_call import ToolCall

Kind = SearchEntry.Kind
CHUNK = 4000  # characters of a text in one entry
OVERLAP = 200  # characters shared with the next chunk, so that matches across the border are found
HEAD, TAIL = 8000, 2000  # characters indexed of a call's output: errors are at its end


@dataclass(frozen=True)
class SearchText:
    """A text that is searched as a whole, and its source."""

    kind: Kind
    row: int
    text: str
    place: str = ""

    def chunks(self) -> Iterator[tuple[int, str]]:
        yield from enumerate(chunks_of(self.text))


def chunks_of(text: str) -> list[str]:
    """The text split into entries; none for a blank one."""
    text = prepared(text)
    starts = range(0, max(len(text) - OVERLAP, 1), CHUNK)
    return [text[start : start + CHUNK + OVERLAP] for start in starts] if text.strip() else []


def of_title(title: str) -> SearchText:
    return SearchText(Kind.TITLE, 0, title)


def of_message(message: Message) -> SearchText:
    return SearchText(Kind.MESSAGE, message.pk, text_of_message(message))


def text_of_message(message: Message) -> str:
    """Without the names of attached files, which are found as files."""
    return own_words(message) if message.role == message.Role.USER else message.text


def of_call(call: ToolCall) -> SearchText:
    return SearchText(Kind.CALL, call.pk, text_of_call(call))


def text_of_call(call: ToolCall) -> str:
    """The tool, the value of each argument, and both ends of the output; of a todo write only the tool.

    An arrow tells the output from the arguments where the text is shown on one line.
    """
    if call.is_todo_write:
        return call.name
    lines = [plain(value) for value in call.parsed_arguments.values()]
    output = call.output
    if len(output) > HEAD + TAIL:
        output = f"{output[:HEAD]}\n…\n{output[-TAIL:]}"
    return "\n".join([call.name, *(lines or [call.arguments[:HEAD]]), output and f"→ {output}"])


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}: {plain(each)}" for name, each in value.items())
    return " ".join(map(plain, value)) if isinstance(value, list) else str(value)


def of_items(revision: TodoRevision, before: Iterable[Mapping[str, Any]]) -> list[SearchText]:
    """The items of a list that are new or changed since the list before."""
    known = {item.get("id"): text_of_item(item) for item in before}
    texts = [(str(item.get("id", "")), text_of_item(item)) for item in revision.items]
    return [
        SearchText(Kind.TODO, revision.pk, text, item_id)
        for item_id, text in texts
        if known.get(item_id) != text
    ]


def text_of_item(item: Mapping[str, Any]) -> str:
    texts = [str(item.get(name) or "") for name in ("content", "active_form")]
    return "\n".join(dict.fromkeys(texts)).strip()


def of_files(paths: Iterable[str]) -> list[SearchText]:
    named = [posixpath.normpath(path) for path in paths]
    return [SearchText(Kind.FILE, 0, path, path) for path in named if path != "." and len(path) <= MAX_PATH]


def of_files_written(calls: Iterable[ToolCall]) -> list[SearchText]:
    """Files that the calls wrote; of commands only if they changed few files."""
    return of_files(path for call in calls for path in _paths_of(call))


def _paths_of(call: ToolCall) -> list[str]:
    if call.command_changed_more:
        return []  # many generated files would hide other hits
    return [path for path in (call.file_written, *call.command_changed) if path]
