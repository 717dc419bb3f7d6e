"""The values of rows as a file has them: how each kind of field is written, taken back and described."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db import models
from django.utils import timezone

from chat.export.shapes import SHAPES

MOMENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
AMOUNT = r"^\d{1,8}(\.\d{1,8})?$"
EARLIEST = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
AHEAD = datetime.timedelta(days=1)  # that another machine's clock may be
LARGEST = {"PositiveSmallIntegerField": 2**15 - 1, "PositiveIntegerField": 2**31 - 1}

if TYPE_CHECKING:
    Field = models.Field[Any, Any]


def written(value: Any) -> Any:
    """A row's value as JSON has it."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    return format(value, ".8f") if isinstance(value, Decimal) else value


def taken(field: Field, value: Any) -> Any:
    """The row's value, of one that fits the field's schema; raises ValueError for a time that cannot be."""
    if value is None:
        return None
    if isinstance(field, models.DateTimeField):
        moment = datetime.datetime.fromisoformat(value)
        if not EARLIEST <= moment <= timezone.now() + AHEAD:
            raise ValueError(value)
        return moment
    if isinstance(field, models.DecimalField):
        return Decimal(value)
    return int(value) if isinstance(field, models.IntegerField) else value


def is_needed(field: Field) -> bool:
    """Whether a file must have the field; any other stands for what is usual where it is missing."""
    if isinstance(field, models.DateTimeField):
        return not (field.null or field.has_default())  # Django calls the ones that it fills blank
    return not (field.has_default() or field.null or field.blank)


def schema(field: Field) -> dict[str, Any]:
    """The JSON Schema of the field's values."""
    found = _schema(field)
    return {**found, "type": [found["type"], "null"]} if field.null else found


def _schema(field: Field) -> dict[str, Any]:
    match field:
        case models.JSONField():
            return SHAPES[f"{field.model.__name__}.{field.name}"]
        case models.BooleanField():
            return {"type": "boolean"}
        case models.DateTimeField():
            return {"type": "string", "pattern": MOMENT}
        case models.DecimalField():
            return {"type": "string", "pattern": AMOUNT}
        case models.IntegerField():
            largest = LARGEST.get(type(field).__name__, 2**53 - 1)
            return {"type": "integer", "minimum": 0, "maximum": largest}
        case models.CharField() | models.TextField():
            return _text(field)
    raise TypeError(f"no kind of value is known for {field}")


def _text(field: Field) -> dict[str, Any]:
    choices = [str(value) for value, _label in field.choices or ()]
    if choices:
        return {"type": "string", "enum": ["", *choices] if field.blank else choices}
    return {"type": "string", **({"maxLength": field.max_length} if field.max_length else {})}
