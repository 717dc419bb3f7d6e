"""Turns: a user's message, and everything that the agent does to answer it."""

from __future__ import annotations

import datetime
import functools
import operator
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.db.models import Case, Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.profile import differences, restore_profile, snapshot_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from chat.models.follow_up import Attachment
    from chat.models.message import Message
    from chat.models.profile import Profile
    from chat.models.step import Summary
    from chat.models.tool_call import ToolCall

LEASE = datetime.timedelta(seconds=8)
TURNS_IN_A_STATEMENT = 100  # SQLite limits the depth of expressions to 1000


class LeaseLost(Exception):  # noqa: N818 (an outcome, not a fault)
    """The turn no longer belongs to this worker, which must not write to it any more."""


class Turn(models.Model):
    """A job in the database: queued, claimed by one worker under a lease, ended exactly once.

    A turn that waits for the user has no worker and no slot; the decision queues it. `fence` is a fencing
    token: it grows with every claim, and writes under an older one have no effect.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        WAITING = "waiting", _("Waiting")
        COMPLETED = "completed", _("Completed")
        STOPPED = "stopped", _("Stopped")
        FAILED = "failed", _("Failed")
        INTERRUPTED = "interrupted", _("Interrupted")

    ACTIVE = [Status.QUEUED, Status.RUNNING, Status.WAITING]
    LEASED = [Status.RUNNING]  # a worker has a lease on it

    conversation = models.ForeignKey("chat.Conversation", on_delete=models.CASCADE, related_name="turns")
    follows = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="followed_by", verbose_name=_("follows")
    )
    # The turn before it in the conversation. Turns with the same one are versions of each other: they answer
    # the same or an edited message. One version is `chosen`; the turns `on_path` are those that are chosen
    # from the first on, which is what the conversation shows and goes on from. A path's keys ascend.
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="children")
    chosen = models.BooleanField(default=True)
    on_path = models.BooleanField(default=True)
    client_id = models.UUIDField(unique=True)
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.QUEUED)
    status_message = models.TextField(_("what happened"), blank=True)
    # Whether its model cannot see pictures that the conversation contains.
    vision_unsupported = models.BooleanField(default=False)
    profile_snapshot = models.JSONField(_("profile at the time"), default=dict, blank=True)
    stop_requested_at = models.DateTimeField(null=True)
    worker = models.CharField(max_length=100, blank=True)
    fence = models.PositiveIntegerField(default=0)
    # How many frames its worker had sent at its last write: a page with fewer has missed some.
    frame = models.PositiveIntegerField(default=0)
    # By the worker's clock, which others cannot rely on; they only check whether it changes.
    lease_until = models.DateTimeField(null=True)
    crash_count = models.PositiveSmallIntegerField(default=0)
    # When rows last became final that are not indexed yet; cleared when a worker has indexed them.
    unindexed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    started_at = models.DateTimeField(_("started at"), null=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    renewed_at = 0.0  # when this process last renewed the lease, by its monotonic clock
    earlier_profile: dict[str, Any] | None = None  # the previous turn's snapshot, set by `claim`
    versions: Versions | None = None  # set by `find_versions`
    kept_list: Any = None  # the items of its last revision that kept edits, and its key, if annotated
    kept_list_pk: int | None = None

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(status__in=["queued", "running", "waiting"]),
                name="turn_one_active",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=[
                        "queued",
                        "running",
                        "waiting",
                        "completed",
                        "stopped",
                        "failed",
                        "interrupted",
                    ]
                ),
                name="turn_status_known",
            ),
            models.CheckConstraint(
                condition=Q(chosen=True) | Q(on_path=False), name="turn_on_path_is_chosen"
            ),
        ]
        indexes = [
            models.Index(fields=["status", "id"], name="turn_by_status"),
            models.Index(fields=["id"], condition=Q(unindexed_at__isnull=False), name="turn_unindexed"),
        ]

    def __str__(self) -> str:
        return f"turn {self.pk} ({self.status})"

    @classmethod
    def claim(cls, by: str, pk: int | None = None) -> Turn | None:
        """Claim a queued turn, or turn `pk`, for worker `by`. Only one of several callers gets it.

        Turns of the user with the fewest running turns go first, then the oldest. With several users on the
        site, none gets more than MAX_TURNS_PER_USER slots of a worker.
        """
        candidates = cls.objects.filter(status=cls.Status.QUEUED, conversation__deleted_at__isnull=True)
        candidates = candidates.filter(pk=pk) if pk else candidates.filter(_within_share(by))
        agent = ("conversation__profile__connection", "conversation__model__connection")
        candidates = candidates.select_related(*agent, "conversation__owner__chat_preferences")
        queued = candidates.annotate(load=_turns_held_by_owner(), earlier_profile=_earlier_profile())
        while (turn := queued.order_by("load", "pk").first()) is not None:
            if turn._try_claim(by):
                return turn
        return None

    def _try_claim(self, by: str) -> bool:
        """Claim the turn as it was read, with the profile snapshot; False if another worker was faster."""
        now = timezone.now()
        changes = {
            "status": self.Status.RUNNING,
            "worker": by,
            "fence": self.fence + 1,
            "frame": 0,
            "lease_until": now + LEASE,
            "started_at": self.started_at or now,
            "profile_snapshot": self.profile_snapshot
            or self._take_profile_snapshot(self.conversation.profile_in_use()),
        }
        queued = Turn.objects.filter(pk=self.pk, fence=self.fence, status=self.Status.QUEUED)
        if not queued.update(**changes):
            return False
        self.renewed_at = time.monotonic()
        for name, value in changes.items():
            setattr(self, name, value)
        return True

    def use_profile(self, profile: Profile) -> None:
        """Have this profile answer the turn, which has not started, whatever the conversation uses."""
        earlier = Turn.objects.filter(pk=self.pk).values_list(_earlier_profile())
        self.earlier_profile = earlier.get()[0]
        instead_of = self.conversation.choice_of_profile
        snapshot = self._take_profile_snapshot(profile)
        self.profile_snapshot = {**snapshot, "override": True, "instead_of": instead_of}
        self.save(update_fields=["profile_snapshot"])

    def _take_profile_snapshot(self, profile: Profile) -> dict[str, Any]:
        """The profile, since which turn it is unchanged, and what changed from the turn before."""
        snapshot, earlier = snapshot_of(profile), self.earlier_profile
        changed = differences(earlier, snapshot) if earlier else []
        since = earlier["since"] if earlier and not changed else self.pk
        return {**snapshot, "since": since, "changed": changed}

    @cached_property
    def profile(self) -> Profile:
        """The profile from the snapshot, under rules that have become stricter since."""
        return restore_profile(self.profile_snapshot, self.conversation)

    @property
    def profile_of_its_own(self) -> Profile | None:
        """The profile that answered this turn alone, see `use_profile`; None if it cannot be used."""
        own = self._own_profile
        return None if own is None or own.is_lost else own

    @property
    def _own_profile(self) -> Profile | None:
        then = self.profile_snapshot
        return self.profile if then.get("override") and then["id"] > 0 else None

    @property
    def profile_to_continue_with(self) -> Profile | None:
        """Its own, unless another was chosen for the conversation since; None for the conversation's.

        Also where its model is gone, which the turn then says: the conversation's may allow more.
        """
        chosen = self.conversation.choice_of_profile
        return self._own_profile if self.profile_snapshot.get("instead_of", chosen) == chosen else None

    def update_leased(self, **changes: Any) -> None:
        """Renew the lease and set columns; raises LeaseLost."""
        leased = Turn.objects.filter(pk=self.pk, fence=self.fence, status__in=self.LEASED)
        if not leased.update(lease_until=timezone.now() + LEASE, frame=self.frame, **changes):
            raise LeaseLost(f"{self} was taken from {self.worker}")
        self.renewed_at = time.monotonic()
        for name, value in changes.items():
            setattr(self, name, value)

    @classmethod
    def renew_leases(cls, turns: Iterable[Turn]) -> None:
        """Renew several leases in few statements; leases that were lost stay lost."""
        renewed = list(turns)
        for start in range(0, len(renewed), TURNS_IN_A_STATEMENT):
            batch = renewed[start : start + TURNS_IN_A_STATEMENT]
            leased = cls.objects.filter(
                functools.reduce(operator.or_, (Q(pk=turn.pk, fence=turn.fence) for turn in batch)),
                status__in=cls.LEASED,
            )
            number = models.PositiveIntegerField()
            known = (When(pk=turn.pk, then=Value(turn.frame, number)) for turn in batch)
            frames = Case(*known, default=F("frame"), output_field=number)
            leased.update(lease_until=timezone.now() + LEASE, frame=frames)

    def end(self, status: Status, message: str = "") -> Turn | None:
        """Set the final status once, in the caller's transaction; returns the next turn. Raises LeaseLost."""
        now = timezone.now()
        self.update_leased(status=status, status_message=message, ended_at=now, unindexed_at=now)
        return self.start_next(status)

    def start_next(self, status: Status) -> Turn | None:
        """Mark the end unseen; held messages start the next turn, except after a failure or interruption."""
        if status in self.ACTIVE or not self.conversation.mark_unseen(self):
            return None
        if status in (self.Status.COMPLETED, self.Status.STOPPED) or self.stop_is_requested():
            return self.conversation.start_held()
        return None

    def stop_is_requested(self) -> bool:
        """Whether the user requested the stop, and has thereby decided about held messages."""
        return Turn.objects.filter(pk=self.pk, stop_requested_at__isnull=False).exists()

    def request_stop(self) -> bool:
        """Request a stop. Returns True if no worker holds the turn, so that it has stopped already."""
        now = timezone.now()
        with transaction.atomic():
            active = Turn.objects.filter(pk=self.pk, status__in=self.ACTIVE)
            active.update(stop_requested_at=now)
            unheld = Turn.objects.filter(pk=self.pk, status__in=[self.Status.QUEUED, self.Status.WAITING])
            stopped = bool(unheld.update(status=self.Status.STOPPED, ended_at=now, unindexed_at=now))
            if stopped:
                self.close_rows(running="stopped")
                self.start_next(self.Status.STOPPED)
        return stopped

    def wait(self) -> None:
        """Leave the turn waiting for the user's decision, without a worker; raises LeaseLost."""
        changes = {"worker": "", "fence": self.fence + 1, "unindexed_at": timezone.now()}
        self.update_leased(status=self.Status.WAITING, **changes)

    def resume(self) -> None:
        """Queue the turn, in the transaction that records the decision."""
        waiting = Turn.objects.filter(pk=self.pk, status=self.Status.WAITING)
        waiting.update(status=self.Status.QUEUED, fence=F("fence") + 1)

    def release(self) -> None:
        """Queue the turn for another worker; raises LeaseLost."""
        self.close_rows(running="unknown", is_final=False)
        changes = {"worker": "", "fence": self.fence + 1, "unindexed_at": timezone.now()}
        self.update_leased(status=self.Status.QUEUED, **changes)

    def close_rows(self, running: str, *, is_final: bool = True) -> None:
        """Close every open row: running calls get status `running`, others are stopped, messages are cut off.

        Unless `is_final`, a step that asked the user keeps its open calls, so that the user is not asked
        again. The caller changes the turn's status and `unindexed_at`.
        """
        now = timezone.now()
        self.tool_calls.filter(status="running").update(status=running, ended_at=now)
        never_run = self.tool_calls.filter(status__in=["pending", "waiting"])
        if not is_final:
            asked_about = self.tool_calls.filter(asked_at__isnull=False).values_list("step", flat=True)
            never_run = never_run.exclude(step__in=list(asked_about))
        never_run.update(status="stopped", ended_at=now)
        self.messages.filter(complete=False).update(complete=True, cut_off=True)

    @property
    def agent_name(self) -> str:
        return str(self.profile_snapshot.get("name") or self.profile_snapshot.get("title") or _("Agent"))

    @property
    def ahead(self) -> int:
        return Turn.objects.filter(status=self.Status.QUEUED, pk__lt=self.pk).count()

    @property
    def silent_since(self) -> datetime.datetime | None:
        steps = list(self.steps.all())
        return (steps[-1].ended_at or steps[-1].started_at) if steps else None

    @property
    def waits_for_share(self) -> bool:
        return share_is_used(self.conversation.owner_id)

    @property
    def is_active(self) -> bool:
        return self.status in self.ACTIVE

    @property
    def continue_id(self) -> uuid.UUID:
        """The `client_id` of the turn on the open items after it, so that a repeated click starts one."""
        return uuid.uuid5(self.client_id, "continue")

    @property
    def retry_id(self) -> uuid.UUID:
        """The `client_id` of the turn that goes on with it or answers it again; see `continue_id`."""
        return uuid.uuid5(self.client_id, "retry")

    @property
    def is_held(self) -> bool:
        return self.status in self.LEASED

    @property
    def can_be_retried(self) -> bool:
        """Whether the agent can go on: not after a user's stop, but after one that a limit made."""
        if self.status == self.Status.STOPPED:
            return bool(self.status_message)
        return self.status in (self.Status.FAILED, self.Status.INTERRUPTED)

    @property
    def did_nothing(self) -> bool:
        """Whether it failed before any tool call or list of the agent's, so that a retry can ask again."""
        failed = self.status == self.Status.FAILED
        return failed and not self.tool_calls.all() and not self.revisions.filter(author="agent").exists()

    @property
    def user_text(self) -> str:
        return next(message.text for message in self.messages.all() if message.step_id is None)

    @property
    def said(self) -> str:
        """The user's message and the follow-ups that joined it, as one text."""
        return "\n\n".join(message.text for message in self.messages.all() if message.role == "user")

    @property
    def attachments(self) -> list[Attachment]:
        """The files that came with what was said."""
        return [each for message in self.messages.all() for each in message.attachments.all()]

    def rows(self) -> list[Message | ToolCall | Summary]:
        rows: list[Message | ToolCall | Summary] = [
            *self.messages.all(),
            *self.tool_calls.all(),
            *self.summaries.all(),
        ]
        return sorted(rows, key=lambda row: row.sort_key)

    @classmethod
    def with_rows(cls) -> QuerySet[Turn]:
        """Turns with everything needed to render them, in a fixed number of queries."""
        return cls._with_kept_list().prefetch_related(*map(_prefetch, RENDERED))

    @classmethod
    def _with_kept_list(cls) -> QuerySet[Turn]:
        """Turns with their conversation, and the list and key of the last revision that kept edits."""
        revision: Any = cls.revisions.rel.related_model
        kept = revision.objects.filter(turn=OuterRef("pk"), kept=True).order_by("-pk")
        items, key = (Subquery(kept.values(column)[:1]) for column in ("items", "pk"))
        turns: Any = cls.objects.select_related("conversation")
        annotated: QuerySet[Turn] = turns.annotate(kept_list=items, kept_list_pk=key)
        return annotated

    @classmethod
    def whole(cls, pk: int) -> Turn | None:
        """One turn like `with_rows`, without queries for empty relations; None if it was deleted."""
        has = {name: cls.objects.filter(pk=OuterRef("pk"), **{f"{name}__isnull": False}) for name in RENDERED}
        turns = cls._with_kept_list().filter(pk=pk)
        flags = {_flag(name): Exists(rows) for name, rows in has.items()}
        turn: Turn | None = turns.annotate(**flags).first()
        if turn:
            prefetches = [_prefetch(name, none=not getattr(turn, _flag(name))) for name in RENDERED]
            models.prefetch_related_objects([turn], *prefetches)
            cls.find_versions([turn])
        return turn

    @classmethod
    def find_versions(cls, turns: Sequence[Turn]) -> None:
        """Set `versions` of these turns of one conversation, in one query, or none if it has no branches."""
        if not turns or not turns[0].conversation.path_version:
            return
        conversation = turns[0].conversation_id
        same = Q(parent__in=[turn.parent_id for turn in turns if turn.parent_id])
        if any(turn.parent_id is None for turn in turns):
            same |= Q(parent=None)
        versions = defaultdict[int | None, list[int]](list)
        for parent, key in cls.objects.filter(same, conversation=conversation).values_list("parent", "pk"):
            versions[parent].append(key)
        for turn in turns:
            keys = versions[turn.parent_id]
            if len(keys) > 1 and turn.pk in keys:
                turn.versions = Versions(keys, keys.index(turn.pk))


