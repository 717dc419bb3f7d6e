"""Tool calls on their way from the model's reply to the record."""

from __future__ import annotations

from chat.agent import ToolCall as CallRequest
from chat.models import Step, ToolCall
from chat.models.text import clean, clean_json


def call_row(step: Step, index: int, request: CallRequest) -> ToolCall:
    """A new row for the call at place `index` of the step's reply."""
    row: ToolCall = step.turn.tool_calls.create(
        step=step,
        index=index,
        wire_id=clean(request.id)[:200],
        name=clean(request.name)[:200],
        arguments=clean(request.arguments),
        extra=clean_json(dict(request.extra)),
    )
    return row
