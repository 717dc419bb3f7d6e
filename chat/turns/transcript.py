"""Converts rows to chat-completion messages: the only place that decides what the model reads."""

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
MessageWithRow = tuple[ChatMessage, Row]

CUT_OFF = "Error: this call was cut off and its outcome is unknown. Look before you repeat it."
NOT_RUN = "Error: this call was not run."

# What the model reads for calls that have no result.
WITHOUT_RESULT = {
    ToolCall.Status.PENDING: NOT_RUN,
    ToolCall.Status.WAITING: NOT_RUN,
    ToolCall.Status.RUNNING: CUT_OFF,
    ToolCall.Status.UNKNOWN: CUT_OFF,
    ToolCall.Status.STOPPED: "Error: the user stopped this call before it had a result.",
}


def transcript(turn: Turn) -> list[ChatMessage]:
    """The messages up to and including `turn`: every tool call has exactly one result, in order."""
    return [message for message, _row in transcript_with_rows(turn)]


def transcript_with_rows(turn: Turn) -> list[MessageWithRow]:
    keys = turn_chain(turn)
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
    return _replace_summarised(summary, messages) if summary else messages


def turn_chain(turn: Turn) -> list[int]:
    """The keys of the turns that led to this one, oldest first, itself included."""
    if turn.follows_id is None:
        return [turn.pk]
    turns = Turn.objects.filter(conversation=turn.conversation_id)
    follows = dict(turns.values_list("pk", "follows"))
    chain = [turn.pk]
    while (before := follows[chain[-1]]) is not None:
        chain.append(before)
    return chain[::-1]


def _replace_summarised(summary: Summary, messages: list[MessageWithRow]) -> list[MessageWithRow]:
    """Replace what the summary covers by its text; the user's messages in it stay, at the start."""
    (first, row), *rest = messages
    covered = [message for message, row in rest if _is_summarised(summary, row)]
    user_text = merge_messages([message for message in (first, *covered) if message["role"] == "user"])
    kept = [each for each in rest if not _is_summarised(summary, each[1])]
    return [(user_text | {"carried": summary.carried}, row), *kept]


def _is_summarised(summary: Summary, row: Row) -> bool:
    step = row if isinstance(row, Step) else row.step
    return bool(
        step and summary.until_step and step.turn_id == summary.until_id and step.number <= summary.until_step
    )


def _turn_messages(turn: Turn) -> Iterator[MessageWithRow]:
    question = next(message for message in turn.messages.all() if message.step_id is None)
    latest: list[MessageWithRow] = [(question.as_chat_message() | pictures_of(question), question)]
    rows = defaultdict[int | None, list[Message | ToolCall]](list)
    contents: list[Message | ToolCall] = [*turn.messages.all(), *turn.tool_calls.all()]
    for row in sorted(contents, key=lambda row: row.sort_key):
        rows[row.step_id].append(row)
    for step in turn.steps.all():
        if latest and step.edit_note and (step.ended_at or not turn.is_active):
            latest[0][0]["edit_note"] = step.edit_note
        if not rows[step.pk]:
            continue  # a request without a reply
        if latest and step.reminder and isinstance(latest[0][1], ToolCall):
            latest[0][0]["reminder"] = step.reminder
        yield from latest
        calls = [row for row in rows[step.pk] if isinstance(row, ToolCall)]
        messages = [row for row in rows[step.pk] if isinstance(row, Message) and not row.cut_off]
        answer = next((row for row in messages if row.role == Message.Role.ASSISTANT), Message())
        if answer.text or calls:
            requests = tuple(map(_request, calls))
            reply = Reply(answer.text, answer.reasoning, requests, extra=answer.extra)
            yield reply.as_message(step.endpoint), step
        # Pending calls of an active turn get their result when they have run.
        ran = [call for call in calls if not (turn.is_active and call.status == "pending")]
        latest = [(_result(call), call) for call in ran]
        latest += [(_note(row), row) for row in messages if row.role == Message.Role.USER]
    yield from latest


def _note(message: Message) -> ChatMessage:
    return {**message.as_chat_message(), **pictures_of(message), "note": True}


def _request(call: ToolCall) -> CallRequest:
    return CallRequest(call.call_id, call.name, call.arguments, call.extra)


def _result(call: ToolCall) -> ChatMessage:
    without = WITHOUT_RESULT.get(ToolCall.Status(call.status))
    content = call.output if without is None else "\n".join([without, *_partial_output(call)])
    if call.status == ToolCall.Status.STOPPED and call.started_at is None:
        content = NOT_RUN  # whether the user or a crash ended the turn
    content = call.shortened or content
    return {"role": "tool", "tool_call_id": call.call_id, "content": content} | pictures_of(call)


def _partial_output(call: ToolCall) -> list[str]:
    return ["It had printed:", call.output.rstrip("\n")] if call.output.strip() else []


def pictures_of(row: Message | ToolCall) -> dict[str, Any]:
    if isinstance(row, ToolCall):
        succeeded = row.status == ToolCall.Status.SUCCEEDED
        descriptions = row.detail.get("pictures", ()) if succeeded else ()
    else:
        descriptions = [each.about() for each in row.attachments.all() if each.media_type]
    album = PictureStore(row.turn.conversation_id)
    return pictures_field([album.picture(each) for each in descriptions])


def supports_images(model: Model) -> bool:
    """Whether the model can see images; True if that is unknown."""
    return bool(getattr(getattr(model, "traits", None), "images", True))


def mark_pictures_refused(turn: Turn, pictures: Iterable[Picture]) -> list[Change]:
    """Mark these pictures as refused by the endpoint, everywhere in the conversation."""
    digests = {picture.digest for picture in pictures}
    attachments = Attachment.objects.filter(
        message__turn__conversation=turn.conversation_id, digest__in=digests
    )
    attachments.update(fault=Attachment.Fault.REFUSED)
    calls = ToolCall.objects.filter(turn__conversation=turn.conversation_id, detail__has_key="pictures")
    for call in calls:
        descriptions = call.detail["pictures"]
        if digests.intersection(each["digest"] for each in descriptions):
            call.detail["pictures"] = [_with_refused_fault(each, digests) for each in descriptions]
            call.save(update_fields=["detail"])
    return [TurnChanged()]


def _with_refused_fault(description: dict[str, Any], digests: set[str]) -> dict[str, Any]:
    return (
        {**description, "fault": Attachment.Fault.REFUSED.value}
        if description["digest"] in digests
        else description
    )
