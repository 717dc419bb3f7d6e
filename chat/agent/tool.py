"""Tools that the model may call, and the validation of their arguments."""

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

REFUSAL = "refusal"  # in a failed call's detail: the code of the reason
MAX_MESSAGE = 2000  # characters of an error message; some repeat all arguments


class ToolError(Exception):
    """A tool call failed; the model reads the message, `detail` is for the user's record."""

    def __init__(self, message: str = "", detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.detail = detail or {}


@dataclass(frozen=True)
class ToolResult:
    """`text` and `pictures` go to the model, `detail` only to the user's record of the call."""

    text: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()


class Arguments(Protocol):
    """Converts the model's arguments to keyword arguments; raises ToolError naming what does not fit."""

    def __call__(self, arguments: Mapping[str, Any], /) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Tool:
    """A name, a description and a JSON schema for the model, and the async function that implements it.

    `function` returns text, a ToolResult, or a JSON-serialisable value; its exceptions become error results.
    `repeatable`: a call interrupted by a crash may run again. `foresee` takes the same arguments, changes
    nothing, and returns the `detail` that the call would leave.
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
        if self.raw is not None:
            return dict(self.raw)
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Validate the arguments and run the function; raises ToolError if they do not fit."""
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
        return await self.foresee(**self.checked(arguments)) if self.foresee else {}


def as_tool(value: Tool | Callable[..., Awaitable[Any]] | Mapping[str, Any]) -> Tool:
    """Convert an async function, or a dictionary in the provider's format; raises TypeError for others.

    A dictionary's "run" is the function and is not sent. Without it, the provider runs the tool.
    """
    if isinstance(value, Tool):
        return value
    if inspect.isfunction(value):
        return tool(value)
    if not isinstance(value, Mapping):
        raise TypeError(
            f"A tool is a Tool, an async function or a dictionary, and {value!r} is none of them."
        )
    raw = {key: each for key, each in value.items() if key != "run"}
    declared = raw.get("function", {})
    return Tool(
        name=declared.get("name") or str(raw.get("name") or raw.get("type", "")),
        description=declared.get("description", ""),
        parameters=declared.get("parameters", {"type": "object", "properties": {}}),
        function=value.get("run", _no_code),
        raw=raw,
    )


async def _no_code(**_arguments: Any) -> str:
    raise ToolError("Error: this tool is declared without code to run it.")


def schema_check(schema: Mapping[str, Any]) -> Arguments:
    """A validator for a JSON schema; schemas may be third-party, so the work is bounded."""
    validator = BoundedValidator(schema)

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            errors = [
                _error_line(each.path, each.message[:MAX_MESSAGE])
                for each in schema_errors(arguments, validator)
            ]
        except TooMuchWorkError:
            raise ToolError(
                "Error: these arguments take too long to check. Send fewer or simpler ones."
            ) from None
        if errors:
            raise ToolError("Error: " + "; ".join(errors))
        return dict(arguments)

    return check


def _error_line(path: Iterable[object], message: str) -> str:
    return f"{'.'.join(map(str, path)) or 'arguments'}: {message}"


_UNKNOWN = "there is no such argument"


def model_check(model: type[BaseModel]) -> Arguments:
    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            checked = model.model_validate(arguments)
        except ValidationError as error:
            errors = [
                _error_line(each["loc"], _UNKNOWN if each["type"] == "extra_forbidden" else each["msg"])
                for each in error.errors()
            ]
            raise ToolError("Error: " + "; ".join(errors)) from None
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

    The schema comes from the annotations (`Annotated[int, Field(description=..., ge=1)]`), the description
    from the docstring. Raises TypeError for a sync function and for arguments without annotation or name.
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
    """The model's JSON schema without pydantic's titles, which only cost tokens."""
    schema = model.model_json_schema()
    schema.pop("title", None)
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
    schema.setdefault("properties", {})
    return schema


MAX_WORK = 20_000  # keywords checked; recursive schemas can require any number
MAX_ERRORS = 20

_work_left: ContextVar[list[int]] = ContextVar("work_left")
Errors = Iterator[SchemaError]
Check = Callable[[Any, Any, Any, Any], Iterable[SchemaError] | None]


class TooMuchWorkError(Exception):
    pass


def schema_errors(arguments: Any, validator: Any) -> list[SchemaError]:
    token = _work_left.set([MAX_WORK])
    try:
        return list(islice(validator.iter_errors(arguments), MAX_ERRORS))
    except RecursionError:
        raise TooMuchWorkError from None
    finally:
        _work_left.reset(token)


def _count_work(check: Check, validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
    left = _work_left.get()
    # A list is compared with every value of an enumeration.
    left[0] -= 1 + (len(value) if isinstance(value, list) else 0)
    if left[0] < 0:
        raise TooMuchWorkError
    yield from check(validator, value, instance, schema) or ()


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator | None:
    """The pattern compiled by a linear-time engine, unlike `re`; None if that engine does not support it."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except PydanticSchemaError:
        return None


def _matches(pattern: Any, text: str) -> bool:
    """Whether the text matches; True for unsupported patterns, as the tool validates values itself."""
    expression = _compiled(pattern) if isinstance(pattern, str) else None
    return expression is None or expression.isinstance_python(text)


def _pattern(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, str) and not _matches(value, instance):
        yield SchemaError(f"{instance!r} does not match {value!r}")


def _pattern_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, Mapping):
        for pattern, subschema in value.items():
            for name, each in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(each, subschema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
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


def _unique_items(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
    if value and isinstance(instance, list):
        unique = {json.dumps(each, sort_keys=True, default=str) for each in instance}
        if len(unique) < len(instance):
            yield SchemaError("a list has non-unique elements")


_CHECKS: dict[str, Check] = {
    **Draft202012Validator.VALIDATORS,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
for _name in ("unevaluatedProperties", "unevaluatedItems"):  # jsonschema's versions use `re`
    _CHECKS[_name] = lambda *_: None

_BOUNDED_CHECKS = {name: partial(_count_work, check) for name, check in _CHECKS.items()}
BoundedValidator: Any = extend(Draft202012Validator, _BOUNDED_CHECKS)  # type: ignore[no-untyped-call]
