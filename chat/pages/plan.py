"""The plan of a conversation: its lists through all their revisions, and what happened in between."""

from __future__ import annotations

import uuid

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from chat.models import ToolCall, Turn
from chat.pages.conversation import own_conversation
from chat.pages.signed_in import SignedInRequest
from chat.plan.evidence import evidence_of, item_of
from chat.plan.history import Plan, plans_of
from chat.plan.timeline import Revision


@require_safe
def plan(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """The timeline, and on its stage the list as `revision` left it: the latest where none is named.

    With `call`, the key of a tool call, the item that it counts for shows what was done for it.
    """
    conversation = own_conversation(request, conversation_id)
    plans = plans_of(conversation)
    revisions = [revision for each in plans for revision in each.revisions]
    shown = _chosen(revisions, request.GET.get("revision", ""))
    shown_plan = _plan_of(plans, shown)
    evidence = evidence_of(shown_plan, shown) if shown_plan else {}
    named = _number(request.GET.get("call", ""))
    context = {
        "conversation": conversation,
        "works": conversation.turns.filter(status__in=Turn.ACTIVE).exists(),
        "plans": plans,
        "revisions": revisions,
        "shown": shown,
        "shown_plan": shown_plan,
        "evidence": evidence,
        "named": named,
        "named_item": item_of(evidence, named),
        "earlier": shown.number - 1 if shown else 0,
        "later": shown.number + 1 if shown and shown.number < len(revisions) else 0,
    }
    only_stage = "HX-Request" in request.headers
    return render(request, "partials/_plan_stage.html" if only_stage else "plan.html", context)


@require_safe
def call(request: SignedInRequest, conversation_id: uuid.UUID, tool_call_id: int) -> HttpResponse:
    """From a tool call to the item that it counts for, else to its place in the story."""
    conversation = own_conversation(request, conversation_id)
    get_object_or_404(ToolCall, pk=tool_call_id, turn__conversation=conversation)
    page = reverse("plan", args=[conversation.pk])
    for each in plans_of(conversation):
        if item := item_of(evidence_of(each), tool_call_id):
            query = f"revision={each.latest.number}&call={tool_call_id}"
            return HttpResponseRedirect(f"{page}?{query}#item-{item}")
    return HttpResponseRedirect(f"{page}#call-{tool_call_id}")


def _chosen(revisions: list[Revision], number: str) -> Revision | None:
    """The revision of that number, or the nearest to it; the latest where it is no number."""
    if not revisions:
        return None
    asked = _number(number)
    return revisions[-1] if asked is None else revisions[min(max(asked, 1), len(revisions)) - 1]


def _number(text: str) -> int | None:
    """The number that an address gives; None where it gives none."""
    return int(text) if text.isdecimal() and len(text) <= 9 else None


def _plan_of(plans: list[Plan], revision: Revision | None) -> Plan | None:
    return next((each for each in plans if revision and each.number == revision.plan), None)
