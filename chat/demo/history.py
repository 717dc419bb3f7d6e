"""What a request's messages say: the turn in hand, and the plan that earlier ones left."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.demo.told import parted

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
