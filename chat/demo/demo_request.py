"""What the demo has before it when it answers: the request, read, and the moves it can make."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from chat.demo.reply import Call, Reply, Request
from chat.demo.words import is_chinese

TODO_WRITE = "TodoWrite"

# Characters of a message, and of a result, that the demo reads: its patterns are not made for more.
READ = 4000

_REFUSED = re.compile(r"\A\s*(error|错误|❌|traceback)", re.IGNORECASE)
_KILLED = re.compile(r"^\[(?:timed out|killed)\b", re.MULTILINE)
_STOPPED = re.compile(r"turn ended|\bstopped\b|was not run|was cut off|本轮已结束|已停止", re.IGNORECASE)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: code| status)?|退出码|退出状态)\W{0,3}([1-9]\d*)", re.IGNORECASE
)


@dataclass(frozen=True)
class Result:
    """A tool call and what came of it. `reminded` says that a reminder stood ahead of the text.

    `changed` holds the list as the person had changed it by the end of the step, on the last of its calls.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    reminded: bool = False
    changed: Mapping[str, Any] | None = None

    @property
    def exit_code(self) -> int:
        """The exit code that a shell's result names, else 0."""
        found = _EXIT.search(self.text) if self.name == "bash" else None
        return int(found[1]) if found else 0

    @property
    def failed(self) -> bool:
        """Whether the tool says that it could not do what it was asked."""
        if self.name == "bash":
            return bool(self.exit_code or _KILLED.search(self.text) or _REFUSED.match(self.text))
        return bool(_REFUSED.match(self.text))


@dataclass(frozen=True)
class History:
    """`text` is the person's last message, `steps` the calls answered since, `past` the calls before it.

    `joined` says that the message came while work was going on, and not after an answer; `changed` is the
    list as the person had changed it ahead of the message. `talk` holds role and text of the messages before
    the last one of the person.
    """

    text: str
    steps: Sequence[Sequence[Result]]
    past: Sequence[Result]
    joined: bool
    changed: Mapping[str, Any] | None = None
    talk: Sequence[tuple[str, str]] = ()

    @classmethod
    def read(cls, messages: Sequence[Mapping[str, Any]]) -> History:
        """The history in chat-completions messages; with no user message the text is empty."""
        asked = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        last = asked[-1] if asked else -1
        notes, text = parted(_text(messages[last]) if asked else "")
        before = messages[last - 1] if last > 0 else {}
        joined = before.get("role") == "tool" and not _STOPPED.search(_text(before))
        past = [result for step in _steps(messages[: max(last, 0)]) for result in step]
        talk = [(str(each.get("role")), parted(_text(each))[1]) for each in messages[: max(last, 0)]]
        steps = list(_steps(messages[last + 1 :]))
        return cls(text.strip()[:READ], steps, past, joined, notes.changed, talk)

    def answers_to(self, question: str) -> list[str] | None:
        """What the user said since the assistant asked this, latest first; None if it never did."""
        asked = [at for at, (role, text) in enumerate(self.talk) if role == "assistant" and question in text]
        if not asked:
            return None
        later = [text for role, text in self.talk[asked[-1] :] if role == "user"]
        return [self.text, *reversed(later)]

    def last_list(self) -> Mapping[str, Any] | None:
        """The arguments of the last accepted list from before this turn, or what the person made of it."""
        if self.changed:
            return self.changed
        for call in reversed(self.past):
            if call.changed or (call.name == TODO_WRITE and not call.failed):
                return call.changed or call.arguments
        return None


def _steps(messages: Sequence[Mapping[str, Any]]) -> Iterator[list[Result]]:
    for index, message in enumerate(messages):
        if message.get("role") == "assistant" and message.get("tool_calls"):
            yield list(_results(message["tool_calls"], messages[index + 1 :]))


def _results(calls: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    """Each call with its result; ids count only up to the next message that is not a result."""
    answers: dict[Any, str] = {}
    for message in after:
        if message.get("role") != "tool":
            break
        answers[message.get("tool_call_id")] = _text(message)
    changed = None
    for call in calls:
        function = call.get("function") or {}
        notes, text = parted(answers.get(call.get("id"), ""))
        changed = notes.changed or changed
        at_last = changed if call is calls[-1] else None
        name, arguments = str(function.get("name")), _arguments(function.get("arguments"))
        yield Result(name, arguments, _both_ends(text), notes.reminded, at_last)


def _both_ends(text: str) -> str:
    return text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"


def _arguments(text: Any) -> Mapping[str, Any]:
    try:
        arguments = json.loads(text or "{}")
    except (TypeError, ValueError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))


T = TypeVar("T")
# A script yields a reply with calls, is sent their results, and returns in the end. It is replayed from
# the turn's first step for every request, and so must depend on nothing but the messages.
Script = Generator[Reply, Sequence[Result], T]

_NAME = re.compile(r"^[^\w\n]*([^\s/|]+\.[A-Za-z]\w{0,5})\s*(?:[|(\t].*)?$", re.MULTILINE)


@dataclass(frozen=True)
class DemoRequest:
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
    def read(cls, request: Request) -> DemoRequest:
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


def play(script: Script[str], desk: DemoRequest) -> Reply:
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


