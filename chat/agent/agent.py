"""An agent: a model, its instructions and its tools, ready to take turns."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from chat.agent.events import End, EndReason, Event, Reply, ToolCall, Usage
from chat.agent.hooks import Approve, Edits, Inbox, allow, no_edits, no_notes
from chat.agent.limits import Limits, Retry, Spent
from chat.agent.meter import Meter
from chat.agent.model import Model, Traits, known_traits
from chat.agent.progress import cancelled
from chat.agent.prompts import Language, default_name
from chat.agent.system_prompt import build_plain_prompt, build_system_prompt
from chat.agent.todo import TODO_WRITE, TodoItem, TodoList, TodoPolicy, as_policy
from chat.agent.tool import Tool, as_tool
from chat.agent.turn import Emit, TurnRun

if TYPE_CHECKING:
    from chat.agent.model.chat_model import ChatModel

DEFAULT_MODEL = "gpt-4o-mini"

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Parameters of a chat-completions request, and of how the `openai` package sends it. Not among them is what
# the loop itself decides: messages, tools, streaming.
_OPTIONS = {
    "audio", "extra_body", "extra_headers", "extra_query", "frequency_penalty", "function_call",
    "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata",
    "modalities", "moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty",
    "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort",
    "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream_options",
    "temperature", "timeout", "tool_choice", "top_logprobs", "top_p", "user", "verbosity",
    "web_search_options",
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What a turn came to: the final text, the final list, how it ended, and the messages for the next."""

    text: str
    todos: list[TodoItem]
    usage: Usage
    steps: int
    stop_reason: EndReason
    sentence: str
    call: ToolCall | None = None
    messages: tuple[Mapping[str, Any], ...] = ()


class Agent:
    """A named agent. `TodoWrite` is registered by itself, under the given policy.

    `model` is the model's name at `base_url` with `api_key` (by default where the environment of the `openai`
    package points), or any object with the model protocol; by default OPENAI_MODEL of the environment, else
    `gpt-4o-mini`. `llm` is another name for it, and `system_prompt` another name for `instructions`. Tools
    are `Tool`s, async functions, or plain dictionaries in the provider's form. `context_window` is how many
    tokens a request and its reply may have together; 0 takes what is known of the model. `first_byte` and
    `silence` are the seconds for which the endpoint of a model that is given by name may send nothing, before
    a reply and within it; 0 takes what is known of it. `temperature` and further keyword arguments are
    parameters of chat completions, sent with every request; fields of a provider's own go into `extra_body`.
    With `keep_todos` a turn that is given no list goes on with `todos`, the one that the turn before left.
    Raises TypeError for an option that does not exist and for an object that is no model, ValueError for an
    unknown policy and for tool names that are doubled or that no endpoint takes.
    """

    def __init__(
        self,
        model: str | Model | None = None,
        *,
        name: str = "",
        instructions: str = "",
        tools: Iterable[Tool | Callable[..., Awaitable[Any]] | Mapping[str, Any]] | None = None,
        todo_policy: str | TodoPolicy = "focused",
        limits: Limits | None = None,
        retry: Retry | None = None,
        temperature: float | None = None,
        language: Language = "en",
        workspace: str = "",
        context_window: int = 0,
        base_url: str | None = None,
        api_key: str | None = None,
        first_byte: float = 0,
        silence: float = 0,
        llm: str | Model | None = None,
        system_prompt: str = "",
        keep_todos: bool = False,
        **options: Any,
    ) -> None:
        _check_options(options)
        self.name = name or default_name(language)
        self.instructions = _one_of("instructions", instructions, "system_prompt", system_prompt) or ""
        self._made_model: ChatModel | None = None
        model = _one_of("model", model, "llm", llm)
        if model is None:
            model = os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL
        if isinstance(model, str):
            model = self._made_model = _made_model(model, base_url, api_key, first_byte, silence)
        _check_model(model)
        self.model: Model = model
        self.tools = _checked([as_tool(given) for given in tools or ()])
        self.todo_policy = as_policy(todo_policy)
        self.limits = limits or Limits()
        self.retry = retry or Retry()
        self.language = language
        self.workspace = workspace
        self.context_window = context_window
        self.keep_todos = keep_todos
        self.todos: tuple[TodoItem, ...] = ()
        self.options = options if temperature is None else {"temperature": temperature, **options}

    @property
    def traits(self) -> Traits:
        """What the model needs and can; for a model of one's own that does not say, the usual."""
        found = getattr(self.model, "traits", None)
        return found if isinstance(found, Traits) else Traits()

    @property
    def asked_at(self) -> tuple[str, str]:
        """The endpoint and the model's name there; empty for a model of one's own that has none."""
        return str(getattr(self.model, "endpoint", "")), str(getattr(self.model, "name", ""))

    @property
    def system_prompt(self) -> str:
        """What the model is told ahead of every conversation; for one without tools there is none to plan."""
        if not self.traits.tools:
            return build_plain_prompt(self.name, self.instructions, language=self.language)
        return build_system_prompt(
            self.name,
            self.instructions,
            todo_policy=self.todo_policy,
            language=self.language,
            workspace=self.workspace,
        )

    async def drive(
        self,
        messages: Sequence[Mapping[str, Any]],
        todos: Sequence[TodoItem | Mapping[str, Any]] | None = None,
        spent: Spent | None = None,
        inbox: Inbox = no_notes,
        approve: Approve = allow,
        unfinished: Reply | None = None,
        meter: Meter | None = None,
        edits: Edits = no_edits,
        *,
        emit: Emit,
    ) -> None:
        """Run one turn over a conversation in the chat-completions form.

        `emit` is awaited with each event before the turn goes on; the last is an `End`.

        `todos` is the list so far, as the model knows it, in items or in dictionaries as `TodoWrite` takes
        them; ahead of every request `edits` says what the user has made of it, and a note that rides on the
        request tells the model. `spent` is what a turn that is taken up again has used of its limits.
        `inbox` is asked for messages to add after all results of a step; `approve` for a decision before
        each call, which may take its time; where it raises Undecided the turn ends as `waiting`. To take
        that up again, give the messages up to the results that there were, and as `unfinished` the reply
        that asked for more. Failures of model and tools are events, never exceptions; what `emit` raises ends
        the turn and is raised. Cancelling stops the model's stream and the running tool; what that call of
        the model took by then, `meter` still knows.
        """
        known = TodoList(self.todo_policy, self.todos if todos is None else todos, self.language).items
        spent = spent or Spent()
        turn = TurnRun(self, messages, known, spent, emit, inbox, approve, unfinished, meter, edits)
        try:
            await turn.run()
        finally:
            if self.keep_todos:
                self.todos = turn.todos.items

    async def run(
        self, messages: Sequence[Mapping[str, Any]], *args: Any, **turn: Any
    ) -> AsyncGenerator[Event, None]:
        """One turn as an iterator of events, the last an `End`; takes what `drive` takes but `emit`.

        The turn goes on when the next event is asked for. Closing the iterator stops it.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        async def emit(event: Event) -> None:
            events.put_nowait(event)
            await events.join()

        task = asyncio.create_task(self.drive(messages, *args, emit=emit, **turn))
        task.add_done_callback(lambda _task: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
                events.task_done()
            await task
        finally:
            await cancelled(task)

    async def close(self) -> None:
        """Close the connections to the endpoint; a model given as an object is its owner's to close."""
        if self._made_model:
            await self._made_model.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def complete(self, messages: Sequence[Mapping[str, Any]], **turn: Any) -> Result:
        """One turn to its end; takes what `run` takes."""
        ends: list[End] = []

        async def keep_end(event: Event) -> None:
            if isinstance(event, End):
                ends.append(event)

        await self.drive(messages, emit=keep_end, **turn)
        [end] = ends
        return Result(
            end.text, list(end.todos), end.usage, end.steps, end.reason, end.sentence, end.call, end.messages
        )


