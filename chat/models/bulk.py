"""Actions on several conversations at once, each of which can be undone for a while."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings
from django.db import models, transaction
from django.db.models import Count, Max, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation
from chat.models.conversation_queries import ConversationQuerySet
from chat.models.tag import MAX_LENGTH, MAX_TAGS_OF_CONVERSATION, Tag, normalised
from chat.models.todo_revision import TodoRevision

if TYPE_CHECKING:
    from django.contrib.auth.models import User


BATCH = 500  # rows in one query
_Link = Conversation.tags.through
_links = _Link._default_manager

Key = uuid.UUID
Before = dict[str, Any]  # the former value of each changed conversation, by its key in hexadecimal


@dataclass(frozen=True)
class Occasion:
    owner_id: int
    at: datetime.datetime
    word: str = ""


class BulkKind(Protocol):
    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        """Change what the action applies to, and return the former values."""

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        """Restore conversations that have not changed since; returns how many."""


@dataclass(frozen=True)
class Assignment:
    """Sets a column, possibly to the time of the action, in the rows that match `changes`."""

    column: str
    changes: Q
    value: Callable[[datetime.datetime], Any]

    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        before: Before = {}
        for batch in _batches(keys):
            rows = Conversation.objects.filter(self.changes, owner=occasion.owner_id, pk__in=batch)
            rows_to_change = rows.order_by("pk").select_for_update(no_key=True).values_list("pk", self.column)
            former = {key.hex: _as_json(value) for key, value in rows_to_change}
            changed = Conversation.objects.filter(pk__in=list(former))
            changed.update(**{self.column: self.value(occasion.at)})
            before |= former
        return before

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        keys_by_value: dict[Any, list[Key]] = {}
        for key, former in before.items():
            keys_by_value.setdefault(former, []).append(uuid.UUID(key))
        return sum(
            self._unchanged(occasion).filter(pk__in=batch).update(**{self.column: former})
            for former, keys in keys_by_value.items()
            for batch in _batches(keys)
        )

    def _unchanged(self, occasion: Occasion) -> ConversationQuerySet:
        every = Conversation.with_deleted if self.column == "deleted_at" else Conversation.objects
        return every.filter(owner=occasion.owner_id, **{self.column: self.value(occasion.at)})


class Dismissal(Assignment):
    """Stops counting lists as unfinished; not undone if another list is the current one."""

    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        before = super().do(keys, occasion)
        for batch in _batches([uuid.UUID(key) for key in before]):
            _current_lists(batch).update(dismissed=True)
        return before

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        restored = super().undo(before, occasion)
        for batch in _batches([uuid.UUID(key) for key in before]):
            _current_lists(batch).filter(conversation__todos_left__gt=0).update(dismissed=False)
        return restored

    def _unchanged(self, occasion: Occasion) -> ConversationQuerySet:
        lists = TodoRevision.objects.filter(conversation=OuterRef("pk"), turn__on_path=True).order_by("-pk")
        current = {name: Subquery(lists.values(name)[:1]) for name in ("dismissed", "created_at")}
        rows = (
            super()
            ._unchanged(occasion)
            .alias(is_dismissed=current["dismissed"], written=current["created_at"])
        )
        return rows.filter(is_dismissed=True, written__lte=occasion.at)


def _current_lists(keys: Sequence[Key]) -> models.QuerySet[TodoRevision]:
    on_path = TodoRevision.objects.filter(conversation__in=keys, turn__on_path=True).order_by()
    latest = on_path.values("conversation").annotate(latest=Max("pk")).values("latest")
    return TodoRevision.objects.filter(pk__in=latest)


class Tagging:
    """Adds a tag, except to conversations with the maximum number."""

    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        Tag.lock_owner(occasion.owner_id)
        tag = Tag.of(occasion.owner_id, occasion.word)
        added: Before = {}
        for batch in _batches(keys):
            rows = Conversation.objects.filter(owner=occasion.owner_id, pk__in=batch)
            with_room = (
                rows.exclude(tags=tag)
                .annotate(number=Count("tags"))
                .filter(number__lt=MAX_TAGS_OF_CONVERSATION)
            )
            keys_to_tag = list(with_room.order_by().values_list("pk", flat=True))
            _links.bulk_create([_Link(conversation_id=key, tag=tag) for key in keys_to_tag])
            added |= {key.hex: None for key in keys_to_tag}
        Tag.delete_unused(occasion.owner_id)  # if all of them had the maximum
        return added

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        return _untag([uuid.UUID(key) for key in before], occasion)


class Untagging:
    def do(self, keys: Sequence[Key], occasion: Occasion) -> Before:
        had: Before = {}
        Tag.lock_owner(occasion.owner_id)
        tag = Tag.named(occasion.owner_id, occasion.word)
        for batch in _batches(keys):
            tagged = _links.filter(tag=tag, conversation__owner=occasion.owner_id, conversation__in=batch)
            had |= {key.hex: None for key in tagged.values_list("conversation", flat=True)}
        _untag(keys, occasion)
        return had

    def undo(self, before: Mapping[str, Any], occasion: Occasion) -> int:
        return len(Tagging().do([uuid.UUID(key) for key in before], occasion))


def _untag(keys: Sequence[Key], occasion: Occasion) -> int:
    Tag.lock_owner(occasion.owner_id)
    tag = Tag.named(occasion.owner_id, occasion.word)
    kept = Conversation.objects.filter(owner=occasion.owner_id)
    gone = 0
    for batch in _batches(keys):
        gone += _links.filter(tag=tag, conversation__in=kept.filter(pk__in=batch).values("pk")).delete()[0]
    Tag.delete_unused(occasion.owner_id)
    return gone


def _batches(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    return (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.datetime) else value


UNDO_TIME = datetime.timedelta(minutes=10)
NOTICE_TIME = datetime.timedelta(minutes=1)  # for which the list offers to undo what is not a deletion
MOST_OFFERED = 20


@dataclass(frozen=True)
class Undone:
    """Counts of restored conversations, and of those that have changed since and stay as they are."""

    restored: int
    left: int


class BulkAct(models.Model):
    """What was done to which conversations, with their former values by key. Can be undone once."""

    class Kind(models.TextChoices):
        ARCHIVE = "archive", _("Archive")
        BRING_BACK = "bring_back", _("Unarchive")
        PIN = "pin", _("Pin")
        UNPIN = "unpin", _("Unpin")
        TAG = "tag", _("Tag")
        UNTAG = "untag", _("Untag")
        DISMISS = "dismiss", _("Dismiss")
        DELETE = "delete", _("Delete")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bulk_acts")
    kind = models.CharField(max_length=20, choices=Kind)
    word = models.CharField(max_length=MAX_LENGTH, blank=True)
    before: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    count = models.PositiveIntegerField()
    at = models.DateTimeField(db_index=True)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("bulk action")
        verbose_name_plural = _("bulk actions")
        ordering = ["at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    kind__in=["archive", "bring_back", "pin", "unpin", "tag", "untag", "dismiss", "delete"]
                ),
                name="bulk_act_kind_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.count}"

    @cached_property
    def title(self) -> str:
        """Of the only conversation, also if it is deleted; "" if there are several, or if it is gone."""
        return self._titles_of([self]).get(self.pk, "")

    @classmethod
    def _titles_of(cls, acts: Sequence[BulkAct]) -> dict[uuid.UUID, str]:
        """The title for the key of each action on one conversation that is still there."""
        alone = cls.objects.filter(pk__in=[act.pk for act in acts if act.count == 1])
        keys = {pk: uuid.UUID(next(iter(before))) for pk, before in alone.values_list("pk", "before")}
        rows = Conversation.with_deleted.filter(pk__in=keys.values()).values_list("pk", "title")
        titles: dict[uuid.UUID, str] = dict(rows)
        return {pk: titles[key] for pk, key in keys.items() if key in titles}

    @classmethod
    def carry_out(cls, owner: User, kind: str, keys: Iterable[uuid.UUID], word: str = "") -> BulkAct:
        """Apply and record the action. Raises TagRefused for an invalid word, ValueError for the kind."""
        kind = cls.Kind(kind)
        occasion = Occasion(owner.pk, timezone.now(), normalised(word))
        with transaction.atomic():
            before = KINDS[kind].do(sorted(set(keys)), occasion)
            return cls.objects.create(
                owner=owner,
                kind=kind,
                word=occasion.word[:MAX_LENGTH],
                before=before,
                count=len(before),
                at=occasion.at,
            )

    @classmethod
    def offered_to(cls, user: User) -> list[BulkAct]:
        """The latest action that changed anything, for a minute, and the deletions that can be undone.

        The newest is first. Another action is not offered again because a later one was undone.
        """
        latest = cls._of(user).filter(count__gt=0).order_by("-at").values("pk")[:1]
        is_latest = Q(pk__in=latest, at__gt=timezone.now() - NOTICE_TIME)
        offered = cls._open(user).filter(Q(kind=cls.Kind.DELETE) | is_latest, count__gt=0)
        acts = list(offered.defer("before").order_by("-at")[:MOST_OFFERED])
        titles = cls._titles_of(acts)
        for act in acts:
            act.title = titles.get(act.pk, "")
        return acts

    @classmethod
    def that_deleted(cls, conversation: Conversation) -> BulkAct | None:
        """The action that deleted it, if that can still be undone."""
        if conversation.deleted_at is None:
            return None
        deletions = cls._open(conversation.owner).filter(kind=cls.Kind.DELETE)
        return deletions.filter(at=conversation.deleted_at).first()

    @classmethod
    def _open(cls, user: User) -> models.QuerySet[BulkAct]:
        return cls._of(user).filter(undone_at=None)

    @classmethod
    def _of(cls, user: User) -> models.QuerySet[BulkAct]:
        return cls.objects.filter(owner=user.pk, at__gt=timezone.now() - UNDO_TIME)

    @classmethod
    def forget_old(cls) -> None:
        cls.objects.filter(at__lte=timezone.now() - UNDO_TIME).delete()

    @property
    def until(self) -> datetime.datetime:
        return self.at + UNDO_TIME

    def undo(self, user: User) -> Undone | None:
        """Restore what has not changed since; None if it was undone before or the time is over."""
        with transaction.atomic():
            if not self._open(user).filter(pk=self.pk).update(undone_at=timezone.now()):
                return None
            restored = KINDS[self.kind].undo(self.before, Occasion(self.owner_id, self.at, self.word))
        return Undone(restored, self.count - restored)


KINDS: dict[str, BulkKind] = {
    BulkAct.Kind.ARCHIVE: Assignment("archived_at", Q(archived_at__isnull=True), lambda at: at),
    BulkAct.Kind.BRING_BACK: Assignment("archived_at", Q(archived_at__isnull=False), lambda _at: None),
    BulkAct.Kind.PIN: Assignment("pinned", Q(pinned=False), lambda _at: True),
    BulkAct.Kind.UNPIN: Assignment("pinned", Q(pinned=True), lambda _at: False),
    BulkAct.Kind.TAG: Tagging(),
    BulkAct.Kind.UNTAG: Untagging(),
    BulkAct.Kind.DISMISS: Dismissal("todos_left", Q(todos_left__gt=0), lambda _at: 0),
    BulkAct.Kind.DELETE: Assignment("deleted_at", Q(deleted_at__isnull=True), lambda at: at),
}
