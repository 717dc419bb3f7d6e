"""The pictures that rows bring to the model."""

from __future__ import annotations

from typing import Any

from chat.agent import Model
from chat.agent.pictures import marked
from chat.files.pictures import Album
from chat.models import Message, ToolCall


def pictures_of(row: Message | ToolCall) -> dict[str, Any]:
    """What the row's message has beside its content: its pictures, if it brings any."""
    if isinstance(row, ToolCall):
        succeeded = row.status == ToolCall.Status.SUCCEEDED
        told = row.detail.get("pictures", ()) if succeeded else ()
    else:
        told = [each.about() for each in row.attachments.all() if each.media_type]
    album = Album(row.turn.conversation_id)
    return marked([album.picture(each) for each in told])


def sees(model: Model) -> bool:
    """Whether the model can see pictures, as far as that is known."""
    return bool(getattr(getattr(model, "traits", None), "images", True))
