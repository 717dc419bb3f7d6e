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

    def messages(self, conversation: Conversation, held: list[FollowUp], shown: Beside) -> list[str]:
        """The socket messages for what a page shows otherwise, from what `look_beside` read."""
        messages = []
        if self.held != shown.held:
            messages.append(follow_ups_message(conversation, held))
        if self.left != shown.left:
            messages.append(unfinished_message(conversation))
        if (self.title, self.left) != (shown.title, shown.left):
            messages += [listing_message(row) for row in self._listed(conversation)]
        if self.profile != shown.profile:
            messages.append(profile_message(conversation))
        if self.title != shown.title:
            # A title that the model gave has its price.
            meter = context_message(context_meter_of(conversation))
            messages += [title_message(conversation), meter]
        return messages

    def _listed(self, conversation: Conversation) -> list[Conversation]:
        rows = list(Conversation.objects.filter(pk=conversation.pk).listed(0, 1))
        for row in rows:
            row.title, row.todos_left = self.title, self.left
        return rows


def beside(keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, Beside]:
    """What stands beside the turns of these conversations, in two queries; the gone are left out."""
    keys = list(keys)
    held = FollowUp.held_by_conversation(keys)
    rows = Conversation.objects.filter(pk__in=keys).values_list("pk", "title", "profile", "todos_left")
    return {pk: Beside(tuple(held.get(pk, [])), title, profile, left) for pk, title, profile, left in rows}


def look_beside(conversation: Conversation) -> tuple[Beside, list[FollowUp]]:
    """What stands beside the turns of one, and its held messages; the conversation is brought up to date.

    Whoever tells a page what it shows draws from this very reading. Drawn from another, a message that is
    held in between and taken back at once would stay on the page: nobody would find a difference.
    """
    held = FollowUp.held_in(conversation.pk)
    now = Conversation.objects.select_related("profile").filter(pk=conversation.pk).first() or conversation
    conversation.title, conversation.todos_left = now.title, now.todos_left
    conversation.profile = now.profile
    told = Beside(tuple(each.pk for each in held), now.title, now.profile_id, now.todos_left)
    return told, held
