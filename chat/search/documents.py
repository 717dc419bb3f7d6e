"""Pieces: what each row has to say to a search, the same when it is indexed and when it is shown."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chat.models.search_index import SearchEntry
from chat.models.tool_call import MAX_PATH
from chat.search.words import prepared

if TYPE_CHECKING:
    from chat.models.message import Message
    from chat.models.todo_revision import TodoRevision
    from chat.models.tool_call import ToolCall

Kind = SearchEntry.Kind
PART = 4000  # characters of a text that are one entry
OVERLAP = 200  # characters of the next part that belong to it too, so that what lies across is found
HEAD, TAIL = 8000, 2000  # characters of a call's output: an error stands at its end


@dataclass(frozen=True)
class SearchText:
    """A text that is found as a whole, and where it is."""

    kind: Kind
    row: int
    text: str
    place: str = ""

    def parts(self) -> Iterator[tuple[int, str]]:
        """Its text in parts, each with its number."""
        yield from enumerate(parts_of(self.text))


def parts_of(text: str) -> list[str]:
    """The text as entries have it; none for a blank one."""
    text = prepared(text)
    starts = range(0, max(len(text) - OVERLAP, 1), PART)
    return [text[start : start + PART + OVERLAP] for start in starts] if text.strip() else []


def of_title(title: str) -> SearchText:
    """A conversation's title."""
    return SearchText(Kind.TITLE, 0, title)


def of_message(message: Message) -> SearchText:
    """What it says, without the model's thoughts."""
    return SearchText(Kind.MESSAGE, message.pk, message.text)


def of_call(call: ToolCall) -> SearchText:
    """Its tool, its arguments and the beginning and end of its output; of a todo write the tool alone."""
    return SearchText(Kind.CALL, call.pk, text_of_call(call))


def text_of_call(call: ToolCall) -> str:
    """A line for the tool, one for each argument, and the output."""
    if call.is_todo_write:
        return call.name
    lines = [f"{name}: {plain(value)}" for name, value in call.parsed_arguments.items()]
    output = call.output
    if len(output) > HEAD + TAIL:
        output = f"{output[:HEAD]}\n…\n{output[-TAIL:]}"
    return "\n".join([call.name, *(lines or [call.arguments[:HEAD]]), output])


def plain(value: Any) -> str:
    """An argument's value as words."""
    if isinstance(value, dict):
        return " ".join(f"{name}: {plain(each)}" for name, each in value.items())
    return " ".join(map(plain, value)) if isinstance(value, list) else str(value)


def of_items(revision: TodoRevision, before: Iterable[Mapping[str, Any]]) -> list[SearchText]:
    """The items of a list that the list before has not, or has in other words."""
    known = {item.get("id"): text_of_item(item) for item in before}
    told = [(str(item.get("id", "")), text_of_item(item)) for item in revision.items]
    return [
        SearchText(Kind.TODO, revision.pk, text, place) for place, text in told if known.get(place) != text
    ]


def text_of_item(item: Mapping[str, Any]) -> str:
    """What is to be done, and how that is called while it is."""
    texts = [str(item.get(name) or "") for name in ("content", "active_form")]
    return "\n".join(dict.fromkeys(texts)).strip()


def of_files(paths: Iterable[str]) -> list[SearchText]:
    """Files in the workspace by their paths; not those whose path no page could show."""
    named = [posixpath.normpath(path) for path in paths]
    return [SearchText(Kind.FILE, 0, path, path) for path in named if path != "." and len(path) <= MAX_PATH]


def of_files_written(calls: Iterable[ToolCall]) -> list[SearchText]:
    """The files that the calls have written; of commands those of one that changed a few."""
    return of_files(path for call in calls for path in _paths_of(call))


def _paths_of(call: ToolCall) -> list[str]:
    if call.command_changed_more:
        return []  # made by the dozen, they would hide what is said of them
    return [path for path in (call.file_written, *call.command_changed) if path]