_NOTE = re.compile(r"\A\s*<(reminder|todo-change)>(.*?)</\1>\s*", re.DOTALL)
_LINE = re.compile(
    r"^\[(?P<mark>[ x>])\] (?:(?P<id>\d{1,4}): )?(?P<text>.+?)(?: <- (?P<doing>.+))?$", re.MULTILINE
)
_STATES = {" ": "pending", ">": "in_progress", "x": "completed"}


@dataclass(frozen=True)
class Notes:
    """`changed` holds the arguments of a list as the person has left it; None where they changed nothing."""

    reminded: bool = False
    changed: dict[str, Any] | None = None


def parted(text: str) -> tuple[Notes, str]:
    """The notes ahead of a text, and the text itself."""
    reminded, changed = False, None
    while found := _NOTE.match(text):
        reminded |= found[1] == "reminder"
        if found[1] == "todo-change":
            changed = _list(found[2])
        text = text[found.end() :]
    return Notes(reminded, changed), text


def _list(note: str) -> dict[str, Any]:
    return {
        "items": [
            {
                "id": line["id"] or "",
                "content": line["text"],
                "status": _STATES[line["mark"]],
                "activeForm": line["doing"] or "",
            }
            for line in _LINE.finditer(note)
        ]
    }


State = Literal["pending", "active", "done"]

_MAXIMUM = 20  # where the schema names no other


@dataclass(frozen=True)
class Item:
    """One thing to do; `doing` says the same while it is being done."""

    text: str
    doing: str = ""
    state: State = "pending"
    id: str = ""


@dataclass(frozen=True)
class Dialect:
    """Names and states of the list, as the tool's schema gives them; `active` is empty where none exists."""

    argument: str = "items"
    text: str = "content"
    fields: frozenset[str] = frozenset({"content", "status", "activeForm"})
    active: str = "in_progress"
    done: str = "completed"
    maximum: int = _MAXIMUM

    @classmethod
    def read(cls, tools: Sequence[Mapping[str, Any]]) -> Dialect | None:
        """The dialect of the `TodoWrite` among the tools, or None if it is not on offer."""
        functions = (tool.get("function") or {} for tool in tools)
        schema = next((each.get("parameters") for each in functions if each.get("name") == TODO_WRITE), None)
        return cls._of(schema) if isinstance(schema, Mapping) else None

    @classmethod
    def _of(cls, schema: Mapping[str, Any]) -> Dialect:
        arguments: dict[str, Mapping[str, Any]] = {
            name: _resolved(argument, schema) for name, argument in (schema.get("properties") or {}).items()
        }
        wanted = [*(schema.get("required") or ()), *arguments]
        name = next((each for each in wanted if arguments.get(each, {}).get("type") == "array"), "items")
        array = arguments.get(name, {})
        fields = _resolved(array.get("items") or {}, schema).get("properties") or {}
        states = _resolved(fields.get("status") or {}, schema).get("enum") or ["in_progress", "completed"]
        return cls(
            argument=name,
            text="text" if "text" in fields else "content",
            fields=frozenset(fields),
            active="in_progress" if "in_progress" in states else "",
            done="done" if "done" in states else "completed",
            maximum=int(array.get("maxItems") or _MAXIMUM),
        )

    def call(self, items: Iterable[Item], statuses: Mapping[int, str] | None = None) -> Call:
        """The call that writes the list; `statuses` puts other words than the right ones in some places."""
        rows = [self._row(item, index) for index, item in enumerate(items)]
        for index, status in (statuses or {}).items():
            rows[index]["status"] = status
        return Call(TODO_WRITE, {self.argument: rows})

    def items(self, arguments: Mapping[str, Any]) -> list[Item]:
        """The list in the arguments of an earlier call, in whichever dialect that was written."""
        rows = arguments.get("items") or arguments.get("todos") or []
        return [_item(row) for row in rows if isinstance(row, Mapping)]

    def _row(self, item: Item, index: int) -> dict[str, str]:
        row = {
            "id": item.id or str(index + 1),
            self.text: item.text,
            "status": self._word(item.state),
            "activeForm": item.doing or item.text,
        }
        return {name: value for name, value in row.items() if name in self.fields}

    def _word(self, state: State) -> str:
        return {"done": self.done, "active": self.active or "pending", "pending": "pending"}[state]


def advanced(items: Sequence[Item], done: Iterable[int] = (), active: int | None = None) -> list[Item]:
    """The items with these places done and this one being worked on; no other stays active."""
    finished = set(done)

    def state(index: int, item: Item) -> State:
        if index in finished or item.state == "done":
            return "done"
        return "active" if index == active else "pending"

    return [replace(item, state=state(index, item)) for index, item in enumerate(items)]


def _item(row: Mapping[str, Any]) -> Item:
    status = str(row.get("status") or "pending").lower()
    state: State = (
        "done" if status in ("done", "completed") else "active" if status == "in_progress" else "pending"
    )
    text = str(row.get("content") or row.get("text") or "")
    return Item(text, str(row.get("activeForm") or ""), state, str(row.get("id") or ""))


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a local `$ref` points at, else the schema itself."""
    name = str(schema.get("$ref") or "").rpartition("/")[2]
    found = (root.get("$defs") or {}).get(name) if name else None
    return found if isinstance(found, Mapping) else schema
