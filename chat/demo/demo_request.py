"""The parsed request that the demo answers, and the calls it can make."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from chat.demo.reply import Call, Reply, Request
from chat.demo.words import is_chinese

TODO_WRITE = "TodoWrite"

# Characters of a message or result that the demo reads; its patterns are too slow for more.
MAX_READ = 4000

_REFUSED = re.compile(r"\A\s*(error|错误|❌|traceback)", re.IGNORECASE)
_KILLED = re.compile(r"^\[(?:timed out|killed)\b", re.MULTILINE)
_STOPPED = re.compile(r"turn ended|\bstopped\b|was not run|was cut off|本轮已结束|已停止", re.IGNORECASE)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: code| status)?|退出码|退出状态)\W{0,3}([1-9]\d*)", re.IGNORECASE
)
# What the site adds: a message with the pictures of results, and lines that name uploaded files.
_PICTURES = ("The pictures of these results:", "以上结果中的图片：")
_LEFT_OUT = re.compile(r"^\[.* was left out here: this model cannot see images\.\]$\n?", re.MULTILINE)
_UPLOADED = re.compile(r"^(?:Uploaded: |已上传：)(.*)$\n?", re.MULTILINE)
_PAGE = re.compile(r"^\[lines \d+-\d+ of (\d+);", re.MULTILINE)  # read_file's last line, if it left lines out


@dataclass(frozen=True)
class Result:
    """A tool call and its result. `reminded` says that the text had a reminder before it.

    `changed` is the list as the user had edited it by the end of the step, on the last call of the step.
    `lines` counts those of the whole file, of which the text may have only both ends.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    reminded: bool = False
    changed: Mapping[str, Any] | None = None
    lines: int = 0

    @property
    def exit_code(self) -> int:
        match = _EXIT.search(self.text) if self.name == "bash" else None
        return int(match[1]) if match else 0

    @property
    def failed(self) -> bool:
        if self.name == "bash":
            return bool(self.exit_code or _KILLED.search(self.text) or _REFUSED.match(self.text))
        return bool(_REFUSED.match(self.text))


@dataclass(frozen=True)
class History:
    """`text` is the user's last message without the lines that name its uploaded files.

    `steps` are the calls answered since, `past` the calls before it.

    `joined` says that the message arrived during work, not after an answer; `changed` is the list as the user
    had edited it before the message. `talk` has role and text of all earlier messages.
    """

    text: str
    steps: Sequence[Sequence[Result]]
    past: Sequence[Result]
    joined: bool
    changed: Mapping[str, Any] | None = None
    talk: Sequence[tuple[str, str]] = ()
    uploads: Sequence[str] = ()  # the paths of the files that came with the message
    chinese: bool = False  # whether to answer in Chinese

    @classmethod
    def read(cls, messages: Sequence[Mapping[str, Any]]) -> History:
        """Parse chat-completions messages; the text is empty if there is no user message."""
        messages = [message for message in messages if not _text(message).startswith(_PICTURES)]
        user_indexes = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        last = user_indexes[-1] if user_indexes else -1
        notes, text = split_notes(_text(messages[last]) if user_indexes else "")
        previous = messages[last - 1] if last > 0 else {}
        joined = previous.get("role") == "tool" and not _STOPPED.search(_text(previous))
        earlier = messages[: max(last, 0)]
        past = [result for step in _steps(earlier) for result in step]
        talk = [
            (str(message.get("role")), split_notes(_text(message))[1]) for message in messages[: max(last, 0)]
        ]
        steps = list(_steps(messages[last + 1 :]))
        own = _LEFT_OUT.sub("", _UPLOADED.sub("", text)).strip()[:MAX_READ]
        uploads, chinese = _UPLOADED.findall(text), is_chinese(own or text[:MAX_READ])
        return cls(own, steps, past, joined, notes.changed, talk, uploads, chinese)

    def latest_uploads(self) -> Sequence[str]:
        """The files of the last message that had any."""
        earlier = (_UPLOADED.findall(text) for role, text in reversed(self.talk) if role == "user")
        return self.uploads or next((paths for paths in earlier if paths), [])

    def answers_to(self, question: str) -> list[str] | None:
        """The user's messages since the assistant asked this question, latest first; None if it did not."""
        indexes = [
            index for index, (role, text) in enumerate(self.talk) if role == "assistant" and question in text
        ]
        if not indexes:
            return None
        later = [text for role, text in self.talk[indexes[-1] :] if role == "user"]
        return [self.text, *reversed(later)]

    def last_list(self) -> Mapping[str, Any] | None:
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


