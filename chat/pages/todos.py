"""What a person changes in the todo list."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, cast

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from chat.agent.todo import ITEM_ACTIONS, Action, Edit
from chat.live.broadcast import publish_regions, publish_sidebar
from chat.models import Conversation
from chat.models.text import clean
from chat.pages.conversation import own_conversation, page
from chat.pages.signed_in import SignedInRequest
from chat.turns.editing import Edited, edit

MAX_KEY = 19  # digits


@require_POST
def edit_todos(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Change the list as `do` says ("skip ID"), and by all new words that the form brings.

    `revision` is the list that the person had in view. Answers the page's script with 204, or with 409 and
    what was not changed; without it, leads back to the panel, or shows that on the page.
    """
    conversation = own_conversation(request, conversation_id)
    edits = list(dict.fromkeys([*_asked(request), *_words(request, conversation)]))
    edited = edit(conversation, _number(request.POST.get("revision", "")), edits)
    async_to_sync(publish_regions)(conversation.pk, "panel", "unfinished")
    async_to_sync(publish_sidebar)(request.user.pk)
    if edited.refusals:
        return _refused(request, conversation, edited)
    if "HX-Request" in request.headers:
        return HttpResponse(status=204)
    return redirect(reverse("conversation", args=[conversation.pk]) + "#todo-add")


def _words(request: HttpRequest, conversation: Conversation) -> Iterator[Edit]:
    """The items whose words are others than they were in view, and the new one, if one was written."""
    seen = conversation.revisions.filter(pk=_number(request.POST.get("revision", ""))).first()
    known = {item["id"]: item["content"] for item in seen.items} if seen else {}
    asked = request.POST.get("do", "")
    for name in request.POST:
        item = name.removeprefix("text-")
        if name == item or asked == f"skip {item}":
            continue
        # The line for a new item may be on the page twice, once in hiding.
        text = next(filter(str.strip, map(clean, request.POST.getlist(name))), "")
        if item == "new":
            if text or asked == "add":
                yield Edit("add", text=text)
        elif text != known.get(item):
            yield Edit("reword", item, text)


def _asked(request: HttpRequest) -> Iterator[Edit]:
    """What the button that was pressed stands for."""
    action, _blank, item = request.POST.get("do", "").partition(" ")
    if action in ITEM_ACTIONS and action != "reword" and item:
        yield Edit(cast(Action, action), item, place=_number(request.POST.get("place", "")))


def _number(given: str) -> int:
    return int(given) if given.isdecimal() and len(given) < MAX_KEY else 0


def _refused(request: SignedInRequest, conversation: Conversation, edited: Edited) -> HttpResponse:
    """What was not changed, with the person's own words: for the page's script that alone."""
    context: dict[str, Any] = {
        "todo_refusals": edited.refusals,
        "todo_revision": edited.revision.pk if edited.revision else 0,
    }
    if "HX-Request" in request.headers:
        context["conversation"] = conversation
        return render(request, "partials/_todo_refused.html", context, status=409)
    return page(request, conversation, status_code=409, **context)
