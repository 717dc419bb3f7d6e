"""A record as one page, turn by turn, with the partials that the conversation's own page is made of."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.loader import render_to_string
from django.utils import timezone

from chat.export.pictures import Pictures
from chat.export.record import Record, Reminder, rows_of
from chat.live.frames import draw
from chat.live.todo_panel import TodoPanel
from chat.models import Conversation, Message, TodoRevision, ToolCall, Turn
from chat.plan.evidence import evidence_of


def page_pieces(record: Record, read_only: ReadOnly, template: str, **more: Any) -> Iterator[str]:
    """The page's HTML: what the template puts around its variable `rows`, and the turns in that place."""
    # Random, so that no value in the page can hold it: the only place where finished HTML is searched.
    mark = f"<!--{secrets.token_hex(16)}-->"
    plans = record.plans()
    context = {
        "record": record,
        "conversation": record.conversation,
        "read_only": read_only,
        "plans": [(plan, evidence_of(plan)) for plan in plans],
        "mark": mark,
        **more,
    }
    before, _mark, after = render_to_string(template, context).partition(mark)
    yield before
    for turn in record.each_turn():
        yield _turn(record, turn, read_only)
    yield after


def _turn(record: Record, turn: Turn, read_only: ReadOnly) -> str:
    revisions = record.revisions_of(turn) if read_only.replays else []
    rows = "".join(_rows(turn, revisions, read_only))
    context = {"turn": turn, "read_only": read_only, "rows": rows, "end": _end(turn, revisions, read_only)}
    return render_to_string("reading/_turn.html", context)


def _rows(turn: Turn, revisions: list[TodoRevision], read_only: ReadOnly) -> Iterator[str]:
    for row in rows_of(turn):
        if isinstance(row, Reminder):
            yield render_to_string("reading/_reminder.html", {"step": row.step})
            continue
        yield draw(row, read_only)
        for revision in revisions:
            if _comes_behind(revision, row):
                yield _panel(turn, revision, read_only)


def _comes_behind(revision: TodoRevision, row: object) -> bool:
    """Whether the list was written with the row, or by the person after it."""
    if isinstance(row, ToolCall):
        return row.pk in (revision.tool_call_id, None if revision.afterwards else revision.after_id)
    begins = isinstance(row, Message) and row.step is None
    return begins and revision.is_the_persons and revision.after_id is None and not revision.afterwards


def _end(turn: Turn, revisions: list[TodoRevision], read_only: ReadOnly) -> str:
    """The panel as the turn leaves it, and what the person made of it afterwards."""
    within = [revision for revision in revisions if not revision.afterwards][-1:]
    later = [revision for revision in revisions if revision.afterwards]
    return "".join(_panel(turn, revision, read_only, phase="ended") for revision in [*within, *later])


def _panel(turn: Turn, revision: TodoRevision, read_only: ReadOnly, phase: str = "working") -> str:
    cut_off = phase == "ended" and turn.status != Turn.Status.COMPLETED and not revision.afterwards
    panel = TodoPanel(turn.conversation_id, turn.pk, phase, revision.items, cut_off=cut_off)
    context = {"panel": panel, "read_only": read_only, "revision": revision, "phase": phase}
    return render_to_string("reading/_panel.html", context)


def html_pieces(conversation: Conversation) -> Iterator[str]:
    """The file's text. Pictures are within it, as many as there is room for; the others are named."""
    record = Record.whole(conversation)
    read_only = ReadOnly(picture=Pictures(conversation).address)
    more = {"styles": _styles(), "now": timezone.now(), "follow_ups": record.follow_ups()}
    return page_pieces(record, read_only, "reading/file.html", **more)


def _styles() -> str:
    with staticfiles_storage.open("app.css") as file:
        return str(file.read().decode())


@dataclass(frozen=True)
class ReadOnly:
    """How rows are drawn where they stand apart from the site.

    `picture` gives the address of a picture by its digest, empty for one that is not shown. A public page is
    anybody's: it tells neither what a turn took nor of what went wrong with an endpoint. One that `replays`
    tells the moment of each row.
    """

    picture: Callable[[str], str]
    is_public: bool = False
    replays: bool = False
