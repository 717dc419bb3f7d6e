"""What the demo has before it when it answers: the request, read, and the moves it can make."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chat.demo.history import TODO_WRITE, History, Result
from chat.demo.plan import Dialect
from chat.demo.reply import Call, Reply, Request
from chat.demo.words import is_chinese

T = TypeVar("T")
# A script yields a reply with calls, is sent their results, and returns in the end. It is replayed from
# the turn's first step for every request, and so must depend on nothing but the messages.
Script = Generator[Reply, Sequence[Result], T]

_NAME = re.compile(r"^[^\w\n]*([^\s/|]+\.[A-Za-z]\w{0,5})\s*(?:[|(\t].*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Desk:
    """The history, the tools on offer by name, how the list is written, and the language to answer in.

    While a script is played, `changed` holds the list as the person has left it in the meantime, until
    somebody takes it out.
    """

    history: History
    tools: frozenset[str]
    dialect: Dialect | None
    chinese: bool
    changed: list[Mapping[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, request: Request) -> Desk:
        """The desk for a request."""
        names = frozenset(str((tool.get("function") or {}).get("name")) for tool in request.tools)
        if request.body.get("tool_choice") == "none":
            names = frozenset()
        history = History.read(request.messages)
        dialect = Dialect.read(request.tools) if TODO_WRITE in names else None
        return cls(history, names, dialect, is_chinese(history.text))

    @property
    def text(self) -> str:
        """What the person asks."""
        return self.history.text

    def say(self, english: str, chinese: str) -> str:
        """The sentence in the person's language."""
        return chinese if self.chinese else english

    def has(self, *names: str) -> bool:
        """Whether all of these tools are on offer."""
        return self.tools.issuperset(names)

    def look(self, text: str = "") -> Script[str]:
        """What is in the workspace, as a listing; empty if no tool on offer could tell."""
        if self.has("read_file"):
            return (yield from ask(Call("read_file", {"path": "."}), text=text))[0].text
        if self.has("bash"):
            return (yield from ask(Call("bash", {"command": "ls -A"}), text=text))[0].text
        return ""

    def read_files(self, *paths: str, text: str = "") -> Script[list[Result]]:
        """The files, read in one reply; empty if that cannot be done."""
        if self.has("read_file"):
            return (yield from ask(*(Call("read_file", {"path": path}) for path in paths), text=text))
        if self.has("bash"):
            return (
                yield from ask(*(Call("bash", {"command": f"cat -- {path}"}) for path in paths), text=text)
            )
        return []

    def write_file(self, path: str, content: str, text: str = "") -> Script[Result]:
        """A file, written whole. Ask `free_name` first: nothing of the person's is to be overwritten."""
        return (yield from ask(Call("write_file", {"path": path, "content": content}), text=text))[0]

    def edit_file(self, path: str, old: str, new: str, text: str = "") -> Script[Result]:
        """One exact piece of a file, replaced."""
        arguments = {"path": path, "old_text": old, "new_text": new}
        return (yield from ask(Call("edit_file", arguments), text=text))[0]

    def run(self, command: str, text: str = "") -> Script[Result]:
        """A shell command."""
        return (yield from ask(Call("bash", {"command": command}), text=text))[0]


def ask(*calls: Call | tuple[str, dict[str, Any]], text: str = "") -> Script[list[Result]]:
    """Make the calls in one reply; one result for each, empty where the history has none."""
    results = list((yield Reply(text=text, tool_calls=calls)))
    return results + [Result("")] * (len(calls) - len(results))


def play(script: Script[str], desk: Desk) -> Reply:
    """The script's next reply once the turn's steps are answered; what it returns is the last one's text."""
    try:
        reply = next(script)
        for results in desk.history.steps:
            desk.changed.extend(result.changed for result in results if result.changed)
            reply = script.send(results)
    except StopIteration as end:
        return Reply(text=end.value)
    return reply


def files_listed(listing: str) -> list[str]:
    """The names of the files in a listing, folders and hidden files left out."""
    return [name for name in _NAME.findall(listing) if not name.startswith(".")]


def free_name(wanted: str, listing: str) -> str:
    """The name, or with -2, -3, ... the first one that the listing does not have."""
    stem, dot, ending = wanted.partition(".")
    taken = set(re.split(r"[\s/|]+", listing))
    names = [wanted, *(f"{stem}-{count}{dot}{ending}" for count in range(2, 1000))]
    return next(name for name in names if name not in taken)
