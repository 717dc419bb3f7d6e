"""The plan page: every revision of a conversation's todo lists, and what happened in between."""

from __future__ import annotations

import uuid

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_safe

from chat.models import ToolCall
from chat.pages.audience import audience
from chat.pages.conversation import own_conversation
from chat.pages.page_or_part import page_or_part
from chat.pages.signed_in import SignedInRequest
from chat.plan.evidence import evidence_of, item_of
from chat.plan.history import Plan, plans_of
from chat.plan.timeline import Revision


@audience("owner")
@require_safe
def plan(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Show the timeline and the revision that `?revision=` names, by default the latest.

    `?call=` is the key of a tool call: the item it counts for is shown with its evidence.
    """
    conversation = own_conversation(request, conversation_id)
    plans = plans_of(conversation)
    revisions = [revision for each in plans for revision in each.revisions]
    shown = _revision(revisions, request.GET.get("revision", ""))
    shown_plan = _plan_of(plans, shown)
    evidence = evidence_of(shown_plan, shown) if shown_plan else {}
    call_id = _parse_number(request.GET.get("call", ""))
    context = {
        "conversation": conversation,
        "works": conversation.is_working(),
        "plans": plans,
        "revisions": revisions,
        "shown": shown,
        "shown_plan": shown_plan,
        "evidence": evidence,
        "named": call_id,
        "named_item": item_of(evidence, call_id),
        "earlier": shown.number - 1 if shown else 0,
        "later": shown.number + 1 if shown and shown.number < len(revisions) else 0,
    }
    return page_or_part(request, "plan.html", "partials/_plan_stage.html", context)


@audience("owner")
@require_safe
def call(request: SignedInRequest, conversation_id: uuid.UUID, tool_call_id: int) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    get_object_or_404(ToolCall, pk=tool_call_id, turn__conversation=conversation)
    page = reverse("plan", args=[conversation.pk])
    for each in plans_of(conversation):
        if item := item_of(evidence_of(each), tool_call_id):
            query = f"revision={each.latest.number}&call={tool_call_id}"
            return HttpResponseRedirect(f"{page}?{query}#item-{item}")
    return HttpResponseRedirect(f"{page}#call-{tool_call_id}")


def _revision(revisions: list[Revision], number: str) -> Revision | None:
    if not revisions:
        return None
    wanted = _parse_number(number)
    return revisions[-1] if wanted is None else revisions[min(max(wanted, 1), len(revisions)) - 1]


def _parse_number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= 9 else None


def _plan_of(plans: list[Plan], revision: Revision | None) -> Plan | None:
    return next((each for each in plans if revision and each.number == revision.plan), None)
