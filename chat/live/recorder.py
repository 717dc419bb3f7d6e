"""Writes a turn's events down as they come: the only writer while a turn runs."""

from __future__ import annotations

import time
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy

from chat.agent import (
    Compacted,
    End,
    Event,
    Meter,
    ModelSilent,
    NotesRead,
    PicturesRefused,
    Reasoning,
    Reply,
    Retrying,
    StepStarted,
    Summarising,
    Text,
    TextWasReasoning,
    TodoDraft,
    TodoUpdate,
    ToolCallEnded,
    ToolCallProgress,
    ToolCallStarted,
    Usage,
)
from chat.agent import ToolCall as CallRequest
from chat.live.accounts import charge
from chat.live.call_row import call_row
from chat.live.changes import Change, ContextGrew, RowChanged, TextGrew, TurnChanged
from chat.live.compaction import SUMMARISING, compact
from chat.live.context_meter import context_meter_of
from chat.live.growth import Written, grow
from chat.live.pictures import pictures_of, refuse
from chat.live.planning import Planning
from chat.live.step_row import step_row
from chat.models import Attachment, FollowUp, Message, SearchEntry, Step, ToolCall, Turn
from chat.models.search.index import forget, index_turn
from chat.models.text import clean, clean_json

SAVE_EVERY = 1.0  # seconds of streamed text that a crash may cost
SILENT = gettext_lazy("The model has not answered yet. Wait, or stop and choose another model.")
MAX_OUTPUT = 64 * 1024  # characters of a call's output that are kept

STATUS_OF_END = {
    "completed": Turn.Status.COMPLETED,
    "limit": Turn.Status.STOPPED,
    "failed": Turn.Status.FAILED,
}


