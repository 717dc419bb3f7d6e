"""The events of a turn: one small class each."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from chat.agent.arguments import as_object
from chat.agent.pictures import Picture
from chat.agent.todo import TodoItem
from chat.agent.tool import ToolResult


@dataclass(frozen=True)
class ToolCall:
    """A requested call: `arguments` is raw JSON text, `extra` has provider fields that are sent back."""

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepStarted:
    """A call of `model` at `endpoint` begins.

    The request carries `reminder`, and `edit_note`: a note about the user's changes to the todo list.
    """

    type: ClassVar[str] = "step_started"
    step: int
    reminder: str = ""
    endpoint: str = ""
    model: str = ""
    edit_note: str = ""

    @property
    def told(self) -> str:
        """The former name of `edit_note`."""
        return self.edit_note


@dataclass(frozen=True)
class Text:
    type: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Reasoning:
    type: ClassVar[str] = "reasoning"
    text: str


@dataclass(frozen=True)
class TextWasReasoning:
    """All text of the reply so far was reasoning: the model only marked it as such at its end."""

    type: ClassVar[str] = "text_was_reasoning"


@dataclass(frozen=True)
class TodoDraft:
    """The partial list of a `TodoWrite` call that is still streaming; None retracts it."""

    type: ClassVar[str] = "todo_draft"
    items: tuple[TodoItem, ...] | None


@dataclass(frozen=True)
class Usage:
    """Tokens of one model call or of a turn, by the endpoint's count; `estimated` if some are guessed.

    Input includes cached tokens, output includes reasoning tokens.
    """

    type: ClassVar[str] = "usage"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

    @property
    def carried(self) -> int:
        """The tokens that the next request repeats: the request and its reply without the reasoning."""
        return self.input_tokens + self.output_tokens - self.reasoning_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class Retrying:
    """A call of the model failed; it is retried after `seconds`. `reason` is a sentence."""

    type: ClassVar[str] = "retrying"
    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True)
class ModelSilent:
    """The model has sent nothing of its reply for `seconds`; `over` marks the end of the wait."""

    type: ClassVar[str] = "model_silent"
    seconds: float
    over: bool = False


@dataclass(frozen=True)
class Summarising:
    type: ClassVar[str] = "summarising"


@dataclass(frozen=True)
class Compacted:
    """From the request of `step` on, the model is sent a shorter conversation.

    Positions are indexes into the conversation's messages, of which there were `count`. Results at positions
    in `shortened` are sent as the given texts. Messages before `kept_from` are no longer sent, except the
    user's messages of a turn that is cut in the middle; `carried`, with the summary and the todo list, takes
    the place of the rest. `summary` is the model's text, empty if it gave none; `usage` is that of the call
    for it, at `endpoint`; None if there was no call.
    """

    type: ClassVar[str] = "compacted"
    step: int
    count: int
    shortened: Mapping[int, str]
    kept_from: int = 0
    carried: str = ""
    summary: str = ""
    usage: Usage | None = None
    endpoint: str = ""
    model: str = ""


@dataclass(frozen=True)
class PicturesRefused:
    """The endpoint refused these pictures; they are not sent again, and the model reads why."""

    type: ClassVar[str] = "pictures_refused"
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Reply:
    """The model's complete reply; `extra` has provider fields that are sent back unchanged."""

    type: ClassVar[str] = "reply"
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def as_message(self, provider: str = "") -> dict[str, Any]:
        """The reply as a chat-completions message.

        Fields that only the model at `provider` may read are added as "provider", "reasoning_content" and
        "extra".
        """
        private = {"reasoning_content": self.reasoning, "extra": dict(self.extra), "provider": provider}
        return {**self._message(), **{name: value for name, value in private.items() if value}}

    def _message(self) -> dict[str, Any]:
        if not self.calls:
            return {"role": "assistant", "content": self.text}
        calls = [
            {
                **call.extra,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": as_object(call.arguments)},
            }
            for call in self.calls
        ]
        return {"role": "assistant", "content": self.text or None, "tool_calls": calls}


@dataclass(frozen=True)
class ToolCallStarted:
    type: ClassVar[str] = "tool_call_started"
    call: ToolCall


@dataclass(frozen=True)
class ToolCallProgress:
    """Output of a running tool so far; replaces the previous text."""

    type: ClassVar[str] = "tool_call_progress"
    call: ToolCall
    text: str


@dataclass(frozen=True)
class TodoUpdate:
    type: ClassVar[str] = "todo_update"
    call: ToolCall
    items: tuple[TodoItem, ...]


CallStatus = Literal["succeeded", "failed", "denied"]


@dataclass(frozen=True)
class ToolCallEnded:
    type: ClassVar[str] = "tool_call_ended"
    call: ToolCall
    status: CallStatus
    result: ToolResult
    seconds: float


@dataclass(frozen=True)
class NotesRead:
    type: ClassVar[str] = "notes_read"
    messages: tuple[Mapping[str, Any], ...]


EndReason = Literal["completed", "limit", "failed", "waiting"]


@dataclass(frozen=True)
class End:
    """The turn is over. `sentence` gives the reason unless it completed; `text` is that of the last reply.

    A `waiting` turn needs a decision about `call`; `Agent.run` resumes it. `messages` is the conversation
    including this turn, as input for the next one: in chat-completions form, with annotations where it was
    compacted.
    """

    type: ClassVar[str] = "end"
    reason: EndReason
    text: str
    sentence: str
    todos: tuple[TodoItem, ...]
    usage: Usage
    steps: int
    call: ToolCall | None = None
    messages: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)


AnyEvent = (
    StepStarted
    | Text
    | Reasoning
    | TextWasReasoning
    | TodoDraft
    | Usage
    | Retrying
    | ModelSilent
    | Summarising
    | Compacted
    | PicturesRefused
    | Reply
    | ToolCallStarted
    | ToolCallProgress
    | TodoUpdate
    | ToolCallEnded
    | NotesRead
    | End
)


class EventType(StrEnum):
    STEP_STARTED = "step_started"
    TEXT = "text"
    REASONING = "reasoning"
    TEXT_WAS_REASONING = "text_was_reasoning"
    TODO_DRAFT = "todo_draft"
    USAGE = "usage"
    RETRYING = "retrying"
    MODEL_SILENT = "model_silent"
    SUMMARISING = "summarising"
    COMPACTED = "compacted"
    PICTURES_REFUSED = "pictures_refused"
    REPLY = "reply"
    TOOL_CALL_STARTED = "tool_call_started"
    TOOL_CALL_PROGRESS = "tool_call_progress"
    TODO_UPDATE = "todo_update"
    TOOL_CALL_ENDED = "tool_call_ended"
    NOTES_READ = "notes_read"
    END = "end"


if TYPE_CHECKING:
    Event = AnyEvent  # a union, so that the type checker reports missing cases of a `match`
else:
    # A base class of every event; `Event.todo_update(...)` makes a TodoUpdate, and so on for each type.
    Event = ABCMeta("Event", (), {kind.type: kind for kind in get_args(AnyEvent)})
    for _kind in get_args(AnyEvent):
        Event.register(_kind)
