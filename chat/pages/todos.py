"""The user's edits of the todo list."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any, cast

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from chat.agent.storable import storable
from chat.agent.todo import ITEM_ACTIONS, Action, Edit
from chat.live.broadcast import publish_regions, publish_sidebar
from chat.models import Conversation
from chat.pages.audience import audience
from chat.pages.conversation import own_conversation, page
from chat.pages.signed_in import SignedInRequest
from chat.turns.editing import Edited, edit

MAX_KEY = 19  # digits
MAX_LINES = 500  # of a pasted list; the rest is one item
# What a copied list has ahead of an item: "- ", "2. ", a number in a cell of its own, "(3) ", "4、", "五、",
# "（6）", "⑦", "·", "☐ ", "✅ ", "[x] ".
NUMBER = r"(?:\d{1,3}|[一二三四五六七八九十]{1,3})"
LIST_MARKER = re.compile(
    r"\s*(?:[-*+–—]\s+|[•·▪◦●○]\s*|\d{1,3}(?:[.)]\s|\t)\s*|\(\d{1,3}\)\s*"
    rf"|(?:{NUMBER}[、．）]|（{NUMBER}）|[①-⑳]|[☐☑□✅✔✓]\ufe0f?)\s*)?"
    r"(?:\[[ xX]\]\s+)?(?=\S)"
)
TICK = re.compile(r"[xX☑✅✔✓]")
HEADING = re.compile(r"\s*#{1,6}\s")
ID = re.compile("[0-9a-f]{8}")


@audience("owner")
@require_POST
def edit_todos(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Apply what was pressed (each `do`, for example "skip ID") and all changed texts of the form.

    `revision` is the list that the user saw, and `new` the id of an added item, so that it is added once
    however often it is sent. A script gets 204, or 409 with the refused edits, and the ids of
    what was `Added`; without script, redirects to the panel or shows the refusals on the page.
    """
    conversation = own_conversation(request, conversation_id)
    edits = [*_button_edits(request), *_text_edits(request, conversation)]
    edited = edit(conversation, _parse_number(request.POST.get("revision", "")), edits)
    async_to_sync(publish_regions)(conversation.pk, "panel", "unfinished")
    async_to_sync(publish_sidebar)(request.user.pk)
    if edited.refusals:
        return _refusal_response(request, conversation, edited)
    if "HX-Request" in request.headers:
        return HttpResponse(status=204, headers={"Added": " ".join(edited.added)})
    return redirect(reverse("conversation", args=[conversation.pk]) + "#todo-add")


def _text_edits(request: HttpRequest, conversation: Conversation) -> Iterator[Edit]:
    base = conversation.revisions.filter(pk=_parse_number(request.POST.get("revision", ""))).first()
    old_texts = {item_id["id"]: item_id["content"] for item_id in base.items} if base else {}
    action = request.POST.get("do", "")
    for name in request.POST:
        item_id = name.removeprefix("text-")
        if name == item_id or action in (f"skip {item_id}", f"remove {item_id}"):
            continue
        # The input for a new item may be on the page twice, once hidden.
        text = next(filter(str.strip, map(storable, request.POST.getlist(name))), "")
        if item_id == "new":
            if text or action == "add":
                yield from _added(text, request.POST.get("new", ""))
        elif text != old_texts.get(item_id):
            yield Edit("reword", item_id, text)


def _added(text: str, new: str) -> Iterator[Edit]:
    """The items of a pasted list, those with a tick as done; a text of one line is one item as it is.

    A heading in Markdown above the items is none of them. `new` is the id of the first one, if it is valid.
    """
    new = new if ID.fullmatch(new) else ""
    lines = [line for line in text.split("\n", MAX_LINES - 1) if line.strip()]
    items = [line for line in lines if not HEADING.match(line)]
    lines = items or lines
    if len(lines) < 2:
        yield Edit("add", text=text, new=new)
        return
    for number, line in enumerate(lines):
        marker = LIST_MARKER.match(line)
        length = marker.end() if marker else 0
        id_ = f"{new}{number:x}" if new and number else new
        yield Edit("add", text=line[length:], done=bool(TICK.search(line, 0, length)), new=id_)


def _button_edits(request: HttpRequest) -> Iterator[Edit]:
    for pressed in request.POST.getlist("do"):
        action, _blank, item = pressed.partition(" ")
        if action in ITEM_ACTIONS and action != "reword" and item:
            yield Edit(cast(Action, action), item, place=_parse_number(request.POST.get("place", "")))


def _parse_number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < MAX_KEY else 0


def _refusal_response(request: SignedInRequest, conversation: Conversation, edited: Edited) -> HttpResponse:
    context: dict[str, Any] = {
        "todo_refusals": edited.refusals,
        "todo_revision": edited.revision.pk if edited.revision else 0,
    }
    if "HX-Request" in request.headers:
        context["conversation"] = conversation
        response = render(request, "partials/_todo_refused.html", context, status=409)
        response.headers["Added"] = " ".join(edited.added)
        return response
    return page(request, conversation, status_code=409, **context)
