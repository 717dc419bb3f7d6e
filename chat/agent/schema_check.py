"""Arguments checked against a JSON schema of somebody else's, within a bound of work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from pydantic_core import SchemaError, SchemaValidator, core_schema

MOST_WORK = 20_000  # keywords checked; schemas that refer to themselves can ask for any number
MOST_FAULTS = 20

_work: ContextVar[list[int]] = ContextVar("work")
Faults = Iterator[ValidationError]
Check = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


class TooMuchWorkError(Exception):
    """The check was given up."""


def faults_in(given: Any, validator: Any) -> list[ValidationError]:
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
    except SchemaError:
        return None


def _matches(pattern: Any, text: str) -> bool:
    """Whether the text has it; so too where that cannot be told, for the tool's own check comes later."""
    expression = _expression(pattern) if isinstance(pattern, str) else None
    return expression is None or expression.isinstance_python(text)


def _pattern(validator: Any, value: Any, instance: Any, schema: Any) -> Faults:
    if isinstance(instance, str) and not _matches(value, instance):
        yield ValidationError(f"{instance!r} does not match {value!r}")


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
                yield ValidationError(f"Additional properties are not allowed ({name!r} was unexpected)")
            elif isinstance(value, Mapping):
                yield from validator.descend(each, value, path=name)


def _unique_items(validator: Any, value: Any, instance: Any, schema: Any) -> Faults:
    if value and isinstance(instance, list):
        written = {json.dumps(each, sort_keys=True, default=str) for each in instance}
        if len(written) < len(instance):
            yield ValidationError("a list has non-unique elements")


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