@dataclass(frozen=True)
class Versions:
    """The keys of a turn's versions, itself included, and its index among them."""

    keys: Sequence[int]
    index: int

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def previous(self) -> int | None:
        return self.keys[self.index - 1] if self.index else None

    @property
    def next(self) -> int | None:
        return self.keys[self.number] if self.number < len(self.keys) else None


# The relations needed to render a turn, and their joins, as SQLite takes no more than a thousand keys.
RENDERED: dict[str, tuple[str, ...]] = {
    "messages": ("step",),
    "messages__attachments": (),
    "tool_calls": ("step", "revision"),
    "summaries": (),
    "steps": (),
    "side_calls": (),
}


def _prefetch(name: str, *, none: bool = False) -> Prefetch[Any]:
    model: Any = Turn
    for part in name.split("__"):
        model = getattr(model, part).rel.related_model
    rows = model._default_manager.none() if none else model._default_manager.all()
    return Prefetch(name, rows.select_related(*RENDERED[name]) if RENDERED[name] else rows)


def _flag(name: str) -> str:
    return f"has_{name.replace('__', '_')}"


def _earlier_profile() -> Subquery:
    before = Turn.objects.filter(conversation=OuterRef("conversation"), pk__lt=OuterRef("pk"), on_path=True)
    return Subquery(before.exclude(profile_snapshot={}).order_by("-pk").values("profile_snapshot")[:1])


def share_is_used(owner_id: int) -> bool:
    """Whether the user has MAX_TURNS_PER_USER turns on one worker, and is not the site's only user."""
    running = Turn.objects.filter(status__in=Turn.LEASED, conversation__owner=owner_id).order_by()
    by_worker = running.values("worker").annotate(count=Count("pk"))
    return by_worker.filter(count__gte=settings.MAX_TURNS_PER_USER).exists() and _others(owner_id).exists()


def _within_share(worker: str) -> Q:
    has_slot = LessThan(_turns_held_by_owner(worker=worker), settings.MAX_TURNS_PER_USER)
    return Q(has_slot) | ~Q(Exists(_others(OuterRef("conversation__owner"))))


def _others(owner: OuterRef | int) -> QuerySet[User]:
    return get_user_model()._default_manager.filter(is_active=True).exclude(pk=owner)


def _turns_held_by_owner(**where: str) -> Coalesce:
    owners = Turn.objects.filter(
        status__in=Turn.LEASED, conversation__owner=OuterRef("conversation__owner"), **where
    ).order_by()
    counted = owners.values("conversation__owner").annotate(count=Count("pk"))
    return Coalesce(Subquery(counted.values("count")), 0)