class Recorder:
    """One turn's rows. Every write holds the lease, so a worker that lost it raises LeaseLost instead."""

    step: Step

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.message: Message | None = None
        self.unsaved = False
        self.calls: dict[str, ToolCall] = {}
        self.printing: ToolCall | None = None  # a call with more output than was saved
        self.cut_off: Message | None = None
        self.planning = Planning(turn)
        self.notes: list[Message] = []
        self.next_turn: Turn | None = None  # which held messages have started as this one ended
        self.saved_at = 0.0
        self.meter = Meter()

    def deliver(self) -> list[dict[str, Any]]:
        """Let held messages join the turn after the results of its latest step; gives them for the model.

        The rows are what a worker that takes the turn up again reads, so none is lost or read twice.
        """
        self.notes = []
        if not FollowUp.held_in(self.turn.conversation_id):
            return []
        with transaction.atomic():
            self.turn.hold()
            # A turn that is to stop answers nothing any more; the next one will.
            held = [] if self.turn.is_to_stop() else FollowUp.claim(self.turn.conversation_id)
            FollowUp.deliver(held, self.turn)
            self.notes = [Attachment.deliver([each], self._note(each.text)) for each in held]
        return [note.as_note() | pictures_of(note) for note in self.notes]

    def _note(self, text: str) -> Message:
        return self.turn.messages.create(step=self.step, role=Message.Role.USER, text=text)

    def absorbs(self, event: Event) -> bool:
        """Whether the event needs no database now: text that joins a message saved less than a second ago."""
        fresh = time.monotonic() - self.saved_at < SAVE_EVERY
        if isinstance(event, TodoDraft):
            return event.items is not None
        if isinstance(event, ToolCallProgress):
            return fresh
        return isinstance(event, Text | Reasoning) and self.message is not None and fresh

    def record(self, event: Event) -> list[Change]:
        """Write the event down and say what it changed."""
        with transaction.atomic():
            self.turn.hold()
            changes = self.take(event)
            self._save_what_grew()
        return changes

    def take(self, event: Event) -> list[Change]:
        """What the event changes; what `absorbs` lets pass changes only what is in memory."""
        match event:
            case StepStarted():
                return self._begin_step(event)
            case Text() | Reasoning() | TextWasReasoning():
                return self._write(event)
            case TodoDraft(items):
                return [self.planning.draft(items)]
            case PicturesRefused(pictures):
                return refuse(self.turn, pictures)
            case Retrying():
                return self._notice(event.reason)
            case ModelSilent():
                return self._notice("" if event.over else str(SILENT))
            case Summarising():
                return self._notice(str(SUMMARISING))
            case Compacted():
                return [*self._notice(""), *compact(self.turn, event)]
            case Usage():
                charge(self.step, event)
                return [ContextGrew(context_meter_of(self.turn.conversation))]
            case Reply():
                return self._reply(event)
            case ToolCallStarted(call):
                return self._start_call(call)
            case ToolCallProgress(call, text):
                return self._print(call, text)
            case TodoUpdate(call, items):
                return [self.planning.revise(self.calls[call.id], items)]
            case ToolCallEnded():
                return self._end_call(event)
            case NotesRead():
                return [*(RowChanged(note, new=True) for note in self.notes), TurnChanged()]
            case End(reason="waiting", call=CallRequest() as call):
                return self._wait(call)
            case End():
                return self.end(STATUS_OF_END[event.reason], event.sentence)

    def flush(self) -> None:
        """Save the text that is only in memory yet."""
        if (self.message and self.unsaved) or self.printing:
            with transaction.atomic():
                self.turn.hold()
                self._save_what_grew()

    def end(self, status: Turn.Status, sentence: str = "") -> list[Change]:
        """End the turn: whatever is open is closed, and the terminal state is claimed."""
        with transaction.atomic():
            self.turn.hold()
            self._charge_what_is_open()
            if self.message and not self.message.complete:
                self.message.complete = True
                self._save(self.message)
            self._save_output()
            # Where nobody stopped it, a call whose result could not be written may have done its work.
            self.turn.close_rows(running="stopped" if status == Turn.Status.STOPPED else "unknown")
            self.next_turn = self.turn.end(status, clean(sentence))
        return [TurnChanged()]

    def _wait(self, request: CallRequest) -> list[Change]:
        """Leave the turn to the person's decision about the call."""
        if self.turn.is_to_stop():  # asked for before this; afterwards it finds a turn that waits
            return self.end(Turn.Status.STOPPED)
        detail = self.calls[request.id].detail
        self._change_call(request, status=ToolCall.Status.WAITING, asked_at=timezone.now(), detail=detail)
        index_turn(self.turn)
        self.turn.wait()
        return [TurnChanged()]

    def hand_over(self) -> list[Change]:
        """Give the turn back, for another worker to take up again."""
        with transaction.atomic():
            self.turn.hold()
            self._charge_what_is_open()
            if self.message and not self.message.complete:
                self._save(self.message)
            self._save_output()
            self.turn.hand_over()
        return [TurnChanged()]

    def _charge_what_is_open(self) -> None:
        """Count a reply that was torn off: what was sent, and what had come by then, is paid for."""
        if self.meter.is_open:
            charge(self.step, self.meter.outstanding())

    def _begin_step(self, started: StepStarted) -> list[Change]:
        index_turn(self.turn)  # what the step before has left
        self.step = step_row(self.turn, started)
        self.planning.tell(self.step)
        self.cut_off = self.step.messages.filter(role=Message.Role.ASSISTANT).first()
        if self.cut_off:
            forget(SearchEntry.Kind.MESSAGE, self.cut_off.pk)
            self.cut_off.turn = self.turn  # it is drawn where no database is asked
        self.message = None
        self.saved_at = 0.0
        self.calls = {}
        return []

    def _write(self, event: Written) -> list[Change]:
        changes: list[Change] = self._notice("")
        if self.message is None:
            self.message = self._start_message()
            changes.append(RowChanged(self.message, new=self.message is not self.cut_off))
        self.unsaved = True
        anew = grow(self.message, event)
        if self.message._state.adding:
            self._save(self.message)
        return [*changes, RowChanged(self.message) if anew else TextGrew(self.message)]

    def _start_message(self) -> Message:
        message = self.cut_off or Message(turn=self.turn, step=self.step, role=Message.Role.ASSISTANT)
        message.text, message.reasoning, message.extra = "", "", {}
        message.complete = message.cut_off = False
        return message

    def _save(self, message: Message) -> None:
        message.save()
        self.unsaved = False
        self.saved_at = time.monotonic()

    def _notice(self, sentence: str) -> list[Change]:
        sentence = clean(sentence)
        if self.turn.sentence == sentence:
            return []
        self.turn.hold(sentence=sentence)
        return [TurnChanged()]

    def _reply(self, reply: Reply) -> list[Change]:
        changes = self._notice("")
        self._change_step(finish_reason=clean(reply.finish_reason)[:40], ended_at=timezone.now())
        if self.message is None and reply.extra:  # thoughts that only the model itself can read
            self.message = self._start_message()
            changes.append(RowChanged(self.message, new=self.message is not self.cut_off))
        if self.message:
            self.message.complete = True
            self.message.extra = clean_json(dict(reply.extra))
            self._save(self.message)
            changes.append(RowChanged(self.message))
        elif self.cut_off:
            self.cut_off.delete()
            changes.append(TurnChanged())
        for index, request in enumerate(reply.calls):
            self.calls[request.id] = call = call_row(self.step, index, request)
            changes.append(RowChanged(call, new=True))
        return changes

    def _start_call(self, request: CallRequest) -> list[Change]:
        self.saved_at = time.monotonic()
        return self._change_call(request, status=ToolCall.Status.RUNNING, started_at=timezone.now())

    def _print(self, request: CallRequest, text: str) -> list[Change]:
        self.printing = call = self.calls[request.id]
        call.output = clean(text)[:MAX_OUTPUT]
        return [RowChanged(call)]

    def _save_what_grew(self) -> None:
        if self.message and self.unsaved:
            self._save(self.message)
        self._save_output()

    def _save_output(self) -> None:
        if self.printing:
            self.printing.save(update_fields=["output"])
            self.printing = None
            self.saved_at = time.monotonic()

    def _end_call(self, ended: ToolCallEnded) -> list[Change]:
        self.printing = None
        return self._change_call(
            ended.call,
            status=ToolCall.Status(ended.status),
            output=clean(ended.result.text)[:MAX_OUTPUT],
            detail=clean_json(dict(ended.result.detail)),
            ended_at=timezone.now(),
        )

    def _change_call(self, request: CallRequest, **changes: Any) -> list[Change]:
        call = self.calls[request.id]
        for name, value in changes.items():
            setattr(call, name, value)
        call.save(update_fields=list(changes))
        return [RowChanged(call)]

    def _change_step(self, **changes: Any) -> None:
        Step.objects.filter(pk=self.step.pk).update(**changes)
