"""What a page shows beside the turns, as far as it changes without any of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from chat.live.context_meter import context_meter_of
from chat.live.fragments import (
    context_message,
    follow_ups_message,
    listing_message,
    profile_message,
    title_message,
    unfinished_message,
)
from chat.models import Conversation, FollowUp


@dataclass(frozen=True)
class Beside:
    """The held messages' primary keys, the title, the profile's key, and how many todos are left."""

    held: tuple[int, ...] = ()
    title: str = ""
    profile: int | None = None
    left: int = 0

    @classmethod
    def told(cls, told: Sequence[Any]) -> Beside:
        """The one that a frame has told, as lists."""
        held, *rest = told
        return cls(tuple(held), *rest)

    def messages(self, conversation: Conversation, shown: Beside) -> list[str]:
        """The socket messages for what a page shows otherwise. Reads the database."""
        messages = []
        if self.held != shown.held:
            messages.append(follow_ups_message(conversation))
        if self.left != shown.left:
            messages.append(unfinished_message(conversation))
        if (self.title, self.left) != (shown.title, shown.left):
            messages += map(listing_message, Conversation.objects.filter(pk=conversation.pk).listed(0, 1))
        if self.profile != shown.profile:
            messages.append(profile_message(conversation))
        if self.title != shown.title:
            conversation.title = self.title
            meter = context_message(
                context_meter_of(conversation)
            )  # a title that the model gave has its price
            messages += [title_message(conversation), meter]
        return messages


def beside(keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, Beside]:
    """What stands beside the turns of these conversations, in two queries; the gone are left out."""
    keys = list(keys)
    held = FollowUp.held_by_conversation(keys)
    rows = Conversation.objects.filter(pk__in=keys).values_list("pk", "title", "profile", "todos_left")
    return {pk: Beside(tuple(held.get(pk, [])), title, profile, left) for pk, title, profile, left in rows}


def beside_one(conversation_id: uuid.UUID) -> Beside:
    """The same for one; what a page begins with where it is gone."""
    return beside([conversation_id]).get(conversation_id, Beside())
