"""The plan of a conversation: its lists through all their revisions, and what happened in between."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat.models import Turn
from chat.pages.conversation import own_conversation
from chat.pages.signed_in import SignedInRequest
from chat.plan.history import Plan, plans_of
from chat.plan.story import Revision


@require_safe
def plan(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """The timeline, and on its stage the list as `revision` left it: the latest where none is named."""
    conversation = own_conversation(request, conversation_id)
    plans = plans_of(conversation)
    revisions = [revision for each in plans for revision in each.revisions]
    shown = _chosen(revisions, request.GET.get("revision", ""))
    context = {
        "conversation": conversation,
        "works": conversation.turns.filter(status__in=Turn.ACTIVE).exists(),
        "plans": plans,
        "revisions": revisions,
        "shown": shown,
        "shown_plan": _plan_of(plans, shown),
        "earlier": shown.number - 1 if shown else 0,
        "later": shown.number + 1 if shown and shown.number < len(revisions) else 0,
    }
    only_stage = request.headers.get("HX-Target") == "plan-stage"
    return render(request, "partials/_plan_stage.html" if only_stage else "plan.html", context)


def _chosen(revisions: list[Revision], number: str) -> Revision | None:
    """The revision of that number, or the nearest to it; the latest where it is no number."""
    if not revisions:
        return None
    if not number.isdecimal() or len(number) > 9:
        return revisions[-1]
    return revisions[min(max(int(number), 1), len(revisions)) - 1]


def _plan_of(plans: list[Plan], revision: Revision | None) -> Plan | None:
    return next((each for each in plans if revision and each.number == revision.plan), None)
