"""Turns: one message of the person, and all that the agent does to answer it."""

from __future__ import annotations

import datetime
import functools
import operator
import time
from collections.abc import Iterable
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

from chat.models.profile import differences, recorded, restore_profile

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from chat.models.message import Message
    from chat.models.profile import Profile
    from chat.models.step import Summary
    from chat.models.tool_call import ToolCall

LEASE = datetime.timedelta(seconds=8)
TURNS_IN_A_STATEMENT = 100  # SQLite takes no expression of a thousand


class LeaseLost(Exception):  # noqa: N818 (a state that a worker finds itself in)
    """The turn is no longer this worker's, so nothing more of it may be written."""


class Turn(models.Model):
    """A job in the database: queued, claimed by one worker under a lease, ended exactly once.

    One that waits for a person's decision is nobody's and takes nobody's place; the decision queues it.

    `fence` grows with every claim; a writer names the one that it was given, and an older one writes nothing.
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
    HELD = [Status.RUNNING]  # by a worker, under a lease

    conversation = models.ForeignKey("chat.Conversation", on_delete=models.CASCADE, related_name="turns")
    follows = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="followed_by", verbose_name=_("follows")
    )
    client_id = models.UUIDField(unique=True)
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.QUEUED)
    status_message = models.TextField(_("what happened"), blank=True)
    # Whether it was asked of a model that cannot see the pictures that were to go to it.
    vision_unsupported = models.BooleanField(default=False)
    profile_snapshot = models.JSONField(_("profile at the time"), default=dict, blank=True)
    stop_requested_at = models.DateTimeField(null=True)
    worker = models.CharField(max_length=100, blank=True)
    fence = models.PositiveIntegerField(default=0)
    # How many frames its worker had sent when it last wrote here: a page with fewer has missed some.
    frame = models.PositiveIntegerField(default=0)
    # By the clock of the worker, which others cannot rely on: they only look whether it changes.
    lease_until = models.DateTimeField(null=True)
    deaths = models.PositiveSmallIntegerField(default=0)
    # When rows of it last became final that are not indexed yet: a worker indexes them, and empties it again.
    unindexed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    started_at = models.DateTimeField(_("started at"), null=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    renewed_at = 0.0  # by this process's monotonic clock: when it last renewed the lease
    earlier_profile: dict[str, Any] | None = None  # of the turn before, where it was read

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
        ]
        indexes = [
            models.Index(fields=["status", "id"], name="turn_by_status"),
            models.Index(fields=["id"], condition=Q(unindexed_at__isnull=False), name="turn_unindexed"),
        ]

    def __str__(self) -> str:
        return f"turn {self.pk} ({self.status})"

    @classmethod
    def claim(cls, by: str, pk: int | None = None) -> Turn | None:
        """Take a waiting turn, or turn `pk`, for worker `by`. Of many who try one gets it, the rest None.

        The user with the fewest running turns comes first, then the turn that waits longest. On a site with
        several users, none gets more than MAX_TURNS_PER_USER of a worker's places.
        """
        waiting = cls.objects.filter(status=cls.Status.QUEUED, conversation__deleted_at__isnull=True)
        waiting = waiting.filter(pk=pk) if pk else waiting.filter(_within_share(by))
        waiting = waiting.select_related("conversation__profile__connection", "conversation__owner")
        told = waiting.annotate(load=_turns_held_by_owner(), earlier_profile=_earlier_profile())
        while (turn := told.order_by("load", "pk").first()) is not None:
            if turn._take(by):
                return turn
        return None

    def _take(self, by: str) -> bool:
        """Claim the turn as it was read, and note its profile; False if another worker was faster."""
        now = timezone.now()
        changes = {
            "status": self.Status.RUNNING,
            "worker": by,
            "fence": self.fence + 1,
            "frame": 0,
            "lease_until": now + LEASE,
            "started_at": self.started_at or now,
            "profile_snapshot": self.profile_snapshot or self._profile_now(),
        }
        queued = Turn.objects.filter(pk=self.pk, fence=self.fence, status=self.Status.QUEUED)
        if not queued.update(**changes):
            return False
        self.renewed_at = time.monotonic()
        for name, value in changes.items():
            setattr(self, name, value)
        return True

    def _profile_now(self) -> dict[str, Any]:
        """With which profile the turn begins, since which turn, and what the turn before had otherwise."""
        then, earlier = recorded(self.conversation.profile_in_use()), self.earlier_profile
        changed = differences(earlier, then) if earlier else []
        since = earlier["since"] if earlier and not changed else self.pk
        return {**then, "since": since, "changed": changed}

    @cached_property
    def profile(self) -> Profile:
        """The profile that it works with: as it was when it began, under rules made stricter since."""
        return restore_profile(self.profile_snapshot, self.conversation)

    def update_held(self, **changes: Any) -> None:
        """Renew the lease, with further changes of the row; raises LeaseLost when it is not ours any more."""
        held = Turn.objects.filter(pk=self.pk, fence=self.fence, status__in=self.HELD)
        if not held.update(lease_until=timezone.now() + LEASE, frame=self.frame, **changes):
            raise LeaseLost(f"{self} was taken from {self.worker}")
        self.renewed_at = time.monotonic()
        for name, value in changes.items():
            setattr(self, name, value)

    @classmethod
    def renew_leases(cls, turns: Iterable[Turn]) -> None:
        """Renew the leases of several turns in few statements, except of those that were taken away."""
        renewed = list(turns)
        for start in range(0, len(renewed), TURNS_IN_A_STATEMENT):
            some = renewed[start : start + TURNS_IN_A_STATEMENT]
            held = cls.objects.filter(
                functools.reduce(operator.or_, (Q(pk=turn.pk, fence=turn.fence) for turn in some)),
                status__in=cls.HELD,
            )
            number = models.PositiveIntegerField()
            known = (When(pk=turn.pk, then=Value(turn.frame, number)) for turn in some)
            frames = Case(*known, default=F("frame"), output_field=number)
            held.update(lease_until=timezone.now() + LEASE, frame=frames)

    def end(self, status: Status, sentence: str = "") -> Turn | None:
        """Claim the terminal state, once, in the caller's transaction; raises LeaseLost when it is claimed
        already or not ours.

        Gives the next turn, which messages that were held have started.
        """
        now = timezone.now()
        self.update_held(status=status, status_message=sentence, ended_at=now, unindexed_at=now)
        return self.start_next(status)

    def start_next(self, status: Status) -> Turn | None:
        """Its end is unseen until the owner looks. Let held messages start the next turn; after one that came
        to nothing the person decides.
        """
        if status in self.ACTIVE or not self.conversation.mark_unseen(self):
            return None
        if status in (self.Status.COMPLETED, self.Status.STOPPED) or self.is_to_stop():
            return self.conversation.start_held()
        return None

    def is_to_stop(self) -> bool:
        """Whether the person had asked for its end, and thereby decided what becomes of what is held."""
        return Turn.objects.filter(pk=self.pk, stop_requested_at__isnull=False).exists()

    def request_stop(self) -> bool:
        """Ask for the turn to stop, whoever works on it. True if nobody did, so that it is stopped now."""
        now = timezone.now()
        with transaction.atomic():
            active = Turn.objects.filter(pk=self.pk, status__in=self.ACTIVE)
            active.update(stop_requested_at=now)
            nobodys = Turn.objects.filter(pk=self.pk, status__in=[self.Status.QUEUED, self.Status.WAITING])
            stopped = bool(nobodys.update(status=self.Status.STOPPED, ended_at=now, unindexed_at=now))
            if stopped:
                self.close_rows(running="stopped")
                self.start_next(self.Status.STOPPED)
        return stopped

    def wait(self) -> None:
        """Leave the turn to a person's decision, held by nobody; raises LeaseLost when it is not ours."""
        changes = {"worker": "", "fence": self.fence + 1, "unindexed_at": timezone.now()}
        self.update_held(status=self.Status.WAITING, **changes)

    def resume(self) -> None:
        """Queue the turn, in the transaction in which what it waited for was decided."""
        waiting = Turn.objects.filter(pk=self.pk, status=self.Status.WAITING)
        waiting.update(status=self.Status.QUEUED, fence=F("fence") + 1)

    def release(self) -> None:
        """Give the turn back, for another worker to take up again; raises LeaseLost when it is not ours."""
        self.close_rows(running="unknown", for_good=False)
        changes = {"worker": "", "fence": self.fence + 1, "unindexed_at": timezone.now()}
        self.update_held(status=self.Status.QUEUED, **changes)

    def close_rows(self, running: str, *, for_good: bool = True) -> None:
        """Give every open row an end: calls that were running become `running`, the rest were never run.

        A text that was being written is cut off. Unless it is for good, a step about which the person was
        asked keeps its open calls: an answer that was given is not asked for twice. The caller changes the
        turn's status, and `unindexed_at` with it.
        """
        now = timezone.now()
        self.tool_calls.filter(status="running").update(status=running, ended_at=now)
        never_run = self.tool_calls.filter(status__in=["pending", "waiting"])
        if not for_good:
            asked_about = self.tool_calls.filter(asked_at__isnull=False).values_list("step", flat=True)
            never_run = never_run.exclude(step__in=list(asked_about))
        never_run.update(status="stopped", ended_at=now)
        self.messages.filter(complete=False).update(complete=True, cut_off=True)

    def replaced_by_retry(self) -> int | None:
        """The turn that a retry of this one follows: the one before, if this one failed and did nothing.

        After an interruption the retry only says to go on, so what was asked must stay in view.
        """
        kept = self.status != self.Status.FAILED or self.tool_calls.exists()
        return self.pk if kept else self.follows_id

    @property
    def agent_name(self) -> str:
        """What a person calls who answers it: the agent's name, or the profile's title."""
        return str(self.profile_snapshot.get("name") or self.profile_snapshot.get("title") or _("Agent"))

    @property
    def ahead(self) -> int:
        """How many turns were waiting before this one."""
        return Turn.objects.filter(status=self.Status.QUEUED, pk__lt=self.pk).count()

    @property
    def silent_since(self) -> datetime.datetime | None:
        """When its latest step began, or ended if it has; None ahead of the first."""
        steps = list(self.steps.all())
        return (steps[-1].ended_at or steps[-1].started_at) if steps else None

    @property
    def waits_for_share(self) -> bool:
        """Whether other turns of the same user take all places that one user gets."""
        return share_is_used(self.conversation.owner_id)

    @property
    def is_active(self) -> bool:
        """Whether the turn has not ended."""
        return self.status in self.ACTIVE

    @property
    def is_held(self) -> bool:
        """Whether a worker is at it."""
        return self.status in self.HELD

    @property
    def can_be_retried(self) -> bool:
        """Whether its message may be sent again as it is."""
        return self.status in (self.Status.FAILED, self.Status.INTERRUPTED)

    @property
    def user_text(self) -> str:
        """What the person wrote to begin it."""
        return next(message.text for message in self.messages.all() if message.step_id is None)

    def rows(self) -> list[Message | ToolCall | Summary]:
        """Its messages, tool calls and summaries in the order in which they came."""
        rows: list[Message | ToolCall | Summary] = [
            *self.messages.all(),
            *self.tool_calls.all(),
            *self.summaries.all(),
        ]
        return sorted(rows, key=lambda row: row.place)

    @classmethod
    def with_rows(cls) -> QuerySet[Turn]:
        """Turns with everything that drawing them needs, in a fixed number of queries."""
        return cls.objects.select_related("conversation").prefetch_related(*map(_prefetch, DRAWN))

    @classmethod
    def whole(cls, pk: int) -> Turn | None:
        """One turn in the same way, without a query for what it has none of; None if it is gone."""
        has = {name: cls.objects.filter(pk=OuterRef("pk"), **{f"{name}__isnull": False}) for name in DRAWN}
        found = cls.objects.select_related("conversation").filter(pk=pk)
        flags = {_flag(name): Exists(rows) for name, rows in has.items()}
        turn: Turn | None = found.annotate(**flags).first()
        if turn:
            wanted = [_prefetch(name, none=not getattr(turn, _flag(name))) for name in DRAWN]
            models.prefetch_related_objects([turn], *wanted)
        return turn


