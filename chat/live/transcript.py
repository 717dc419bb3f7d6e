"""Rows to chat-completion messages: the one place where the record becomes what a model reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from chat.agent import Reply, TodoItem
from chat.agent import ToolCall as CallRequest
from chat.agent.todo import enclosed
from chat.live.pictures import pictures_of
from chat.models import Message, TodoRevision, ToolCall, Turn

ChatMessage = dict[str, Any]

CUT_OFF = "Error: this call was cut off and its outcome is unknown. Look before you repeat it."
NOT_RUN = "Error: this call was not run."

# What the model reads of calls that came to no result.
WITHOUT_RESULT = {
    ToolCall.Status.PENDING: NOT_RUN,
    ToolCall.Status.WAITING: NOT_RUN,
    ToolCall.Status.RUNNING: CUT_OFF,
    ToolCall.Status.UNKNOWN: CUT_OFF,
    ToolCall.Status.STOPPED: "Error: the person stopped this call before it had a result.",
}


def transcript(turn: Turn) -> list[ChatMessage]:
    """The conversation up to and with `turn` as the model reads it: every call answered once, in order."""
    return [message for each in _line_of(turn) for message in _turn_messages(each)]


def todos_of(turn: Turn) -> list[TodoItem]:
    """The todo list as the turn finds it."""
    line = [each.pk for each in _line_of(turn)]
    revision = TodoRevision.objects.filter(turn__in=line).order_by("pk").last()
    return [TodoItem.from_dict(item) for item in revision.items] if revision else []


def _line_of(turn: Turn) -> list[Turn]:
    """The turns that led here, oldest first."""
    turns = {each.pk: each for each in Turn.with_rows().filter(conversation=turn.conversation_id)}
    line = []
    current: Turn | None = turns[turn.pk]
    while current:
        line.append(current)
        current = turns.get(current.follows_id) if current.follows_id else None
    return line[::-1]


def _turn_messages(turn: Turn) -> Iterator[ChatMessage]:
    question = next(message for message in turn.messages.all() if message.step_id is None)
    yield question.as_note() | pictures_of(question)
    results: list[ChatMessage] = []
    steps = groupby((row for row in turn.rows() if row.step), key=lambda row: row.step)
    for step, grouped in steps:
        rows = list(grouped)
        if results and step and step.reminder:
            results[0]["content"] = enclosed(step.reminder, results[0]["content"])
        yield from results
        calls = [row for row in rows if isinstance(row, ToolCall)]
        said = [row for row in rows if isinstance(row, Message) and not row.cut_off]
        answer = next((row for row in said if row.role == Message.Role.ASSISTANT), Message())
        if answer.text or calls:
            requests = tuple(map(_request, calls))
            reply = Reply(answer.text, answer.reasoning, requests, extra=answer.extra)
            yield reply.as_message(step.endpoint if step else "")
        # What a turn at work has not run yet is answered when it has.
        results = [_result(call) for call in calls if not (turn.is_active and call.status == "pending")]
        results += [row.as_note() | pictures_of(row) for row in said if row.role == Message.Role.USER]
    yield from results


def _request(call: ToolCall) -> CallRequest:
    return CallRequest(call.wire_id, call.name, call.arguments, call.extra)


def _result(call: ToolCall) -> ChatMessage:
    without = WITHOUT_RESULT.get(ToolCall.Status(call.status))
    content = call.output if without is None else "\n".join([without, *_printed(call)])
    if call.status == ToolCall.Status.STOPPED and call.started_at is None:
        content = NOT_RUN  # whoever ended the turn, a person or a crash
    return {"role": "tool", "tool_call_id": call.wire_id, "content": content} | pictures_of(call)


def _printed(call: ToolCall) -> list[str]:
    """What a call that came to no result had shown by then."""
    return ["It had printed:", call.output.rstrip("\n")] if call.output.strip() else []
