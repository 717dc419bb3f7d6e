"""Counts of a user's conversations that run, wait for an answer, or have ended unseen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import BigIntegerField, CharField, Count, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from chat.models import Conversation, Turn

UNSEEN = "unseen"  # the key for unseen conversations, beside the turns' statuses


@dataclass(frozen=True)
class Attention:
    """The counts; `running` includes the waiting ones.

    `unseen_key` distinguishes sets of unseen conversations of the same size.
    """

    running: int = 0
    waiting: int = 0
    unseen: int = 0
    unseen_key: int = 0

    @property
    def version(self) -> str:
        return f"{self.running}.{self.waiting}.{self.unseen}.{self.unseen_key}"

    @property
    def badge_count(self) -> int:
        return self.waiting + self.unseen

    def without(self, turn_id: int) -> Attention:
        """The counts without the unseen conversation that this turn is of."""
        unseen, unseen_key = max(0, self.unseen - 1), self.unseen_key - turn_id
        return replace(self, unseen=unseen, unseen_key=unseen_key if unseen else 0)


def attention_of(owners: Iterable[int]) -> dict[int, Attention]:
    """The counts for each of these users, in one query."""
    owners = set(owners)
    number = BigIntegerField()
    active = active_of(owners).order_by().values_list("owner", "status")
    unseen = Conversation.objects.current().unseen().filter(owner__in=owners).order_by().values_list("owner")
    rows = active.annotate(count=Count("pk"), unseen_key=Value(0, number)).union(
        unseen.annotate(
            status=Value(UNSEEN, CharField()),
            count=Count("pk"),
            unseen_key=Sum("unseen_turn_id", output_field=number),
        ),
        all=True,
    )
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    unseen_key = dict.fromkeys(owners, 0)
    for owner, status, count, key in rows:
        counts[owner][status] = count
        unseen_key[owner] += key
    return {owner: _of(counts[owner], unseen_key[owner]) for owner in owners}


def active_of(owners: Iterable[int]) -> QuerySet[Any]:
    # Few turns are active; SQLite would read all of an owner's turns if it filtered by owner.
    active = Turn.objects.filter(status__in=Turn.ACTIVE, conversation__deleted_at__isnull=True)
    return active.annotate(owner=Coalesce("conversation__owner_id", 0)).filter(owner__in=owners)


def _of(counts: Counter[str], unseen_key: int) -> Attention:
    unseen = counts.pop(UNSEEN, 0)
    return Attention(counts.total(), counts[Turn.Status.WAITING], unseen, unseen_key)
