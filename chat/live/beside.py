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
    organised_message,
    panel_message,
    profile_message,
    title_message,
    unfinished_message,
)
from chat.live.todo_panel import panel_of
from chat.models import Conversation, FollowUp, Tag, TodoRevision


@dataclass(frozen=True)
class Beside:
    """The held messages' primary keys, the title, the profile's key, how many todos are left, the latest list
    that the person made (the agent's come with the turns), and how it is organised."""

    held: tuple[int, ...] = ()
    title: str = ""
    profile: int | None = None
    left: int = 0
    edited: int = 0
    pinned: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()

    @classmethod
    def told(cls, told: Sequence[Any]) -> Beside:
        """The one that a frame has told, as lists."""
        held, title, profile, left, edited, pinned, archived, tags = told
        return cls(tuple(held), title, profile, left, edited, pinned, archived, tuple(tags))

    @classmethod
    def of(cls, row: Conversation, held: Iterable[int], edited: int, words: Iterable[str]) -> Beside:
        """The one of a conversation, with the keys of its held messages, of that list, and its tags."""
        told = row.title, row.profile_id, row.todos_left, edited, row.pinned, row.archived
        return cls(tuple(held), *told, tuple(words))

    @property
    def organisation(self) -> tuple[bool, bool, tuple[str, ...]]:
        """What its person has done to find it again."""
        return self.pinned, self.archived, self.tags

    def messages(self, conversation: Conversation, held: list[FollowUp], shown: Beside) -> list[str]:
        """The socket messages for what a page shows otherwise, from what `look_beside` read."""
        messages = []
        if self.held != shown.held:
            messages.append(follow_ups_message(conversation, held))
        if self.edited != shown.edited:
            messages.append(panel_message(panel_of(conversation)))
        if (self.left, self.edited) != (shown.left, shown.edited):
            messages.append(unfinished_message(conversation))
        if (self.title, self.left, self.edited) != (shown.title, shown.left, shown.edited):
            messages += [listing_message(row) for row in self._listed(conversation)]
        if self.profile != shown.profile:
            messages.append(profile_message(conversation))
        if self.organisation != shown.organisation:
            messages.append(organised_message(conversation))
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
    """What stands beside the turns of these conversations, in four queries; the gone are left out."""
    keys = list(keys)
    held = FollowUp.held_by_conversation(keys)
    words = Tag.words_by_conversation(keys)
    edited = TodoRevision.latest_edits(keys)
    found = Conversation.objects.filter(pk__in=keys)
    return {
        row.pk: Beside.of(row, held.get(row.pk, []), edited.get(row.pk, 0), words.get(row.pk, []))
        for row in found
    }


def look_beside(conversation: Conversation) -> tuple[Beside, list[FollowUp]]:
    """What stands beside the turns of one, and its held messages; the conversation is brought up to date.

    Whoever tells a page what it shows draws from this very reading. Drawn from another, a message that is
    held in between and taken back at once would stay on the page: nobody would find a difference.
    """
    held = FollowUp.held_in(conversation.pk)
    now = Conversation.objects.select_related("profile").filter(pk=conversation.pk).first() or conversation
    conversation.title, conversation.todos_left = now.title, now.todos_left
    conversation.profile = now.profile
    conversation.pinned, conversation.archived_at = now.pinned, now.archived_at
    words = Tag.words_by_conversation([conversation.pk]).get(conversation.pk, [])
    conversation.known_words = words
    edited = TodoRevision.latest_edits([conversation.pk]).get(conversation.pk, 0)
    return Beside.of(now, (each.pk for each in held), edited, words), held
