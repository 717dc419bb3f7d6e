"""Rows to chat-completion messages: the one place where the record becomes what a model reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Prefetch

from chat.agent import Model, Reply
from chat.agent import ToolCall as CallRequest
from chat.agent.context import merge_messages
from chat.agent.pictures import Picture, pictures_field
from chat.files.pictures import PictureStore
from chat.live.frames import Change, TurnChanged
from chat.models import Attachment, Message, Step, Summary, ToolCall, Turn

ChatMessage = dict[str, Any]
Row = Message | Step | ToolCall
Told = tuple[ChatMessage, Row]

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
    """The conversation up to and with `turn`, as a turn keeps it: every call answered once, in order."""
    return [message for message, _row in told(turn)]


def told(turn: Turn) -> list[Told]:
    """The messages, each with the row that it comes from; the step for what the model said."""
    keys = line_of(turn)
    summary = Summary.of(keys)
    if summary:
        keys = keys[keys.index(summary.until_id) + (summary.until_step is None) :]
    turns = Turn.objects.prefetch_related(
        Prefetch("messages", Message.objects.select_related("step")),
        "messages__attachments",
        Prefetch("tool_calls", ToolCall.objects.select_related("step")),
        "steps",
    ).in_bulk(keys)
    messages = [each for pk in keys for each in _turn_messages(turns[pk])]
    return _after(summary, messages) if summary else messages


def line_of(turn: Turn) -> list[int]:
    """The keys of the turns that led here, oldest first."""
    if turn.follows_id is None:
        return [turn.pk]
    turns = Turn.objects.filter(conversation=turn.conversation_id)
    follows = dict(turns.values_list("pk", "follows"))
    line = [turn.pk]
    while (before := follows[line[-1]]) is not None:
        line.append(before)
    return line[::-1]


def _after(summary: Summary, messages: list[Told]) -> list[Told]:
    """The messages from its end on; what the person said in a turn that it cuts through comes first."""
    (first, row), *rest = messages
    before = [message for message, row in rest if _is_in(summary, row)]
    words = merge_messages([message for message in (first, *before) if message["role"] == "user"])
    kept = [each for each in rest if not _is_in(summary, each[1])]
    return [(words | {"carried": summary.carried}, row), *kept]


def _is_in(summary: Summary, row: Row) -> bool:
    """Whether the row belongs to a step that the summary stands for, of the turn that it cuts through."""
    step = row if isinstance(row, Step) else row.step
    return bool(
        step and summary.until_step and step.turn_id == summary.until_id and step.number <= summary.until_step
    )


def _turn_messages(turn: Turn) -> Iterator[Told]:
    question = next(message for message in turn.messages.all() if message.step_id is None)
    latest: list[Told] = [(question.as_note() | pictures_of(question), question)]
    rows = defaultdict[int | None, list[Message | ToolCall]](list)
    said_and_done: list[Message | ToolCall] = [*turn.messages.all(), *turn.tool_calls.all()]
    for row in sorted(said_and_done, key=lambda row: row.place):
        rows[row.step_id].append(row)
    for step in turn.steps.all():
        if latest and step.edit_note and (step.ended_at or not turn.is_active):
            latest[0][0]["told"] = step.edit_note
        if not rows[step.pk]:
            continue  # a request that came to nothing
        if latest and step.reminder and isinstance(latest[0][1], ToolCall):
            latest[0][0]["reminder"] = step.reminder
        yield from latest
        calls = [row for row in rows[step.pk] if isinstance(row, ToolCall)]
        said = [row for row in rows[step.pk] if isinstance(row, Message) and not row.cut_off]
        answer = next((row for row in said if row.role == Message.Role.ASSISTANT), Message())
        if answer.text or calls:
            requests = tuple(map(_request, calls))
            reply = Reply(answer.text, answer.reasoning, requests, extra=answer.extra)
            yield reply.as_message(step.endpoint), step
        # What a turn at work has not run yet is answered when it has.
        ran = [call for call in calls if not (turn.is_active and call.status == "pending")]
        latest = [(_result(call), call) for call in ran]
        latest += [(_note(row), row) for row in said if row.role == Message.Role.USER]
    yield from latest


def _note(message: Message) -> ChatMessage:
    return {**message.as_note(), **pictures_of(message), "note": True}


def _request(call: ToolCall) -> CallRequest:
    return CallRequest(call.call_id, call.name, call.arguments, call.extra)


def _result(call: ToolCall) -> ChatMessage:
    without = WITHOUT_RESULT.get(ToolCall.Status(call.status))
    content = call.output if without is None else "\n".join([without, *_printed(call)])
    if call.status == ToolCall.Status.STOPPED and call.started_at is None:
        content = NOT_RUN  # whoever ended the turn, a person or a crash
    content = call.shortened or content
    return {"role": "tool", "tool_call_id": call.call_id, "content": content} | pictures_of(call)


def _printed(call: ToolCall) -> list[str]:
    """What a call that came to no result had shown by then."""
    return ["It had printed:", call.output.rstrip("\n")] if call.output.strip() else []


def pictures_of(row: Message | ToolCall) -> dict[str, Any]:
    """What the row's message has beside its content: its pictures, if it brings any."""
    if isinstance(row, ToolCall):
        succeeded = row.status == ToolCall.Status.SUCCEEDED
        told = row.detail.get("pictures", ()) if succeeded else ()
    else:
        told = [each.about() for each in row.attachments.all() if each.media_type]
    album = PictureStore(row.turn.conversation_id)
    return pictures_field([album.picture(each) for each in told])


def sees(model: Model) -> bool:
    """Whether the model can see pictures, as far as that is known."""
    return bool(getattr(getattr(model, "traits", None), "images", True))


def refuse(turn: Turn, refused: Iterable[Picture]) -> list[Change]:
    """Write down that the endpoint refused these pictures, wherever the conversation has them."""
    digests = {picture.digest for picture in refused}
    brought = Attachment.objects.filter(message__turn__conversation=turn.conversation_id, digest__in=digests)
    brought.update(fault=Attachment.Fault.REFUSED)
    calls = ToolCall.objects.filter(turn__conversation=turn.conversation_id, detail__has_key="pictures")
    for call in calls:
        told = call.detail["pictures"]
        if digests.intersection(each["digest"] for each in told):
            call.detail["pictures"] = [_refused(each, digests) for each in told]
            call.save(update_fields=["detail"])
    return [TurnChanged()]


def _refused(about: dict[str, Any], digests: set[str]) -> dict[str, Any]:
    return {**about, "fault": Attachment.Fault.REFUSED.value} if about["digest"] in digests else about
