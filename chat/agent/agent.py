"""An agent: a model, its instructions and its tools."""

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
# Parameters of a chat-completions request and of the `openai` package's call, except those that the loop
# sets itself: messages, tools, streaming.
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
    """The result of a turn: final text and list, how it ended, and the messages for the next turn."""

    text: str
    todos: list[TodoItem]
    usage: Usage
    steps: int
    stop_reason: EndReason
    sentence: str
    call: ToolCall | None = None
    messages: tuple[Mapping[str, Any], ...] = ()


class Agent:
    """A named agent. `TodoWrite` is registered automatically, under the given policy.

    `model` is a model name at `base_url` with `api_key` (default: the `openai` package's environment
    variables) or any object that implements the model protocol; default: OPENAI_MODEL, else `gpt-4o-mini`.
    `llm` is an alias for `model`, `system_prompt` for `instructions`. Tools are `Tool`s, async functions, or
    dictionaries in the provider's format. `context_window` is the number of tokens that a request and its
    reply share; 0 uses the known value for the model. `first_byte` and `silence` are the seconds that an
    endpoint (of a model given by name) may send nothing before and within a reply; 0 uses the known values.
    `temperature` and other keyword arguments are chat-completions parameters sent with every request;
    provider-specific fields go into `extra_body`. With `keep_todos`, a turn that is given no list continues
    with `todos`, the list of the previous turn.

    Raises TypeError for an unknown option or an object that is not a model, ValueError for an unknown policy
    and for duplicate or invalid tool names.
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
        user_language: Language | None = None,
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
        self._owned_model: ChatModel | None = None
        model = _one_of("model", model, "llm", llm)
        if model is None:
            model = os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL
        if isinstance(model, str):
            model = self._owned_model = _create_model(model, base_url, api_key, first_byte, silence)
        _check_model(model)
        self.model: Model = model
        self.tools = _check_names([as_tool(each) for each in tools or ()])
        self.todo_policy = as_policy(todo_policy)
        self.limits = limits or Limits()
        self.retry = retry or Retry()
        self.language = language
        self.user_language = user_language or language
        self.workspace = workspace
        self.context_window = context_window
        self.keep_todos = keep_todos
        self.todos: tuple[TodoItem, ...] = ()
        self.options = options if temperature is None else {"temperature": temperature, **options}

    @property
    def traits(self) -> Traits:
        traits = getattr(self.model, "traits", None)
        return traits if isinstance(traits, Traits) else Traits()

    @property
    def endpoint_and_model(self) -> tuple[str, str]:
        """The endpoint and the model's name there; empty strings for a custom model without them."""
        return str(getattr(self.model, "endpoint", "")), str(getattr(self.model, "name", ""))

    @property
    def system_prompt(self) -> str:
        """The system prompt; without planning instructions if the model has no tools."""
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
        *,
        written: Sequence[TodoItem] = (),
        spent: Spent | None = None,
        inbox: Inbox = no_notes,
        approve: Approve = allow,
        unfinished: Reply | None = None,
        meter: Meter | None = None,
        edits: Edits = no_edits,
        emit: Emit,
    ) -> None:
        """Run one turn over a conversation in chat-completions form.

        Each event is passed to `emit` and awaited before the turn continues; the last is an `End`.

        `todos` is the list as the model last saw it, as items or as `TodoWrite` dictionaries; before each
        request `edits` returns the list as the user changed it, and a note in the request tells the model.
        `written` is the list as the model wrote it last, if the user has changed it since: what it only
        repeats of that undoes no change. `spent` is what a resumed turn has already used of its limits.
        `inbox` is polled for messages to add after all results of a step. `approve` is awaited before each
        call and may take its time; if it raises Undecided, the turn ends as `waiting`. To resume it, pass the
        messages up to the results so far and, as `unfinished`, the reply that requested the calls.

        Failures of the model and of tools are events, never exceptions; an exception from `emit` ends the
        turn and propagates. Cancelling stops the model's stream and the running tool; `meter` still has the
        usage of the interrupted model call.
        """
        known = self.todos if todos is None else todos
        turn = TurnRun(
            self,
            messages,
            TodoList(self.todo_policy, known, self.language, written),
            spent=spent or Spent(),
            emit=emit,
            inbox=inbox,
            approve=approve,
            unfinished=unfinished,
            meter=meter,
            edits=edits,
        )
        try:
            await turn.run()
        finally:
            if self.keep_todos:
                self.todos = turn.todos.items

    async def run(
        self, messages: Sequence[Mapping[str, Any]], *args: Any, **turn: Any
    ) -> AsyncGenerator[Event, None]:
        """Run one turn as an iterator of events, the last an `End`; arguments as for `drive` but `emit`."""
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
        """Close the connections to the endpoint; a model passed in as an object is left open."""
        if self._owned_model:
            await self._owned_model.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def complete(self, messages: Sequence[Mapping[str, Any]], **turn: Any) -> Result:
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
    values = [each for each in (value, other) if each is not None and each != ""]
    if len(values) > 1:
        raise TypeError(f"{other_name!r} is another name for {name!r}; give one of them.")
    return values[0] if values else None


def _check_model(model: object) -> None:
    if isinstance(model, type) or not callable(getattr(model, "stream", None)):
        raise TypeError(
            "A model is a name, or an object with a method stream(messages, tools, options) that yields the"
            f" pieces of a reply; {model!r} is neither."
        )


def _check_options(options: Iterable[str]) -> None:
    for name in options:
        if name not in _OPTIONS:
            parameters = inspect.signature(Agent).parameters.keys() - {"options"}
            nearest = difflib.get_close_matches(name, [*sorted(parameters), *sorted(_OPTIONS)], 1, cutoff=0)[
                0
            ]
            raise TypeError(
                f"Agent has no option {name!r}; the nearest is {nearest!r}. A field of a provider's own goes"
                f" into extra_body={{{name!r}: ...}}."
            )


def _create_model(
    model: str, base_url: str | None, api_key: str | None, first_byte: float, silence: float
) -> ChatModel:
    # Imported here because loading it takes half a second.
    from chat.agent.model.chat_model import ChatModel

    timeouts = {"silence": silence, "first_byte": first_byte}
    traits = known_traits(base_url, model).but({name: value for name, value in timeouts.items() if value})
    return ChatModel(model, base_url, api_key, traits=traits)


def _check_names(tools: list[Tool]) -> tuple[Tool, ...]:
    names = [TODO_WRITE, *(tool.name for tool in tools)]
    for name in names:
        if not _TOOL_NAME.fullmatch(name):
            raise ValueError(f"a tool's name is 1 to 64 letters, digits, _ and -, so not {name!r}")
        if names.count(name) > 1:
            raise ValueError(f"two tools are called {name!r}")
    return tuple(tools)