def _one_of(name: str, value: Any, other_name: str, other: Any) -> Any:
    """The value under whichever of its two names it was given; raises TypeError if both were."""
    given = [each for each in (value, other) if each is not None and each != ""]
    if len(given) > 1:
        raise TypeError(f"{other_name!r} is another name for {name!r}; give one of them.")
    return given[0] if given else None


def _check_model(model: object) -> None:
    if isinstance(model, type) or not callable(getattr(model, "stream", None)):
        raise TypeError(
            "A model is a name, or an object with a method stream(messages, tools, options) that yields the"
            f" pieces of a reply; {model!r} is neither."
        )


def _check_options(options: Iterable[str]) -> None:
    for name in options:
        if name not in _OPTIONS:
            own = inspect.signature(Agent).parameters.keys() - {"options"}
            near = difflib.get_close_matches(name, [*sorted(own), *sorted(_OPTIONS)], 1, cutoff=0)[0]
            raise TypeError(
                f"Agent has no option {name!r}; the nearest is {near!r}. A field of a provider's own goes"
                f" into extra_body={{{name!r}: ...}}."
            )


def _made_model(
    model: str, base_url: str | None, api_key: str | None, first_byte: float, silence: float
) -> ChatModel:
    # Half a second to import, so only those who talk to an endpoint pay it.
    from chat.agent.model.chat_model import ChatModel

    given = {"silence": silence, "first_byte": first_byte}
    traits = known_traits(base_url, model).but({name: value for name, value in given.items() if value})
    return ChatModel(model, base_url, api_key, traits=traits)


def _checked(tools: list[Tool]) -> tuple[Tool, ...]:
    names = [TODO_WRITE, *(tool.name for tool in tools)]
    for name in names:
        if not _TOOL_NAME.fullmatch(name):
            raise ValueError(f"a tool's name is 1 to 64 letters, digits, _ and -, so not {name!r}")
        if names.count(name) > 1:
            raise ValueError(f"two tools are called {name!r}")
    return tuple(tools)
