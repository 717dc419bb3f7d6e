"""Records a turn's events in its rows: the only writer while a turn runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
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
    TodoItem,
    TodoUpdate,
    ToolCallEnded,
    ToolCallProgress,
    ToolCallStarted,
    Usage,
)
from chat.agent import ToolCall as CallRequest
from chat.agent.storable import storable, storable_json
from chat.agent.todo import TODO_WRITE
from chat.files.uploads import FOLDER
from chat.live.context_meter import context_meter_of, meter_after
from chat.live.frames import Change, ContextGrew, RowChanged, TextGrew, TurnChanged
from chat.models import Attachment, FollowUp, LeaseLost, Message, SearchEntry, Step, ToolCall, Turn
from chat.models.tool_call import SHELL
from chat.search.index import unindex
from chat.turns.billing import Account
from chat.turns.compaction import SUMMARISING, compact
from chat.turns.planning import Planning
from chat.turns.transcript import mark_pictures_refused, pictures_of

SAVE_EVERY = 1.0  # seconds of streamed text that a crash may lose
RETRYING = gettext_lazy("%(problem)s Retrying automatically.")
SILENT = gettext_lazy("The model has not replied yet. Wait, or stop and choose another model.")
INDEX_EVERY = 20.0  # seconds between marks that let workers index a running turn
MAX_OUTPUT = 64 * 1024  # characters kept of a call's output

STATUS_OF_END = {
    "completed": Turn.Status.COMPLETED,
    "limit": Turn.Status.STOPPED,
    "failed": Turn.Status.FAILED,
}

log = logging.getLogger(__name__)

TURN_FIELDS = ("status", "status_message", "ended_at", "worker", "fence", "vision_unsupported")

Row = Step | Message | ToolCall
Dirty = tuple[Row, set[str], bool]  # the changed fields, and whether the row is new
Written = Text | Reasoning | TextWasReasoning


class Recorder:
    """Records one turn. Events are queued until `write` saves them all in one transaction.

    Every write renews the lease, and raises LeaseLost if the worker has lost it. Changes are returned after
    the commit, so that nothing unrecorded is shown, except events that `can_skip_database` accepts.
    """

    step: Step

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.message: Message | None = None
        self.thinking_since = 0.0  # monotonic time at which the message began
        self.calls: dict[str, ToolCall] = {}
        self.cut_off: Message | None = None
        self.unanswered: dict[int, Step] = {}  # steps begun by an earlier worker, by number
        self.cut_offs: dict[int, Message] = {}  # their partial replies, by step
        self.planning = Planning(turn)
        self.account = Account(turn)
        self.notes: list[Message] = []
        self.next_turn: Turn | None = None  # started by held messages when this one ended
        self.saved_at = 0.0
        self.index_marked_at = time.monotonic()  # monotonic time of the latest mark for indexing
        self.meter = Meter()
        self._pending: list[Event] = []
        self._writing: list[Event] = []  # taken from these by a write, on another thread, that has not ended
        self._step_began = timezone.now()
        self._applying = False  # whether a write is applying events
        self._turn_changes: dict[str, Any] = {}
        self._dirty: dict[int, Dirty] = {}  # rows to save, by identity
        self._saved: list[Dirty] = []  # in the current transaction

    @property
    def has_pending(self) -> bool:
        """Whether queued events change what is shown."""
        return any(not isinstance(event, StepStarted) for event in self._pending)

    @property
    def has_unsaved_rows(self) -> bool:
        return bool(self._dirty)

    def can_skip_database(self, event: Event) -> bool:
        """Whether the event needs no write now: it adds text to a message whose row was saved recently."""
        if self._applying or self.has_pending:
            return False
        fresh = time.monotonic() - self.saved_at < 2 * SAVE_EVERY
        match event:
            case TodoDraft(items):
                return items is not None
            case ToolCallProgress():
                return fresh
            case Text() | Reasoning():
                return bool(self.message and not self.message.complete and not self._pending and fresh)
        return False

    def can_wait(self, event: Event) -> bool:
        """Whether the event may be written with the next one. The start of a todo write has no effect of its
        own.
        """
        if isinstance(event, ToolCallStarted):
            return event.call.name == TODO_WRITE
        return isinstance(event, StepStarted | Usage | Reply | TodoUpdate | ToolCallEnded)

    def row_of(self, request: CallRequest) -> ToolCall | None:
        """The call's row; None until the reply that asks for it is written."""
        if any(isinstance(event, Reply) for event in (*self._writing, *self._pending)):
            return None
        return self.calls[request.id]

    def record(self, event: Event) -> list[Change]:
        self.queue(event)
        return self.write()

    def queue(self, event: Event) -> None:
        self._pending.append(event)
        if isinstance(event, StepStarted):
            self._step_began = timezone.now()  # the step may be written much later, with the reply

    def change_turn(self, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(self.turn, name, value)
        self._turn_changes |= changes

    def write(self) -> list[Change]:
        """Save all queued events and return the changes; a step is not written before its reply.

        After a temporary database failure everything is kept for the next write. What can never be written is
        dropped, so that the turn can still be ended.
        """
        held_back = self._pending[-1:] if self._pending and isinstance(self._pending[-1], StepStarted) else []
        return self._write(len(self._pending) - len(held_back))

    def deliver(self) -> tuple[list[dict[str, Any]], list[Change]]:
        """Write the results, then let held messages join the turn; returns them for the model, and the
        changes.

        A worker that resumes the turn reads them from the rows, so none is lost or read twice.
        """
        changes, self.notes = self.write(), []
        if not self.planning.look_up_user_changes():
            return [], changes
        with transaction.atomic():
            self.renew_lease(unindexed_at=timezone.now())
            # A turn that is about to stop leaves held messages to the next one.
            held = [] if self.turn.stop_is_requested() else FollowUp.claim(self.turn.conversation_id)
            FollowUp.deliver(held, self.turn)
            self.notes = [Attachment.deliver([each], self._add_note(each.text)) for each in held]
        return [note.as_chat_message() | pictures_of(note) for note in self.notes], changes

    def end(self, status: Turn.Status, message: str = "") -> list[Change]:
        return self._write(len(self._pending), lambda: self._close_and_end(status, message))

    def release(self) -> list[Change]:
        return self._write(len(self._pending), self._release)

    def renew_lease(self, **changes: Any) -> None:
        """Renew the lease and set columns of the turn; raises LeaseLost."""
        self.turn.update_leased(**changes)

    def _write(self, count: int, finish: Callable[[], list[Change]] | None = None) -> list[Change]:
        before = {name: getattr(self.turn, name) for name in TURN_FIELDS}
        self._lease_changes: dict[str, Any] = {}
        self._applying = bool(count or finish)
        self._writing = events = self._pending[:count]
        del self._pending[:count]
        changes: list[Change] = []
        try:
            self._mark_unindexed(events)
            if finish or self._turn_changes or not self._needs_no_transaction(events):
                with transaction.atomic():
                    self._renew_lease_with_changes()
                    for event in events:
                        changes += self.apply(event)
                    changes += finish() if finish else []
                    self._save_rows()
                    self.account.write_days()
                    if self._turn_changes:
                        self._renew_lease_with_changes()
            else:
                changes += [change for event in events for change in self.apply(event)]
                changes += self._save_alone(renew=not events)
        except Exception as error:
            self._undo(before, is_temporary=isinstance(error, OperationalError | InterfaceError))
            raise
        finally:
            self._saved = []
            self._writing = []
            self._applying = False
        self.account.clear()
        self.saved_at = time.monotonic()
        return changes

    def _mark_unindexed(self, events: Iterable[Event]) -> None:
        final = any(isinstance(event, Reply | ToolCallEnded) for event in events)
        if final and time.monotonic() - self.index_marked_at > INDEX_EVERY:
            self.index_marked_at = time.monotonic()
            self.change_turn(unindexed_at=timezone.now())

    def _needs_no_transaction(self, events: list[Event]) -> bool:
        is_result = len(events) <= 1 and all(isinstance(event, ToolCallEnded) for event in events)
        has_new = any(is_new for _row, _fields, is_new in self._dirty.values())
        return is_result and not has_new and not self.account.has_unwritten

    def _renew_lease_with_changes(self) -> None:
        changes, self._turn_changes = self._turn_changes, {}
        self._lease_changes |= changes
        self.renew_lease(**changes)

    def _undo(self, before: dict[str, Any], *, is_temporary: bool) -> None:
        for name, value in before.items():
            setattr(self.turn, name, value)
        rows, self._dirty = self._dirty, {}
        for row, fields, is_new in [*self._saved, *rows.values()]:
            if is_new:
                row.pk, row._state.adding = None, True
            if is_temporary:
                self._mark_dirty(row, fields)
        if is_temporary:
            self.change_turn(**self._lease_changes)
        else:
            self._turn_changes = {}
            self.account.clear()

    def _save_rows(self) -> None:
        rows, self._dirty = self._dirty, {}
        self._saved += rows.values()
        new_calls = []
        for row, fields, is_new in rows.values():
            if is_new and not isinstance(row, Step):
                row.step = row.step  # sets step_id, which is known only now
            if not is_new:
                row.save(update_fields=fields)
            elif isinstance(row, ToolCall):
                new_calls.append(row)
            else:
                row.save(force_insert=True)
        if new_calls:
            ToolCall.objects.bulk_create(new_calls)
        for row, _fields, _is_new in rows.values():
            if isinstance(row, Message):
                _note_saved_lengths(row, {"text": row.text, "reasoning": row.reasoning})

    def _save_alone(self, *, renew: bool) -> list[Change]:
        """Save texts and outputs that grew, or a result, one statement each, without a transaction.

        Updates only open rows under this worker's lease; raises LeaseLost if there is none. `renew` also
        stores the frame count that a newly opened page reads.
        """
        messages = []
        if self._dirty and renew:
            self.renew_lease()
        for key in list(self._dirty):
            # Taken out before it is read: what grows meanwhile, on another thread, is to be saved again.
            row, fields, _is_new = dirty = self._dirty.pop(key)
            self._saved.append(dirty)
            values = {name: getattr(row, name) for name in fields}
            leased = {"turn__fence": self.turn.fence, "turn__status__in": Turn.LEASED}
            is_open = Q(complete=False) if isinstance(row, Message) else ~Q(status__in=ToolCall.FINAL)
            own = type(row)._default_manager.filter(is_open, pk=row.pk, **leased)
            if not own.update(**values):
                raise LeaseLost(f"{self.turn} was taken from {self.turn.worker}")
            if isinstance(row, Message):
                _note_saved_lengths(row, values)
                messages.append(row)
        return list(map(TextGrew, messages))

    def _change(self, row: Row, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(row, name, value)
        self._mark_dirty(row, set(changes))

    def _mark_dirty(self, row: Row, fields: set[str]) -> None:
        _row, known, is_new = self._dirty.get(id(row), (row, set(), row.pk is None))
        self._dirty[id(row)] = (row, known | fields, is_new)

    def apply(self, event: Event) -> list[Change]:
        """Apply the event to the rows and return its changes; no database if `can_skip_database`."""
        match event:
            case StepStarted():
                return self._begin_step(event)
            case Text() | Reasoning() | TextWasReasoning():
                return self._append_text(event)
            case TodoDraft(items):
                return [self.planning.draft(items)]
            case PicturesRefused(pictures):
                return mark_pictures_refused(self.turn, pictures)
            case Retrying():
                log.info(
                    "attempt %d failed, retrying in %.1f s: %r", event.attempt, event.seconds, event.reason
                )
                return self._set_status_message(str(RETRYING) % {"problem": event.reason})
            case ModelSilent():
                return self._set_status_message("" if event.over else str(SILENT))
            case Summarising():
                return self._set_status_message(str(SUMMARISING))
            case Compacted():
                return [*self._set_status_message(""), *self._compact(event)]
            case Usage():
                return self._record_usage(event)
            case Reply():
                return self._record_reply(event)
            case ToolCallStarted(call):
                return self._change_call(call, status=ToolCall.Status.RUNNING, started_at=timezone.now())
            case ToolCallProgress(call, text):
                return self._change_call(call, output=storable(text)[:MAX_OUTPUT])
            case TodoUpdate(call, items):
                return [self._write_revision(self.calls[call.id], items)]
            case ToolCallEnded():
                return self._end_call(event)
            case NotesRead():
                return [*(RowChanged(note, new=True) for note in self.notes), TurnChanged()]
            case End(reason="waiting", call=CallRequest() as call):
                return self._wait(call)
            case End():
                return self._close_and_end(STATUS_OF_END[event.reason], event.sentence)

    # Events

    def _begin_step(self, started: StepStarted) -> list[Change]:
        step = self.unanswered.pop(started.step, None)
        self.cut_off = self.cut_offs.get(step.pk) if step else None
        self.step = step or Step(turn=self.turn, number=started.step, started_at=self._step_began)
        self._change(
            self.step,
            reminder=started.reminder,
            edit_note=storable(started.edit_note),
            endpoint=started.endpoint[:500],
            model=started.model[:200],
        )
        self.message = None
        self.saved_at = 0.0
        self.calls = {}
        if self.cut_off:
            unindex(SearchEntry.Kind.MESSAGE, self.cut_off.pk)
            # An indexer that has just read the old text must not add it.
            self.change_turn(unindexed_at=timezone.now())
        if self.planning.has_undelivered:
            self._save_rows()
            self.planning.mark_delivered(self.step)
        return []

    def _record_usage(self, usage: Usage) -> list[Change]:
        self._change(self.step, **self.account.record_usage(self.step, usage))
        if self.account.totals is None:  # after a summary, whose cost counts too
            self._save_rows()
            self.account.read_totals()
        if not self.step.input_tokens or self.account.totals is None:
            return [ContextGrew(context_meter_of(self.turn.conversation), self.step)]
        settings = self.account.settings(self.step.model)
        return [ContextGrew(meter_after(self.step, settings, self.account.totals), self.step)]

    def _append_text(self, event: Written) -> list[Change]:
        changes: list[Change] = self._set_status_message("")
        message = self.message
        if message is None:
            message, change = self._start_message()
            changes.append(change)
        redraw = append_text(message, event)
        self._change(message, text=message.text, reasoning=message.reasoning)
        if isinstance(event, Text):
            self._end_thought(message)
        elif isinstance(event, TextWasReasoning):
            self._change(message, thought_for=None)
        return [*changes, RowChanged(message) if redraw else TextGrew(message)]

    def _start_message(self) -> tuple[Message, Change]:
        cut_off = self.cut_off
        self.message = cut_off or Message(turn=self.turn, step=self.step, role=Message.Role.ASSISTANT)
        self.thinking_since = time.monotonic()
        empty: dict[str, Any] = {"text": "", "reasoning": "", "extra": {}, "thought_for": None}
        self._change(self.message, **empty, complete=False, cut_off=False)
        return self.message, RowChanged(self.message, new=cut_off is None)

    def _end_thought(self, message: Message) -> None:
        if message.reasoning and message.thought_for is None:
            self._change(message, thought_for=round(time.monotonic() - self.thinking_since))

    def _set_status_message(self, message: str) -> list[Change]:
        message = storable(message)
        if self.turn.status_message == message:
            return []
        self.change_turn(status_message=message)
        return [TurnChanged()]

    def _record_reply(self, reply: Reply) -> list[Change]:
        changes = self._set_status_message("")
        self._change(self.step, finish_reason=storable(reply.finish_reason)[:40], ended_at=timezone.now())
        if self.message is None and reply.extra:  # reasoning that only the provider can read
            changes.append(self._start_message()[1])
        if self.message:
            self._end_thought(self.message)
            self._change(self.message, complete=True, extra=storable_json(dict(reply.extra)))
            changes.append(RowChanged(self.message))
        elif self.cut_off:
            self.cut_off.delete()
            changes.append(TurnChanged())
        for index, request in enumerate(reply.calls):
            call = self._new_call(index, request)
            changes.append(RowChanged(call, new=True))
        return changes

    def _new_call(self, index: int, request: CallRequest) -> ToolCall:
        call = self.calls[request.id] = ToolCall(turn=self.turn, step=self.step, index=index)
        self._change(
            call,
            call_id=storable(request.id)[:200],
            name=storable(request.name)[:200],
            arguments=storable(request.arguments),
            extra=storable_json(dict(request.extra)),
        )
        return call

    def _write_revision(self, call: ToolCall, items: Sequence[TodoItem]) -> Change:
        if call._state.adding:  # the revision has a foreign key to it
            self._save_rows()
        return self.planning.revise(call, items)

    def _end_call(self, ended: ToolCallEnded) -> list[Change]:
        detail = storable_json(dict(ended.result.detail))
        if ended.call.name == SHELL:
            detail = self._without_uploads(detail)
        return self._change_call(
            ended.call,
            status=ToolCall.Status(ended.status),
            output=storable(ended.result.text)[:MAX_OUTPUT],
            detail=detail,
            ended_at=timezone.now(),
        )

    def _without_uploads(self, detail: dict[str, Any]) -> dict[str, Any]:
        """A command's detail without the files that the user uploaded while it ran."""
        made = [path for path in detail.pop("created", ()) if path.startswith(f"{FOLDER}/")]
        uploaded = self._uploads_among(made) if made else set()
        changed = [path for path in detail.pop("changed", ()) if path not in uploaded]
        return detail | ({"changed": changed} if changed else {})

    def _uploads_among(self, paths: Sequence[str]) -> set[str]:
        """Those of the new files that came with a message or through the Files panel."""
        here = self.turn.conversation_id
        attached = Attachment.of(here).filter(path__in=paths)
        alone = SearchEntry.objects.filter(
            index_state__conversation=here, kind=SearchEntry.Kind.FILE, place__in=paths
        )
        return {*attached.values_list("path", flat=True), *alone.values_list("place", flat=True)}

    def _change_call(self, request: CallRequest, **changes: Any) -> list[Change]:
        call = self.calls[request.id]
        self._change(call, **changes)
        return [RowChanged(call)]

    def _compact(self, event: Compacted) -> list[Change]:
        self._save_rows()
        self.account.invalidate()  # the summary has a cost, and the model's window may be known now
        return compact(self.turn, event)

    def _add_note(self, text: str) -> Message:
        return self.turn.messages.create(step=self.step, role=Message.Role.USER, text=text)

    # The end

    def _end(self, status: Turn.Status, message: str) -> list[Change]:
        self._save_rows()
        if status != Turn.Status.COMPLETED or self._has_open_rows():
            # If the user did not stop it, a call without a written result may have taken effect.
            self.turn.close_rows(running="stopped" if status == Turn.Status.STOPPED else "unknown")
        self.next_turn = self.turn.end(status, storable(message))
        return [TurnChanged()]

    def _has_open_rows(self) -> bool:
        is_final = all(call.status in ToolCall.FINAL for call in self.calls.values())
        return not (is_final and (self.message is None or self.message.complete))

    def _close_and_end(self, status: Turn.Status, message: str) -> list[Change]:
        changes = self._record_open_usage()
        if self.message and not self.message.complete:
            self._end_thought(self.message)
            self._change(self.message, complete=True)
        return [*changes, *self._end(status, message)]

    def _release(self) -> list[Change]:
        changes = self._record_open_usage()
        self._save_rows()
        self.turn.release()
        return [*changes, TurnChanged()]

    def _record_open_usage(self) -> list[Change]:
        """Record the usage of a reply that was cut off: its input and output so far are billed."""
        return self._record_usage(self.meter.settle()) if self.meter.is_open else []

    def _wait(self, request: CallRequest) -> list[Change]:
        if self.turn.stop_is_requested():  # a later request finds the turn waiting
            return self._end(Turn.Status.STOPPED, "")
        detail = self.calls[request.id].detail
        self._change_call(request, status=ToolCall.Status.WAITING, asked_at=timezone.now(), detail=detail)
        self._save_rows()
        self.turn.wait()
        return [TurnChanged()]


def append_text(message: Message, event: Written) -> bool:
    """Add what the model wrote; returns whether the message must be redrawn, not just extended."""
    had_reasoning = bool(message.reasoning)
    match event:
        case Text(text):
            message.text += storable(text)
            return False
        case Reasoning(text):
            message.reasoning += storable(text)
            return not had_reasoning
        case TextWasReasoning():
            message.reasoning, message.text = message.reasoning + message.text, ""
            return True


def _note_saved_lengths(message: Message, values: Mapping[str, Any]) -> None:
    """Note how much of the texts is saved, which is what a page loaded now shows."""
    if "text" in values:
        message.saved_text = len(values["text"])
    if "reasoning" in values:
        message.saved_reasoning = len(values["reasoning"])
