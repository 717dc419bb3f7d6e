"""A record as a read-only HTML page, with the templates of the conversation's page."""

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
from chat.live.call_group import CallGroup, grouped
from chat.live.frames import draw
from chat.live.markdown import FileUrls
from chat.live.todo_panel import TodoPanel
from chat.models import Conversation, Message, TodoRevision, ToolCall, Turn
from chat.plan.evidence import evidence_of
from chat.plan.timeline import Revision


def page_pieces(record: Record, read_only: ReadOnly, template: str, **more: Any) -> Iterator[str]:
    """The page in pieces: the template, with the turns at its variable `mark`."""
    # Random, so that no text in the page can contain it.
    mark = f"<!--{secrets.token_hex(16)}-->"
    plans = record.plans()
    revisions = [each for plan in plans for each in plan.revisions] if read_only.replays else []
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
        yield _turn(turn, [each for each in revisions if each.turn.pk == turn.pk], read_only)
    yield after


def _turn(turn: Turn, revisions: list[Revision], read_only: ReadOnly) -> str:
    rows = "".join(_rows(turn, revisions, read_only))
    context = {"turn": turn, "read_only": read_only, "rows": rows, "end": _end(turn, revisions, read_only)}
    return render_to_string("reading/_turn.html", context)


def _rows(turn: Turn, revisions: list[Revision], read_only: ReadOnly) -> Iterator[str]:
    drawn = _drawn_rows(turn, revisions, read_only)
    for number, part in enumerate(grouped(turn.rows())):
        if isinstance(part, CallGroup):
            rows = "".join(drawn[row.dom_id] for row in part.rows)
            yield render_to_string("reading/_call_group.html", {"group": part, "rows": rows})
        else:
            yield drawn[part.dom_id]
        if not number and turn.profile_snapshot:
            yield render_to_string("partials/_who.html", {"turn": turn, "read_only": read_only})


def _drawn_rows(turn: Turn, revisions: list[Revision], read_only: ReadOnly) -> dict[str, str]:
    """Each row by its id, with the lists that it wrote and, where not public, the reminders before it."""
    drawn: dict[str, str] = {}
    before = ""
    for row in rows_of(turn):
        if isinstance(row, Reminder):
            if not read_only.is_public:
                before += render_to_string("reading/_reminder.html", {"step": row.step})
            continue
        lists = (_panel(turn, revision, read_only) for revision in revisions if _follows(revision.row, row))
        drawn[row.dom_id] = before + draw(row, read_only) + "".join(lists)
        before = ""
    return drawn


def _follows(revision: TodoRevision, row: object) -> bool:
    if isinstance(row, ToolCall):
        return row.pk in (revision.tool_call_id, None if revision.afterwards else revision.after_id)
    is_first_message = isinstance(row, Message) and row.step is None
    return is_first_message and revision.is_by_user and revision.after_id is None and not revision.afterwards


def _end(turn: Turn, revisions: list[Revision], read_only: ReadOnly) -> str:
    last = [revision for revision in revisions if not revision.row.afterwards][-1:]
    afterwards = [revision for revision in revisions if revision.row.afterwards]
    return "".join(_panel(turn, revision, read_only, phase="ended") for revision in [*last, *afterwards])


def _panel(turn: Turn, revision: Revision, read_only: ReadOnly, phase: str = "working") -> str:
    row = revision.row
    cut_off = phase == "ended" and turn.status != Turn.Status.COMPLETED and not row.afterwards
    panel = TodoPanel(turn.conversation_id, turn.pk, phase, row.items, cut_off, earlier=revision.lines)
    context = {"panel": panel, "read_only": read_only, "revision": row, "phase": phase}
    return render_to_string("reading/_panel.html", context)


def html_pieces(conversation: Conversation) -> Iterator[str]:
    """The file's text. Pictures are embedded up to MAX_PICTURE_BYTES; others are named."""
    record = Record.whole(conversation)
    pictures = Pictures(conversation)
    read_only = ReadOnly(pictures.address, pictures)
    more = {"styles": _styles(), "now": timezone.now(), "follow_ups": record.follow_ups()}
    return page_pieces(record, read_only, "reading/file.html", **more)


def _styles() -> str:
    with staticfiles_storage.open("app.css") as file:
        return str(file.read().decode())


@dataclass(frozen=True)
class ReadOnly:
    """How rows are drawn on a read-only page.

    `picture` returns a picture's URL by its digest, "" if it is not shown; `files` has the workspace's.
    A public page hides usage and error details of endpoints. A page that `replays` has the time of each row.
    """

    picture: Callable[[str], str]
    files: FileUrls | None = None
    is_public: bool = False
    replays: bool = False
