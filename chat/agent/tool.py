"""Tools: what the model may ask for besides text."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from chat.agent.arguments import fitted
from chat.agent.pictures import Picture
from chat.agent.schema_check import BoundedValidator, TooMuchWorkError, faults_in

MOST_OF_FAULT = 2000  # characters; some repeat all of the arguments


class ToolError(Exception):
    """A tool could not do what it was asked; the model reads the message as the call's result.

    `detail` is for the person's record of the call, as that of a ToolResult.
    """

    def __init__(self, message: str = "", detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.detail = detail or {}


@dataclass(frozen=True)
class ToolResult:
    """What a call came to: `text` goes to the model, `detail` only to the person's record of the call.

    `pictures` go to the model too, if it can see.
    """

    text: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()


class Arguments(Protocol):
    """Turns the model's arguments into keyword arguments, or raises ToolError naming what does not fit."""

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Tool:
    """A name, a description and a JSON schema for the model, and the async function behind them.

    `function` is called with the arguments as keywords and returns text, a ToolResult, or anything that can
    be written as JSON. Whatever it raises becomes an error result that the model reads. `repeatable` says
    that running the same call twice does no harm, so that a call cut off by a crash may simply run again.
    `foresee` takes the same arguments, does nothing, and gives the `detail` that the call would leave.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Awaitable[Any]]
    check: Arguments | None = None
    repeatable: bool = False
    raw: Mapping[str, Any] | None = None
    foresee: Callable[..., Awaitable[Mapping[str, Any]]] | None = None

    def definition(self) -> dict[str, Any]:
        """The tool in the form of the chat-completions `tools` parameter."""
        if self.raw is not None:
            return dict(self.raw)
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Check the arguments, run the function and give its result; raises ToolError if they do not fit."""
        value = await self.function(**self.checked(arguments))
        if isinstance(value, ToolResult):
            return value
        return ToolResult(
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        )

    def checked(self, arguments: Any) -> dict[str, Any]:
        """The arguments as the function takes them; raises ToolError if they do not fit."""
        if not isinstance(arguments, Mapping):
            raise ToolError("Error: the arguments must be one JSON object.")
        return (self.check or schema_check(self.parameters))(fitted(arguments, self.parameters))

    async def foreseen(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a call would leave for the record; empty where that cannot be told. Raises ToolError."""
        return await self.foresee(**self.checked(arguments)) if self.foresee else {}


def as_tool(given: Tool | Callable[..., Awaitable[Any]] | Mapping[str, Any]) -> Tool:
    """The tool itself, or one made of an async function or of a plain dictionary in the provider's form.

    Such a dictionary may carry the async function that runs it under "run", which is not sent. One without
    is sent as it is, for a provider that runs the tool itself; a call to it here is an error result. Raises
    TypeError for anything else.
    """
    if isinstance(given, Tool):
        return given
    if inspect.isfunction(given):
        return tool(given)
    if not isinstance(given, Mapping):
        raise TypeError(
            f"A tool is a Tool, an async function or a dictionary, and {given!r} is none of them."
        )
    raw = {key: value for key, value in given.items() if key != "run"}
    declared = raw.get("function", {})
    return Tool(
        name=declared.get("name") or str(raw.get("name") or raw.get("type", "")),
        description=declared.get("description", ""),
        parameters=declared.get("parameters", {"type": "object", "properties": {}}),
        function=given.get("run", _no_code),
        raw=raw,
    )


async def _no_code(**_arguments: Any) -> str:
    raise ToolError("Error: this tool is declared without code to run it.")


def schema_check(schema: Mapping[str, Any]) -> Arguments:
    """A check of arguments against a JSON schema, which may be somebody else's: within a bound of work."""
    validator = BoundedValidator(schema)

    def check(given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            faults = [
                _fault(fault.path, fault.message[:MOST_OF_FAULT]) for fault in faults_in(given, validator)
            ]
        except TooMuchWorkError:
            raise ToolError(
                "Error: these arguments take too long to check. Send fewer or simpler ones."
            ) from None
        if faults:
            raise ToolError("Error: " + "; ".join(faults))
        return dict(given)

    return check


def _fault(place: Iterable[object], message: str) -> str:
    return f"{'.'.join(map(str, place)) or 'arguments'}: {message}"


def model_check(model: type[BaseModel]) -> Arguments:
    """A check of arguments against a pydantic model, whose conversions and defaults apply."""

    def check(given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            checked = model.model_validate(given)
        except ValidationError as error:
            faults = [_fault(fault["loc"], fault["msg"]) for fault in error.errors()]
            raise ToolError("Error: " + "; ".join(faults)) from None
        return {name: getattr(checked, name) for name in model.model_fields}

    return check


@overload
def tool(
    function: Callable[..., Awaitable[Any]],
    /,
    *,
    name: str = "",
    description: str = "",
    repeatable: bool = False,
) -> Tool: ...
@overload
def tool(
    function: None = None, /, *, name: str = "", description: str = "", repeatable: bool = False
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]: ...
def tool(
    function: Callable[..., Awaitable[Any]] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    repeatable: bool = False,
) -> Tool | Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Make a Tool from a typed async function: `@tool` or `@tool(name=..., description=...)`.

    The schema comes from the annotations (`Annotated[int, Field(description=..., ge=1)]` says more of one
    argument), the description from the docstring. Raises TypeError for a function that is not async, or has
    an argument without an annotation or without a name of its own (`*args`).
    """

    def make(function: Callable[..., Awaitable[Any]]) -> Tool:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__} must be an async function to be a tool")
        model = _arguments_model(function)
        return Tool(
            name=name or function.__name__,
            description=description or inspect.getdoc(function) or "",
            parameters=_plain_schema(model),
            function=function,
            check=model_check(model),
            repeatable=repeatable,
        )

    return make(function) if function else make


def _arguments_model(function: Callable[..., Any]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for argument in inspect.signature(function).parameters.values():
        if argument.name not in hints:
            raise TypeError(f"argument {argument.name!r} of tool {function.__name__} has no annotation")
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            raise TypeError(f"tool {function.__name__} takes {argument}, which no schema can say")
        default = ... if argument.default is inspect.Parameter.empty else argument.default
        fields[argument.name] = (hints[argument.name], default)
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON schema without pydantic's titles, which cost tokens and say nothing."""
    schema = model.model_json_schema()
    schema.pop("title", None)
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
    schema.setdefault("properties", {})
    return schema
