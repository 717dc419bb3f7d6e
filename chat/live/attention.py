"""How many of a person's conversations work, wait for an answer, or have ended unseen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, CharField, Count, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from chat.models import Conversation, Turn

UNSEEN = "unseen"  # what ended unseen is counted under, beside the states of turns


@dataclass(frozen=True)
class Attention:
    """The counts, and a number that tells one set of unseen conversations from another of the same size.

    Those that wait for an answer are among those at work.
    """

    running: int = 0
    waiting: int = 0
    unseen: int = 0
    which: int = 0

    @property
    def version(self) -> str:
        """Differs where any of the counts does."""
        return f"{self.running}.{self.waiting}.{self.unseen}.{self.which}"

    @property
    def wanted(self) -> int:
        """How many conversations want the person to come."""
        return self.waiting + self.unseen


def attention_of(owners: Iterable[int]) -> dict[int, Attention]:
    """What wants the attention of each of these people, in one query."""
    owners = set(owners)
    number = BigIntegerField()
    works = active_of(owners).order_by().values_list("owner", "status")
    unseen = Conversation.objects.unseen().filter(owner__in=owners).order_by().values_list("owner")
    counted = works.annotate(count=Count("pk"), which=Value(0, number)).union(
        unseen.annotate(
            status=Value(UNSEEN, CharField()),
            count=Count("pk"),
            which=Sum("unseen_turn_id", output_field=number),
        ),
        all=True,
    )
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    which = dict.fromkeys(owners, 0)
    for owner, status, count, key in counted:
        counts[owner][status] = count
        which[owner] += key
    return {owner: _of(counts[owner], which[owner]) for owner in owners}


def active_of(owners: Iterable[int]) -> QuerySet[Any]:
    """The turns of these people that have not ended, with their `owner`."""
    # Found by their state, of which there are few; by the owner, SQLite would look at all that they ever had.
    active = Turn.objects.filter(status__in=Turn.ACTIVE, conversation__deleted_at__isnull=True)
    return active.annotate(owner=Coalesce("conversation__owner_id", 0)).filter(owner__in=owners)


def _of(counts: Counter[str], which: int) -> Attention:
    unseen = counts.pop(UNSEEN, 0)
    return Attention(counts.total(), counts[Turn.Status.WAITING], unseen, which)
