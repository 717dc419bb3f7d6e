"""The kinds of acts on several conversations: what each changes, and how it is taken back."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db.models import Count, Exists, OuterRef, Q

from chat.models.conversation import Conversation
from chat.models.conversation_queryset import ConversationQuerySet
from chat.models.tag import MOST_OF_ONE, Tag
from chat.models.todo_revision import TodoRevision

AT_ONCE = 500  # rows named in one query
_Link = Conversation.tags.through
_links = _Link._default_manager

Key = uuid.UUID
Before = dict[str, Any]  # of each conversation that was changed, by its key in hexadecimal, what was before


@dataclass(frozen=True)
class Occasion:
    """Who acts, when, and with which word where it is about tags."""

    owner_id: int
    at: datetime.datetime
    word: str = ""


class BulkKind(Protocol):
    """What is done, and undone, in the caller's transaction."""

    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        """Do it to those that it changes, and say what was before."""

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        """Restore what is still as it was left; says how many."""


@dataclass(frozen=True)
class Assignment:
    """A column is given a value, which may be the time of the act, in those rows that `changes` says."""

    column: str
    changes: Q
    value: Callable[[datetime.datetime], Any]

    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        before: Before = {}
        for some in _batches(keys):
            rows = Conversation.objects.filter(self.changes, owner=occasion.owner_id, pk__in=some)
            held = rows.order_by("pk").select_for_update(no_key=True).values_list("pk", self.column)
            found = {key.hex: _plain(value) for key, value in held}
            changed = Conversation.objects.filter(pk__in=list(found))
            changed.update(**{self.column: self.value(occasion.at)})
            before |= found
        return before

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        alike: dict[Any, list[Key]] = {}
        for key, former in before.items():
            alike.setdefault(former, []).append(uuid.UUID(key))
        return sum(
            self._left(occasion).filter(pk__in=some).update(**{self.column: former})
            for former, keys in alike.items()
            for some in _batches(keys)
        )

    def _left(self, occasion: Occasion) -> ConversationQuerySet:
        """Those that are as the act left them."""
        every = Conversation.with_deleted if self.column == "deleted_at" else Conversation.objects
        return every.filter(owner=occasion.owner_id, **{self.column: self.value(occasion.at)})


class Dismissal(Assignment):
    """What is left of lists counts no more. A list that was written since is another."""

    def _left(self, occasion: Occasion) -> ConversationQuerySet:
        later = TodoRevision.objects.filter(conversation=OuterRef("pk"), created_at__gt=occasion.at)
        return super()._left(occasion).exclude(Exists(later))


class Tagging:
    """Conversations are given a tag. Those that have as many as they may are left out."""

    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        Tag.keep_still(occasion.owner_id)
        tag = Tag.of(occasion.owner_id, occasion.word)
        added: Before = {}
        for some in _batches(keys):
            rows = Conversation.objects.filter(owner=occasion.owner_id, pk__in=some)
            roomy = rows.exclude(tags=tag).annotate(number=Count("tags")).filter(number__lt=MOST_OF_ONE)
            free = list(roomy.order_by().values_list("pk", flat=True))
            _links.bulk_create([_Link(conversation_id=key, tag=tag) for key in free])
            added |= {key.hex: None for key in free}
        Tag.sweep(occasion.owner_id)  # where all had as many as they may
        return added

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        return _untag([uuid.UUID(key) for key in before], occasion)


class Untagging:
    """A tag is taken from conversations."""

    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        had: Before = {}
        Tag.keep_still(occasion.owner_id)
        tag = Tag.named(occasion.owner_id, occasion.word)
        for some in _batches(keys):
            tagged = _links.filter(tag=tag, conversation__owner=occasion.owner_id, conversation__in=some)
            had |= {key.hex: None for key in tagged.values_list("conversation", flat=True)}
        _untag(keys, occasion)
        return had

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        return len(Tagging().do([uuid.UUID(key) for key in before], occasion))


def _untag(keys: Sequence[Key], occasion: Occasion) -> int:
    Tag.keep_still(occasion.owner_id)
    tag = Tag.named(occasion.owner_id, occasion.word)
    kept = Conversation.objects.filter(owner=occasion.owner_id)
    gone = 0
    for some in _batches(keys):
        gone += _links.filter(tag=tag, conversation__in=kept.filter(pk__in=some).values("pk")).delete()[0]
    Tag.sweep(occasion.owner_id)
    return gone


def _batches(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    return (keys[start : start + AT_ONCE] for start in range(0, len(keys), AT_ONCE))


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.datetime) else value
