"""Writes a turn's events down as they come: the only writer while a turn runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
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
from chat.agent.todo import TODO_WRITE
from chat.live.context_meter import context_meter_of, meter_after
from chat.live.frames import Change, ContextGrew, RowChanged, TextGrew, TurnChanged
from chat.models import Attachment, FollowUp, LeaseLost, Message, SearchEntry, Step, ToolCall, Turn
from chat.models.text import clean, clean_json
from chat.search.index import forget
from chat.turns.billing import Account
from chat.turns.compaction import SUMMARISING, compact
from chat.turns.planning import Planning
from chat.turns.transcript import pictures_of, refuse

SAVE_EVERY = 1.0  # seconds of streamed text that a crash may cost
SILENT = gettext_lazy("The model has not replied yet. Wait, or stop and choose another model.")
INDEX_EVERY = 20.0  # seconds after which what a turn has written so far is to be indexed
MAX_OUTPUT = 64 * 1024  # characters of a call's output that are kept

STATUS_OF_END = {
    "completed": Turn.Status.COMPLETED,
    "limit": Turn.Status.STOPPED,
    "failed": Turn.Status.FAILED,
}

HELD_FIELDS = ("status", "status_message", "ended_at", "worker", "fence", "vision_unsupported")

Row = Step | Message | ToolCall
Dirty = tuple[Row, set[str], bool]  # the changed fields, and whether the row is new
Written = Text | Reasoning | TextWasReasoning


class Recorder:
    """One turn's rows. Events are kept until `write` takes them in and saves all of it in one transaction.

    Every write renews the lease, so a worker that lost it raises LeaseLost instead. What a write changed is
    given after its commit, so that nothing is shown which is not recorded; only what `absorbs` lets through
    runs ahead of its row.
    """

    step: Step

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.message: Message | None = None
        self.calls: dict[str, ToolCall] = {}
        self.cut_off: Message | None = None
        self.unanswered: dict[int, Step] = {}  # steps that an earlier worker began, by their number
        self.cut_offs: dict[int, Message] = {}  # what was written of their replies, by step
        self.planning = Planning(turn)
        self.account = Account(turn)
        self.notes: list[Message] = []
        self.next_turn: Turn | None = None  # which held messages have started as this one ended
        self.saved_at = 0.0
        self.marked_at = time.monotonic()  # when the turn was last marked to be indexed
        self.meter = Meter()
        self._waiting: list[Event] = []
        self._step_began = timezone.now()
        self._taking = False  # whether waiting events are being taken in
        self._turn_changes: dict[str, Any] = {}
        self._rows: dict[int, Dirty] = {}  # by identity: rows to save
        self._saved: list[Dirty] = []  # in the transaction under way

    @property
    def has_news(self) -> bool:
        """Whether events wait that change what is shown."""
        return any(not isinstance(event, StepStarted) for event in self._waiting)

    @property
    def has_grown(self) -> bool:
        """Whether text or output is only in memory yet."""
        return bool(self._rows)

    def absorbs(self, event: Event) -> bool:
        """Whether the event needs no database now: text that joins a message whose row was saved lately."""
        if self._taking or self.has_news:
            return False
        fresh = time.monotonic() - self.saved_at < 2 * SAVE_EVERY
        match event:
            case TodoDraft(items):
                return items is not None
            case ToolCallProgress():
                return fresh
            case Text() | Reasoning():
                return bool(self.message and not self.message.complete and not self._waiting and fresh)
        return False

    def may_wait(self, event: Event) -> bool:
        """Whether the event may be written with what follows it within a moment.

        So may the start of a todo write, which has no effect but what is written down along with its end.
        """
        if isinstance(event, ToolCallStarted):
            return event.call.name == TODO_WRITE
        return isinstance(event, StepStarted | Usage | Reply | TodoUpdate | ToolCallEnded)

    def row_of(self, request: CallRequest) -> ToolCall | None:
        """The row of a call; None while the reply that asks for it waits to be written."""
        if any(isinstance(event, Reply) for event in self._waiting):
            return None
        return self.calls[request.id]

    def record(self, event: Event) -> list[Change]:
        """Write the event down and say what it changed."""
        self.keep(event)
        return self.write()

    def keep(self, event: Event) -> None:
        """Have the event written with the next write."""
        self._waiting.append(event)
        if isinstance(event, StepStarted):
            self._step_began = timezone.now()  # it may be written much later, with the reply

    def change_turn(self, **changes: Any) -> None:
        """Change the turn's row with the next write."""
        for name, value in changes.items():
            setattr(self.turn, name, value)
        self._turn_changes |= changes

    def write(self) -> list[Change]:
        """Save what has happened since the last write; gives what is to be shown of it.

        What fails for a while, as where the database is away, is kept for the next write; what cannot be
        written at all is dropped, so that the turn can still be ended. A step that waits for its reply is
        written along with that.
        """
        begun = self._waiting[-1:] if self._waiting and isinstance(self._waiting[-1], StepStarted) else []
        return self._write(len(self._waiting) - len(begun))

    def deliver(self) -> tuple[list[dict[str, Any]], list[Change]]:
        """Write the results of the latest step, and let held messages join the turn after them.

        Gives the messages for the model, and what was written. The rows are what a worker that takes the turn
        up again reads, so none is lost or read twice.
        """
        changes, self.notes = self.write(), []
        if not self.planning.look():
            return [], changes
        with transaction.atomic():
            self.hold(unindexed_at=timezone.now())
            # A turn that is to stop answers nothing any more; the next one will.
            held = [] if self.turn.is_to_stop() else FollowUp.claim(self.turn.conversation_id)
            FollowUp.deliver(held, self.turn)
            self.notes = [Attachment.deliver([each], self._note(each.text)) for each in held]
        return [note.as_note() | pictures_of(note) for note in self.notes], changes

    def end(self, status: Turn.Status, sentence: str = "") -> list[Change]:
        """End the turn: whatever is open is closed, and the terminal state is claimed."""
        return self._write(len(self._waiting), lambda: self._break_off(status, sentence))

    def hand_over(self) -> list[Change]:
        """Give the turn back, for another worker to take up again."""
        return self._write(len(self._waiting), self._hand_over)

    def hold(self, **changes: Any) -> None:
        """Renew the lease, with changes of the turn's row."""
        self.turn.update_held(**changes)

    def _write(self, count: int, then: Callable[[], list[Change]] | None = None) -> list[Change]:
        """Write the first `count` events that wait, do something more, and say what changed."""
        before = {name: getattr(self.turn, name) for name in HELD_FIELDS}
        self._held_with: dict[str, Any] = {}
        self._taking = bool(count or then)
        events = [self._waiting.pop(0) for _ in range(count)]
        changes: list[Change] = []
        try:
            self._mark_unindexed(events)
            if then or self._turn_changes or not self._is_small(events):
                with transaction.atomic():
                    self._hold()
                    for event in events:
                        changes += self.take(event)
                    changes += then() if then else []
                    self._save_rows()
                    self.account.write_days()
                    if self._turn_changes:
                        self._hold()
            else:
                changes += [change for event in events for change in self.take(event)]
                changes += self._save_alone(renew=not events)
        except Exception as error:
            self._undo(before, may_be_kept=isinstance(error, OperationalError | InterfaceError))
            raise
        finally:
            self._saved = []
            self._taking = False
        self.account.written()
        self.saved_at = time.monotonic()
        return changes

    def _mark_unindexed(self, events: Iterable[Event]) -> None:
        """Now and then have a worker index what became final; a turn's end marks the rest."""
        final = any(isinstance(event, Reply | ToolCallEnded) for event in events)
        if final and time.monotonic() - self.marked_at > INDEX_EVERY:
            self.marked_at = time.monotonic()
            self.change_turn(unindexed_at=timezone.now())

    def _is_small(self, events: list[Event]) -> bool:
        """Whether only texts and outputs that have grown are to be written, or the result of a call."""
        is_result = len(events) <= 1 and all(isinstance(event, ToolCallEnded) for event in events)
        has_new = any(is_new for _row, _fields, is_new in self._rows.values())
        return is_result and not has_new and not self.account.is_open

    def _hold(self) -> None:
        changes, self._turn_changes = self._turn_changes, {}
        self._held_with |= changes
        self.hold(**changes)

    def _undo(self, before: dict[str, Any], *, may_be_kept: bool) -> None:
        """Have the objects agree with the rows again after a write that was rolled back."""
        for name, value in before.items():
            setattr(self.turn, name, value)
        rows, self._rows = self._rows, {}
        for row, fields, is_new in [*self._saved, *rows.values()]:
            if is_new:
                row.pk, row._state.adding = None, True
            if may_be_kept:
                self._mark(row, fields)
        if may_be_kept:
            self.change_turn(**self._held_with)
        else:
            self._turn_changes = {}
            self.account.written()

    def _save_rows(self) -> None:
        rows, self._rows = self._rows, {}
        self._saved += rows.values()
        new_calls = []
        for row, fields, is_new in rows.values():
            if is_new and not isinstance(row, Step):
                row.step = row.step  # whose key is known only now
            if not is_new:
                row.save(update_fields=fields)
            elif isinstance(row, ToolCall):
                new_calls.append(row)
            else:
                row.save(force_insert=True)
        if new_calls:
            ToolCall.objects.bulk_create(new_calls)
        _know_saved(row for row, _fields, _is_new in rows.values() if isinstance(row, Message))

    def _save_alone(self, *, renew: bool) -> list[Change]:
        """Save rows that were open, a statement each, without a transaction: texts and outputs that have
        grown, or the result of a call.

        A worker that has lost its lease finds none of its rows. As texts grow, the lease is renewed too, as
        the turn's row tells a page that is opened how many frames there were.
        """
        messages = []
        if self._rows and renew:
            self.hold()
        for key, (row, fields, _is_new) in list(self._rows.items()):
            held = {"turn__fence": self.turn.fence, "turn__status__in": Turn.HELD}
            is_open = Q(complete=False) if isinstance(row, Message) else ~Q(status__in=ToolCall.FINAL)
            own = type(row)._default_manager.filter(is_open, pk=row.pk, **held)
            if not own.update(**{name: getattr(row, name) for name in fields}):
                raise LeaseLost(f"{self.turn} was taken from {self.turn.worker}")
            del self._rows[key]
            messages += [row] if isinstance(row, Message) else []
        _know_saved(messages)
        return list(map(TextGrew, messages))

    def _change(self, row: Row, **changes: Any) -> None:
        """Change a row, to be saved with all else."""
        for name, value in changes.items():
            setattr(row, name, value)
        self._mark(row, set(changes))

    def _mark(self, row: Row, fields: set[str]) -> None:
        _row, known, is_new = self._rows.get(id(row), (row, set(), row.pk is None))
        self._rows[id(row)] = (row, known | fields, is_new)

    def take(self, event: Event) -> list[Change]:
        """What the event changes, within the transaction of a write; what is absorbed, in memory only."""
        match event:
            case StepStarted():
                return self._begin_step(event)
            case Text() | Reasoning() | TextWasReasoning():
                return self._grow(event)
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
                return [*self._notice(""), *self._compact(event)]
            case Usage():
                return self._charge(event)
            case Reply():
                return self._reply(event)
            case ToolCallStarted(call):
                return self._change_call(call, status=ToolCall.Status.RUNNING, started_at=timezone.now())
            case ToolCallProgress(call, text):
                return self._change_call(call, output=clean(text)[:MAX_OUTPUT])
            case TodoUpdate(call, items):
                return [self._revise(self.calls[call.id], items)]
            case ToolCallEnded():
                return self._end_call(event)
            case NotesRead():
                return [*(RowChanged(note, new=True) for note in self.notes), TurnChanged()]
            case End(reason="waiting", call=CallRequest() as call):
                return self._wait(call)
            case End():
                return self._break_off(STATUS_OF_END[event.reason], event.sentence)

    # Events

    def _begin_step(self, started: StepStarted) -> list[Change]:
        step = self.unanswered.pop(started.step, None)
        self.cut_off = self.cut_offs.get(step.pk) if step else None
        self.step = step or Step(turn=self.turn, number=started.step, started_at=self._step_began)
        self._change(
            self.step,
            reminder=started.reminder,
            edit_note=clean(started.told),
            endpoint=started.endpoint[:500],
            model=started.model[:200],
        )
        self.message = None
        self.saved_at = 0.0
        self.calls = {}
        if self.cut_off:
            forget(SearchEntry.Kind.MESSAGE, self.cut_off.pk)
            self.change_turn(unindexed_at=timezone.now())  # or who reads the old text just now would add it
        if self.planning.has_news:
            self._save_rows()
            self.planning.tell(self.step)
        return []

    def _charge(self, usage: Usage) -> list[Change]:
        self._change(self.step, **self.account.charge(self.step, usage))
        if self.account.totals is None:  # after a summary, which has its price
            self._save_rows()
            self.account.read_totals()
        if not self.step.input_tokens or self.account.totals is None:
            return [ContextGrew(context_meter_of(self.turn.conversation))]
        settings = self.account.settings(self.step.model)
        return [ContextGrew(meter_after(self.step, settings, self.account.totals))]

    def _grow(self, event: Written) -> list[Change]:
        changes: list[Change] = self._notice("")
        message = self.message
        if message is None:
            message, change = self._start_message()
            changes.append(change)
        anew = grow(message, event)
        self._change(message, text=message.text, reasoning=message.reasoning)
        return [*changes, RowChanged(message) if anew else TextGrew(message)]

    def _start_message(self) -> tuple[Message, Change]:
        cut_off = self.cut_off
        self.message = cut_off or Message(turn=self.turn, step=self.step, role=Message.Role.ASSISTANT)
        self._change(self.message, text="", reasoning="", extra={}, complete=False, cut_off=False)
        return self.message, RowChanged(self.message, new=cut_off is None)

    def _notice(self, sentence: str) -> list[Change]:
        sentence = clean(sentence)
        if self.turn.status_message == sentence:
            return []
        self.change_turn(status_message=sentence)
        return [TurnChanged()]

    def _reply(self, reply: Reply) -> list[Change]:
        changes = self._notice("")
        self._change(self.step, finish_reason=clean(reply.finish_reason)[:40], ended_at=timezone.now())
        if self.message is None and reply.extra:  # thoughts that only the model itself can read
            changes.append(self._start_message()[1])
        if self.message:
            self._change(self.message, complete=True, extra=clean_json(dict(reply.extra)))
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
            call_id=clean(request.id)[:200],
            name=clean(request.name)[:200],
            arguments=clean(request.arguments),
            extra=clean_json(dict(request.extra)),
        )
        return call

    def _revise(self, call: ToolCall, items: Sequence[TodoItem]) -> Change:
        if call._state.adding:  # the list's row points to it
            self._save_rows()
        return self.planning.revise(call, items)

    def _end_call(self, ended: ToolCallEnded) -> list[Change]:
        return self._change_call(
            ended.call,
            status=ToolCall.Status(ended.status),
            output=clean(ended.result.text)[:MAX_OUTPUT],
            detail=clean_json(dict(ended.result.detail)),
            ended_at=timezone.now(),
        )

    def _change_call(self, request: CallRequest, **changes: Any) -> list[Change]:
        call = self.calls[request.id]
        self._change(call, **changes)
        return [RowChanged(call)]

    def _compact(self, event: Compacted) -> list[Change]:
        self._save_rows()
        self.account.forget()  # the summary has its price, and the endpoint may have told its window
        return compact(self.turn, event)

    def _note(self, text: str) -> Message:
        return self.turn.messages.create(step=self.step, role=Message.Role.USER, text=text)

    # How it ends

    def _end(self, status: Turn.Status, sentence: str) -> list[Change]:
        self._save_rows()
        if status != Turn.Status.COMPLETED or self._has_open_rows():
            # Where nobody stopped it, a call whose result could not be written may have done its work.
            self.turn.close_rows(running="stopped" if status == Turn.Status.STOPPED else "unknown")
        self.next_turn = self.turn.end(status, clean(sentence))
        return [TurnChanged()]

    def _has_open_rows(self) -> bool:
        is_final = all(call.status in ToolCall.FINAL for call in self.calls.values())
        return not (is_final and (self.message is None or self.message.complete))

    def _break_off(self, status: Turn.Status, sentence: str) -> list[Change]:
        changes = self._charge_what_is_open()
        if self.message and not self.message.complete:
            self._change(self.message, complete=True)
        return [*changes, *self._end(status, sentence)]

    def _hand_over(self) -> list[Change]:
        changes = self._charge_what_is_open()
        self._save_rows()
        self.turn.release()
        return [*changes, TurnChanged()]

    def _charge_what_is_open(self) -> list[Change]:
        """Count a reply that was torn off: what was sent, and what had come by then, is paid for."""
        return self._charge(self.meter.settle()) if self.meter.is_open else []

    def _wait(self, request: CallRequest) -> list[Change]:
        """Leave the turn to the person's decision about the call."""
        if self.turn.is_to_stop():  # asked for before this; afterwards it finds a turn that waits
            return self._end(Turn.Status.STOPPED, "")
        detail = self.calls[request.id].detail
        self._change_call(request, status=ToolCall.Status.WAITING, asked_at=timezone.now(), detail=detail)
        self._save_rows()
        self.turn.wait()
        return [TurnChanged()]


def grow(message: Message, event: Written) -> bool:
    """Take in what the model wrote; says whether the message is to be drawn anew for it.

    Only text, and reasoning after the first of it, can be added to what is on the page.
    """
    had_reasoning = bool(message.reasoning)
    match event:
        case Text(text):
            message.text += clean(text)
            return False
        case Reasoning(text):
            message.reasoning += clean(text)
            return not had_reasoning
        case TextWasReasoning():
            message.reasoning, message.text = message.reasoning + message.text, ""
            return True


def _know_saved(messages: Iterable[Message]) -> None:
    """Note how much of their texts the rows have, which is what a page that is loaded now shows."""
    for message in messages:
        message.saved_text, message.saved_reasoning = len(message.text), len(message.reasoning)
