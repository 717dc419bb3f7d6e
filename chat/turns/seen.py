"""What the model knows of a conversation's files, read from the record, so that no restart forgets it."""

from __future__ import annotations

from chat.agent.tools.seen import Seen
from chat.models import Conversation, ToolCall


def seen_in(conversation: Conversation) -> Seen:
    """The states in which the conversation's tool calls last read or wrote its files."""
    done = ToolCall.objects.filter(turn__conversation=conversation, status=ToolCall.Status.SUCCEEDED)
    told = done.filter(detail__has_key="state").order_by("pk").values_list("detail__path", "detail__state")
    return Seen(dict(told))
