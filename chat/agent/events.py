"""What happens in a turn, as the loop tells it: one small class an event."""

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
    """A call as the model asked for it; `arguments` is JSON text, just as it came.

    `extra` keeps the provider's own fields of the call, which go back to it unchanged.
    """

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepStarted:
    """A call of `model` begins, at `endpoint`.

    `reminder` rides on its request, and so does what it is `told` of the person's changes to the todo list.
    """

    type: ClassVar[str] = "step_started"
    step: int
    reminder: str = ""
    endpoint: str = ""
    model: str = ""
    told: str = ""


@dataclass(frozen=True)
class Text:
    """A piece of the answer, or of the thought before tool calls."""

    type: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Reasoning:
    """A piece of what the model thinks ahead of its answer."""

    type: ClassVar[str] = "reasoning"
    text: str


@dataclass(frozen=True)
class TextWasReasoning:
    """All text of the reply so far was reasoning: the model said so only as it closed the thought."""

    type: ClassVar[str] = "text_was_reasoning"


@dataclass(frozen=True)
class TodoDraft:
    """The list that a `TodoWrite` call, still streaming, has so far; None undoes it."""

    type: ClassVar[str] = "todo_draft"
    items: tuple[TodoItem, ...] | None


@dataclass(frozen=True)
class Usage:
    """Tokens of one call of the model, or of a whole turn.

    By the endpoint's own count, which has cached ones among the input and reasoning among the output; unless
    it is `estimated`, in part or wholly.
    """

    type: ClassVar[str] = "usage"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

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
    """The model could not be asked; it is asked again after `seconds`. `reason` is a sentence."""

    type: ClassVar[str] = "retrying"
    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True)
class ModelSilent:
    """The model has sent nothing of its reply for `seconds`; one with `over` ends the wait."""

    type: ClassVar[str] = "model_silent"
    seconds: float
    over: bool = False


@dataclass(frozen=True)
class Summarising:
    """The model is asked for a summary of what was said before, because all of it is too long to be sent."""

    type: ClassVar[str] = "summarising"


@dataclass(frozen=True)
class Compacted:
    """From the request of `step` on the model is sent less than before.

    Places are those in the conversation's messages, of which there were `count`. The results at places in
    `shortened` are sent as the texts there. What stands ahead of `kept_from` is sent no more: the texts of
    the person in a turn that is cut through stay, after `carried`, which holds the summary and the todo
    list. `summary` is the model's own text, empty where none could be had; `usage` is that of the call that
    was to write it, at `endpoint`; None where there was none.
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
    """The endpoint refused these pictures, so that they are sent no more; the model reads that it is so."""

    type: ClassVar[str] = "pictures_refused"
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Reply:
    """The model's reply is complete: its text, and the calls that it asks for.

    `extra` keeps the provider's own fields of the message, which go back to it unchanged.
    """

    type: ClassVar[str] = "reply"
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def as_message(self, provider: str = "") -> dict[str, Any]:
        """The reply in the chat-completions form, as it goes back to the model.

        What only the model at `provider` may read again comes beside it, under names of our own: "provider",
        "reasoning_content" and "extra".
        """
        own = {"reasoning_content": self.reasoning, "extra": dict(self.extra), "provider": provider}
        return {**self._said(), **{name: value for name, value in own.items() if value}}

    def _said(self) -> dict[str, Any]:
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
    """A tool begins to work."""

    type: ClassVar[str] = "tool_call_started"
    call: ToolCall


@dataclass(frozen=True)
class ToolCallProgress:
    """What a tool at work has to show by now, whole: it takes the place of what was shown before."""

    type: ClassVar[str] = "tool_call_progress"
    call: ToolCall
    text: str


@dataclass(frozen=True)
class TodoUpdate:
    """A `TodoWrite` was accepted: the list as it now stands."""

    type: ClassVar[str] = "todo_update"
    call: ToolCall
    items: tuple[TodoItem, ...]


CallStatus = Literal["succeeded", "failed", "denied"]


@dataclass(frozen=True)
class ToolCallEnded:
    """A call has its result, which the model reads next."""

    type: ClassVar[str] = "tool_call_ended"
    call: ToolCall
    status: CallStatus
    result: ToolResult
    seconds: float


@dataclass(frozen=True)
class NotesRead:
    """Notes from the inbox joined the conversation, as messages in the chat-completions form."""

    type: ClassVar[str] = "notes_read"
    messages: tuple[Mapping[str, Any], ...]


EndReason = Literal["completed", "limit", "failed", "waiting"]


@dataclass(frozen=True)
class End:
    """The turn is over. `sentence` says why, unless it simply completed; `text` is the last reply's text.

    A `waiting` one stands still until a person has decided about `call`; `Agent.run` takes it up again.
    `messages` is the conversation with the turn in it, for the next one: in the chat-completions form, with
    marks of our own beside where it was made shorter for the model.
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
    """The `type` of each event."""

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
    Event = AnyEvent  # a union, so that a `match` is checked for cases that are missing
else:
    # Every event is one, and `Event.todo_update(...)` makes a TodoUpdate, and so on by the types.
    Event = ABCMeta("Event", (), {kind.type: kind for kind in get_args(AnyEvent)})
    for _kind in get_args(AnyEvent):
        Event.register(_kind)
