"""Tools: what the model may ask for besides text."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Protocol, get_type_hints, overload

from jsonschema import Draft202012Validator
from jsonschema import ValidationError as SchemaError
from jsonschema.validators import extend
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import SchemaError as PydanticSchemaError
from pydantic_core import SchemaValidator, core_schema

from chat.agent.arguments import fitted
from chat.agent.pictures import Picture

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


MOST_WORK = 20_000  # keywords checked; schemas that refer to themselves can ask for any number
MOST_FAULTS = 20

_work: ContextVar[list[int]] = ContextVar("work")
Faults = Iterator[SchemaError]
Check = Callable[[Any, Any, Any, Any], Iterable[SchemaError] | None]


class TooMuchWorkError(Exception):
    """The check was given up."""


def faults_in(given: Any, validator: Any) -> list[SchemaError]:
    """What does not fit, the first of it; raises TooMuchWorkError where finding that out takes too long."""
    token = _work.set([MOST_WORK])
    try:
        return list(islice(validator.iter_errors(given), MOST_FAULTS))
    except RecursionError:
        raise TooMuchWorkError from None
    finally:
        _work.reset(token)


def _counted(check: Check, validator: Any, value: Any, instance: Any, schema: Any) -> Faults:
    left = _work.get()
    # A list as a whole is compared with each of an enumeration.
    left[0] -= 1 + (len(value) if isinstance(value, list) else 0)
    if left[0] < 0:
        raise TooMuchWorkError
    yield from check(validator, value, instance, schema) or ()


@lru_cache(maxsize=256)
def _expression(pattern: str) -> SchemaValidator | None:
    """The pattern in an engine that takes linear time, unlike `re`; None for one that it does not know."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except PydanticSchemaError:
        return None


def _matches(pattern: Any, text: str) -> bool:
    """Whether the text has it; so too where that cannot be told, for the tool's own check comes later."""
    expression = _expression(pattern) if isinstance(pattern, str) else None
    return expression is None or expression.isinstance_python(text)


def _pattern(validator: Any, value: Any, instance: Any, schema: Any) -> Faults:
    if isinstance(instance, str) and not _matches(value, instance):
        yield SchemaError(f"{instance!r} does not match {value!r}")


def _pattern_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Faults:
    if isinstance(instance, Mapping):
        for pattern, beneath in value.items():
            for name, each in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(each, beneath, path=name, schema_path=pattern)


def _additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Faults:
    patterns = schema.get("patternProperties")
    if not patterns:
        yield from Draft202012Validator.VALIDATORS["additionalProperties"](validator, value, instance, schema)
    elif isinstance(instance, Mapping):
        known = schema.get("properties", {})
        for name, each in instance.items():
            if name in known or any(_matches(pattern, name) for pattern in patterns):
                continue
            if value is False:
                yield SchemaError(f"Additional properties are not allowed ({name!r} was unexpected)")
            elif isinstance(value, Mapping):
                yield from validator.descend(each, value, path=name)


def _unique_items(validator: Any, value: Any, instance: Any, schema: Any) -> Faults:
    if value and isinstance(instance, list):
        written = {json.dumps(each, sort_keys=True, default=str) for each in instance}
        if len(written) < len(instance):
            yield SchemaError("a list has non-unique elements")


_CHECKS: dict[str, Check] = {
    **Draft202012Validator.VALIDATORS,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
for _name in ("unevaluatedProperties", "unevaluatedItems"):  # they search with `re`
    _CHECKS[_name] = lambda *_: None

_COUNTED = {name: partial(_counted, check) for name, check in _CHECKS.items()}
BoundedValidator: Any = extend(Draft202012Validator, _COUNTED)  # type: ignore[no-untyped-call]
