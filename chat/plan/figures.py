"""What the plans of a conversation came to, counted from its rows. docs/plans.md defines each figure."""

from __future__ import annotations

import datetime
import uuid
from collections import defaultdict
from collections.abc import Container

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat.models import Conversation, PlanCount, PlanFigures, Turn
from chat.models.plan_count import VERSION
from chat.plan.history import Plan, plans_of
from chat.plan.outcome import outcome_of
from chat.plan.tally import Tally
from chat.plan.turn_tally import turn_tallies

Key = tuple[datetime.date, str, str]  # day, profile, policy


def count_behind(conversations: QuerySet[Conversation], most: int) -> int:
    """Count of those that are behind the ones that moved last, `most` of them; gives how many are left."""
    behind = list(PlanCount.behind(conversations).order_by("-updated_at").values_list("pk", flat=True))
    for pk in behind[:most]:
        count(pk)
    return len(behind[most:])


def count(conversation_id: uuid.UUID) -> None:
    """Write the conversation's figures anew, as its rows have them; nothing where none are behind.

    They are counted whole, so that whatever was missed before is put right. What comes while this reads
    leaves them behind again.
    """
    own = Conversation.objects.filter(pk=conversation_id)
    behind = PlanCount.behind(own).values_list("latest_turn", "latest_revision").first()
    conversation = own.first() if behind else None
    if behind is None or conversation is None:
        return
    rows = figures_of(conversation)  # outside the transaction: SQLite would let nobody else write meanwhile
    turn, revision = behind
    with transaction.atomic():
        # One at a time for a conversation; that also keeps it from being deleted meanwhile.
        if not own.select_for_update(no_key=True).first() or PlanCount.is_past(
            conversation_id, turn, revision
        ):
            return
        PlanFigures.objects.filter(conversation=conversation).delete()
        PlanFigures.objects.bulk_create(rows)
        reached = {"turn": turn, "revision": revision, "version": VERSION}
        PlanCount.objects.update_or_create(conversation_id=conversation_id, defaults=reached)


def figures_of(conversation: Conversation) -> list[PlanFigures]:
    """The figures up to the latest turn that has ended, unsaved. Reads the database."""
    turns = list(conversation.turns.exclude(status__in=Turn.ACTIVE).exclude(profile_then={}).order_by("pk"))
    ended = {turn.pk: turn for turn in turns}
    tallies = defaultdict[Key, Tally](Tally)
    for turn, tally in turn_tallies(conversation, turns):
        tallies[_key(turn)].add(tally)
    for plan in plans_of(conversation):
        if as_ended := _until_ended(plan, ended):
            tallies[_key(ended[as_ended.revisions[0].turn.pk])].add(outcome_of(as_ended))
    return [_row(conversation, key, tally) for key, tally in tallies.items()]


def _until_ended(plan: Plan, ended: Container[int]) -> Plan | None:
    """The plan without what belongs to a turn that goes on; None where it has had no item by then."""
    entries = [entry for entry in plan.entries if entry.turn.pk in ended]
    following = plan.followed_by if plan.followed_by and plan.followed_by.turn.pk in ended else None
    known = Plan(plan.number, entries, following)
    return known if any(revision.row.items for revision in known.revisions) else None


def _key(turn: Turn) -> Key:
    began = turn.started_at or turn.created_at
    then = turn.profile_then
    day = timezone.localdate(began, timezone=timezone.get_default_timezone())
    return day, then.get("title", ""), then.get("todo_policy", "")


def _row(conversation: Conversation, key: Key, tally: Tally) -> PlanFigures:
    day, profile, policy = key
    return PlanFigures(
        conversation=conversation,
        owner_id=conversation.owner_id,
        day=day,
        profile=profile,
        policy=policy,
        reasons=dict(tally.reasons),
        seconds=tally.seconds,
        **tally.counts,
    )