# The rows that a turn is drawn with, and what is joined to them: SQLite takes no more than a thousand keys.
DRAWN: dict[str, tuple[str, ...]] = {
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
    return Prefetch(name, rows.select_related(*DRAWN[name]) if DRAWN[name] else rows)


def _flag(name: str) -> str:
    return f"has_{name.replace('__', '_')}"


def _earlier_profile() -> Subquery:
    """The profile that the turn before one began with."""
    before = Turn.objects.filter(conversation=OuterRef("conversation"), pk__lt=OuterRef("pk"))
    return Subquery(before.exclude(profile_snapshot={}).order_by("-pk").values("profile_snapshot")[:1])


def share_is_used(owner_id: int) -> bool:
    """Whether the user has MAX_TURNS_PER_USER turns running on a worker, and is not the site's only user."""
    running = Turn.objects.filter(status__in=Turn.HELD, conversation__owner=owner_id).order_by()
    by_worker = running.values("worker").annotate(count=Count("pk"))
    return by_worker.filter(count__gte=settings.MAX_TURNS_PER_USER).exists() and _others(owner_id).exists()


def _within_share(worker: str) -> Q:
    """Whether the queued turn's user may have one more of this worker's places."""
    has_place = LessThan(_turns_held_by_owner(worker=worker), settings.MAX_TURNS_PER_USER)
    return Q(has_place) | ~Q(Exists(_others(OuterRef("conversation__owner"))))


def _others(owner: OuterRef | int) -> QuerySet[User]:
    """The site's other users."""
    return get_user_model()._default_manager.filter(is_active=True).exclude(pk=owner)


def _turns_held_by_owner(**where: str) -> Coalesce:
    """How many turns of the same owner are running."""
    owners = Turn.objects.filter(
        status__in=Turn.HELD, conversation__owner=OuterRef("conversation__owner"), **where
    ).order_by()
    counted = owners.values("conversation__owner").annotate(count=Count("pk"))
    return Coalesce(Subquery(counted.values("count")), 0)
