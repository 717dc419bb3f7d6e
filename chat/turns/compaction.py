"""Records compaction, so that every later request leaves out the same content."""

from __future__ import annotations

import logging

from django.utils.translation import gettext_lazy as _

from chat.agent import Compacted
from chat.agent.storable import storable
from chat.live.frames import Change, OutputShortened, RowChanged
from chat.models import SideCall, Step, Summary, ToolCall, Turn
from chat.turns.billing import record_side_call
from chat.turns.transcript import MessageWithRow, Row, transcript_with_rows

log = logging.getLogger(__name__)

SUMMARISING = _("Summarising earlier turns to make room")


def compact(turn: Turn, event: Compacted) -> list[Change]:
    """Record the summary and shortened outputs. The messages are read again to find their rows."""
    call = None
    if event.usage:
        call = record_side_call(turn, SideCall.Purpose.SUMMARY, event.usage, event.endpoint, event.model)
    messages = transcript_with_rows(turn)
    if len(messages) != event.count:
        # The turn continues with its messages in memory; a worker that resumes it compacts again.
        counts = len(messages), event.count
        log.error("%s: %d messages in the database, %d in memory; compaction not saved", turn, *counts)
        return []
    changes = [_shorten(turn, messages[index], text) for index, text in event.shortened.items()]
    if event.kept_from:
        (_gone, last), (_kept, first) = messages[event.kept_from - 1 : event.kept_from + 1]
        changes.append(RowChanged(_summary(turn, last, first, event, call), new=True))
    return changes


def _shorten(turn: Turn, entry: MessageWithRow, text: str) -> Change:
    _message, call = entry
    if not isinstance(call, ToolCall):
        raise TypeError(f"{call} has no output that could be shortened")
    call.shortened, call.shortened_in = storable(text), turn
    call.save(update_fields=["shortened", "shortened_in"])
    return OutputShortened(call)


def _summary(turn: Turn, last: Row, first: Row, event: Compacted, call: SideCall | None) -> Summary:
    return turn.summaries.create(
        number=event.step,
        until_id=last.turn_id,
        until_step=first.number - 1 if isinstance(first, Step) else None,
        text=storable(event.summary),
        carried=storable(event.carried),
        side_call=call,
    )