def _results(calls: Sequence[Mapping[str, Any]], following: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    """Each call with its result. Ids are unique only up to the next message that is not a result."""
    answers: dict[Any, str] = {}
    for message in following:
        if message.get("role") != "tool":
            break
        answers[message.get("tool_call_id")] = _text(message)
    changed = None
    for call in calls:
        function = call.get("function") or {}
        notes, text = split_notes(answers.get(call.get("id"), ""))
        changed = notes.changed or changed
        edited_list = changed if call is calls[-1] else None
        name, arguments = str(function.get("name")), _arguments(function.get("arguments"))
        yield Result(name, arguments, _both_ends(text), notes.reminded, edited_list, _line_count(text))


def _both_ends(text: str) -> str:
    return text if len(text) <= 2 * MAX_READ else f"{text[:MAX_READ]}\n{text[-MAX_READ:]}"


def _line_count(text: str) -> int:
    page = _PAGE.search(text)
    return int(page[1]) if page else len(text.splitlines())


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
# A script yields replies with calls, receives their results, and returns the final text. It is replayed from
# the turn's first step for every request, so it must depend only on the messages.
Script = Generator[Reply, Sequence[Result], T]

_FOLDER = re.compile(r"^([^\s/|]+)/$", re.MULTILINE)
_NAME = re.compile(r"^[^\w\n]*([^\s/|]+\.[A-Za-z]\w{0,5})\s*(?:[|(\t].*)?$", re.MULTILINE)


@dataclass(frozen=True)
class DemoRequest:
    history: History
    tools: frozenset[str]
    dialect: Dialect | None
    chinese: bool
    changed: list[Mapping[str, Any]] = field(default_factory=list)  # the user's edit, until applied

    @classmethod
    def read(cls, request: Request) -> DemoRequest:
        names = frozenset(str((tool.get("function") or {}).get("name")) for tool in request.tools)
        if request.body.get("tool_choice") == "none":
            names = frozenset()
        history = History.read(request.messages)
        dialect = Dialect.read(request.tools) if TODO_WRITE in names else None
        return cls(history, names, dialect, history.chinese)

    @property
    def text(self) -> str:
        return self.history.text

    def say(self, english: str, chinese: str) -> str:
        return chinese if self.chinese else english

    @property
    def colon(self) -> str:
        return self.say(": ", "：")

    def has(self, *names: str) -> bool:
        return self.tools.issuperset(names)

    def look(self, text: str = "") -> Script[str]:
        if self.has("read_file"):
            return (yield from ask(Call("read_file", {"path": "."}), text=text))[0].text
        if self.has("bash"):
            return (yield from ask(Call("bash", {"command": "ls -A"}), text=text))[0].text
        return ""

    def read_files(self, *paths: str) -> Script[list[Result]]:
        if self.has("read_file"):
            return (yield from ask(*(Call("read_file", {"path": path}) for path in paths)))
        if self.has("bash"):
            return (yield from ask(*(Call("bash", {"command": f"cat -- {path}"}) for path in paths)))
        return []

    def write_file(self, path: str, content: str) -> Script[Result]:
        """Write a file. Callers use `free_name` first, so that nothing of the user's is overwritten."""
        return (yield from ask(Call("write_file", {"path": path, "content": content})))[0]

    def edit_file(self, path: str, old: str, new: str) -> Script[Result]:
        arguments = {"path": path, "old_text": old, "new_text": new}
        return (yield from ask(Call("edit_file", arguments)))[0]

    def run(self, command: str) -> Script[Result]:
        return (yield from ask(Call("bash", {"command": command})))[0]


def ask(*calls: Call | tuple[str, dict[str, Any]], text: str = "") -> Script[list[Result]]:
    results = list((yield Reply(text=text, tool_calls=calls)))
    return results + [Result("")] * (len(calls) - len(results))


def play(script: Script[str], request: DemoRequest) -> Reply:
    try:
        reply = next(script)
        for results in request.history.steps:
            request.changed.extend(result.changed for result in results if result.changed)
            reply = script.send(results)
    except StopIteration as end:
        return Reply(text=end.value)
    return reply


def files_listed(listing: str) -> list[str]:
    return [name for name in _NAME.findall(listing) if not name.startswith(".")]


def folders_listed(listing: str) -> list[str]:
    return [name for name in _FOLDER.findall(listing) if not name.startswith(".")]


def free_name(name: str, listing: str) -> str:
    """The name, or its first variant -2, -3, ... that is not in the listing."""
    stem, dot, extension = name.partition(".")
    taken = set(re.split(r"[\s/|]+", listing))
    candidates = [name, *(f"{stem}-{count}{dot}{extension}" for count in range(2, 1000))]
    return next(name for name in candidates if name not in taken)


_NOTE = re.compile(r"\A\s*<(reminder|todo-change)>(.*?)</\1>\s*", re.DOTALL)
_LINE = re.compile(
    r"^\[(?P<mark>[ x>])\] (?:(?P<id>\d{1,4}): )?(?P<text>.+?)(?: <- (?P<doing>.+))?$", re.MULTILINE
)
_STATES = {" ": "pending", ">": "in_progress", "x": "completed"}


@dataclass(frozen=True)
class Notes:
    """The notes before a text. `changed` has the arguments of the list that the user edited, or None."""

    reminded: bool = False
    changed: dict[str, Any] | None = None


def split_notes(text: str) -> tuple[Notes, str]:
    reminded, changed = False, None
    while match := _NOTE.match(text):
        reminded |= match[1] == "reminder"
        if match[1] == "todo-change":
            changed = _parse_list(match[2])
        text = text[match.end() :]
    return Notes(reminded, changed), text


def _parse_list(note: str) -> dict[str, Any]:
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

_DEFAULT_MAXIMUM = 20  # if the schema has none


@dataclass(frozen=True)
class Item:
    text: str
    doing: str = ""
    state: State = "pending"
    id: str = ""


@dataclass(frozen=True)
class Dialect:
    """The names and states in the schema of `TodoWrite`; `active` is empty if there is no such state."""

    argument: str = "items"
    text: str = "content"
    fields: frozenset[str] = frozenset({"content", "status", "activeForm"})
    active: str = "in_progress"
    done: str = "completed"
    maximum: int = _DEFAULT_MAXIMUM

    @classmethod
    def read(cls, tools: Sequence[Mapping[str, Any]]) -> Dialect | None:
        functions = (tool.get("function") or {} for tool in tools)
        schema = next((each.get("parameters") for each in functions if each.get("name") == TODO_WRITE), None)
        return cls._of(schema) if isinstance(schema, Mapping) else None

    @classmethod
    def _of(cls, schema: Mapping[str, Any]) -> Dialect:
        arguments: dict[str, Mapping[str, Any]] = {
            name: _resolved(argument, schema) for name, argument in (schema.get("properties") or {}).items()
        }
        names = [*(schema.get("required") or ()), *arguments]
        name = next((each for each in names if arguments.get(each, {}).get("type") == "array"), "items")
        array = arguments.get(name, {})
        fields = _resolved(array.get("items") or {}, schema).get("properties") or {}
        states = _resolved(fields.get("status") or {}, schema).get("enum") or ["in_progress", "completed"]
        return cls(
            argument=name,
            text="text" if "text" in fields else "content",
            fields=frozenset(fields),
            active="in_progress" if "in_progress" in states else "",
            done="done" if "done" in states else "completed",
            maximum=int(array.get("maxItems") or _DEFAULT_MAXIMUM),
        )

    def call(self, items: Iterable[Item], statuses: Mapping[int, str] | None = None) -> Call:
        rows = [self._row(item, index) for index, item in enumerate(items)]
        for index, status in (statuses or {}).items():
            rows[index]["status"] = status
        return Call(TODO_WRITE, {self.argument: rows})

    def items(self, arguments: Mapping[str, Any]) -> list[Item]:
        rows = arguments.get("items") or arguments.get("todos") or []
        return [_item(row) for row in rows if isinstance(row, Mapping)]

    def _row(self, item: Item, index: int) -> dict[str, str]:
        row = {
            "id": item.id or str(index + 1),
            self.text: item.text,
            "status": self._status(item.state),
            "activeForm": item.doing or item.text,
        }
        return {name: value for name, value in row.items() if name in self.fields}

    def _status(self, state: State) -> str:
        return {"done": self.done, "active": self.active or "pending", "pending": "pending"}[state]


def advanced(items: Sequence[Item], done: Iterable[int] = (), active: int | None = None) -> list[Item]:
    """The items with these indexes done and this one active; no other stays active."""
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
    """The schema that a local `$ref` points to, or the schema itself."""
    name = str(schema.get("$ref") or "").rpartition("/")[2]
    target = (root.get("$defs") or {}).get(name) if name else None
    return target if isinstance(target, Mapping) else schema
