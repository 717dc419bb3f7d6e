"""Writes down what the model is sent no more, so that every later request leaves out just the same."""

from __future__ import annotations

import logging

from django.utils.translation import gettext_lazy as _

from chat.agent import Compacted
from chat.live.frames import Change, OutputShortened, RowChanged
from chat.models import SideCall, Step, Summary, ToolCall, Turn
from chat.models.text import clean
from chat.turns.billing import record_side_call
from chat.turns.transcript import Row, Told, told

log = logging.getLogger(__name__)

SUMMARISING = _("Summarising earlier turns to make room")


def compact(turn: Turn, event: Compacted) -> list[Change]:
    """The rows of what the event tells. Those of the messages that it means are read again."""
    call = None
    if event.usage:
        call = record_side_call(turn, SideCall.Purpose.SUMMARY, event.usage, event.endpoint, event.model)
    messages = told(turn)
    if len(messages) != event.count:
        # The turn goes on as it is; whoever takes it up again leaves out anew what is too much.
        log.error("%s has %d messages and its agent %d", turn, len(messages), event.count)
        return []
    changes = [_shorten(turn, messages[place], text) for place, text in event.shortened.items()]
    if event.kept_from:
        (_gone, last), (_kept, first) = messages[event.kept_from - 1 : event.kept_from + 1]
        changes.append(RowChanged(_summary(turn, last, first, event, call), new=True))
    return changes


def _shorten(turn: Turn, message: Told, text: str) -> Change:
    _said, call = message
    if not isinstance(call, ToolCall):
        raise TypeError(f"{call} has no output that could be shortened")
    call.shortened, call.shortened_in = clean(text), turn
    call.save(update_fields=["shortened", "shortened_in"])
    return OutputShortened(call)


def _summary(turn: Turn, last: Row, first: Row, event: Compacted, call: SideCall | None) -> Summary:
    """The row of what stands for all up to `last`, where `first` is read on."""
    return turn.summaries.create(
        number=event.step,
        until_id=last.turn_id,
        until_step=first.number - 1 if isinstance(first, Step) else None,
        text=clean(event.summary),
        carried=clean(event.carried),
        side_call=call,
    )
