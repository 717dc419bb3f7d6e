"""The full output and arguments of a tool call whose card shows them folded."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from chat.models import ToolCall
from chat.pages.audience import audience
from chat.pages.conversation import own_conversation
from chat.pages.signed_in import SignedInRequest

HEADERS = {"Cache-Control": "private, no-store"}


@audience("owner")
@require_safe
def output(request: SignedInRequest, conversation_id: uuid.UUID, tool_call_id: int) -> HttpResponse:
    call = _own_call(request, conversation_id, tool_call_id)
    return _respond(request, call, "partials/_call_output.html", call.output)


@audience("owner")
@require_safe
def arguments(request: SignedInRequest, conversation_id: uuid.UUID, tool_call_id: int) -> HttpResponse:
    call = _own_call(request, conversation_id, tool_call_id)
    text = "\n\n".join(f"{name}:\n{value}" for name, value in call.parsed_arguments.items())
    return _respond(request, call, "partials/_call_given.html", text or call.arguments)


def _own_call(request: SignedInRequest, conversation_id: uuid.UUID, tool_call_id: int) -> ToolCall:
    calls = ToolCall.objects.filter(turn__conversation=own_conversation(request, conversation_id))
    return get_object_or_404(calls.select_related("turn"), pk=tool_call_id)


def _respond(request: SignedInRequest, call: ToolCall, template: str, text: str) -> HttpResponse:
    if "HX-Request" not in request.headers:
        return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=HEADERS)
    html = render_to_string(template, {"call": call, "whole": True}, request)
    return HttpResponse(html, headers=HEADERS)
