"""The pictures that rows bring to the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chat.agent import Model
from chat.agent.pictures import Picture, marked
from chat.files.pictures import Album
from chat.live.changes import Change, TurnChanged
from chat.models import Attachment, Message, ToolCall, Turn


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


def refuse(turn: Turn, refused: Iterable[Picture]) -> list[Change]:
    """Write down that the endpoint refused these pictures, wherever the conversation has them."""
    digests = {picture.digest for picture in refused}
    brought = Attachment.objects.filter(message__turn__conversation=turn.conversation_id, digest__in=digests)
    brought.update(fault=Attachment.Fault.REFUSED)
    calls = ToolCall.objects.filter(turn__conversation=turn.conversation_id, detail__has_key="pictures")
    for call in calls:
        told = call.detail["pictures"]
        if digests.intersection(each["digest"] for each in told):
            call.detail["pictures"] = [_refused(each, digests) for each in told]
            call.save(update_fields=["detail"])
    return [TurnChanged()]


def _refused(about: dict[str, Any], digests: set[str]) -> dict[str, Any]:
    return {**about, "fault": Attachment.Fault.REFUSED.value} if about["digest"] in digests else about
