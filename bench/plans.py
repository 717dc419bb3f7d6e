"""The cost of the plan statistics page: `python -m bench.plans [--conversations N] [--json FILE]`.

Creates a database with this many conversations of one viewer, each with ten revisions of its list, and as
many of nineteen others. Requests the pages as a browser does, and recounts one conversation. Prints
milliseconds, the median of several tries.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bench.usage import Figures, _set_up, _timed

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from chat.models import Step, TodoRevision, ToolCall, Turn

POLICIES = ("focused", "lean", "checklist")
DAYS, PEOPLE, TURNS, WRITES, ITEMS = 90, 20, 2, 5, 6
COUNTED = (
    "turns",
    "steps",
    "writes",
    "refused",
    "reminders",
    "lists",
    "finished",
    "items",
    "completed",
    "timed",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=2000, help="the reader's; others have as many")
    parser.add_argument("--json", type=Path, help="the file that the figures are written to")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _set_up(folder)
        figures = {
            "load of the machine at the beginning": os.getloadavg()[0],
            **_measure(arguments.conversations),
        }
    sys.stdout.writelines(f"{name:52} {value:9.1f}\n" for name, value in figures.items())
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def _measure(conversations: int) -> Figures:
    from django.test import Client

    from chat.models import Conversation, PlanCount, PlanFigures, TodoRevision
    from chat.plan.plan_stats import count

    viewer = _fill(conversations)
    latest = Conversation.objects.filter(owner=viewer).latest("created_at")
    browser = Client(headers={"host": "localhost"})
    browser.force_login(viewer)

    def page(query: str) -> Callable[[], object]:
        return lambda: browser.get(f"/settings/plans/{query}").content

    def recount() -> None:
        PlanCount.objects.filter(conversation=latest).delete()
        count(latest.pk)

    return {
        "conversations": Conversation.objects.count(),
        "revisions": TodoRevision.objects.count(),
        "rows of figures": PlanFigures.objects.count(),
        **_timed("counting a conversation of ten lists", recount),
        **_timed("own plans, 30 days, by policy", page("?days=30")),
        **_timed("own plans, 90 days, by profile", page("?days=90&by=profile")),
        **_timed("everybody's plans, 90 days, by policy", page("?days=90&who=everybody")),
        **_timed(
            "own plans as a file, 90 days",
            lambda: browser.get("/settings/plans/plans.csv?days=90").getvalue(),
        ),
    }


def _fill(conversations: int) -> User:
    from django.contrib.auth.models import User
    from django.db import transaction

    users = [User.objects.create_user(f"person-{number}", is_staff=not number) for number in range(PEOPLE)]
    rng = random.Random(7)
    with transaction.atomic():
        for owner in (users[0], *users[1:]):
            each = conversations if owner == users[0] else conversations // (PEOPLE - 1)
            _add_figures(_add_revisions(_add_conversations(owner, each, rng)), rng)
    return users[0]


def _add_conversations(owner: User, count: int, rng: random.Random) -> list[Turn]:
    from django.utils import timezone

    from chat.models import Conversation, Turn

    turns, now = [], timezone.now()
    rows = Conversation.objects.bulk_create(Conversation(owner=owner, title="Bench") for _ in range(count))
    for conversation in rows:
        policy, profile = rng.choice(POLICIES), f"Profile {rng.randrange(8)}"
        snapshot = {"title": profile, "todo_policy": policy, "language": "en", "max_todos": 20}
        started = now - timedelta(days=rng.randrange(DAYS))
        for number in range(TURNS):
            at = started + timedelta(minutes=10 * number)
            times = {"started_at": at, "ended_at": at + timedelta(minutes=10)}
            turns.append(
                Turn(
                    conversation=conversation,
                    client_id=uuid.uuid4(),
                    status="completed",
                    profile_snapshot=snapshot,
                    **times,
                )
            )
    return Turn.objects.bulk_create(turns)


def _add_revisions(turns: list[Turn]) -> list[TodoRevision]:
    from chat.models import Step, TodoRevision, ToolCall

    usage = {"input_tokens": 9000, "output_tokens": 300}
    steps = Step.objects.bulk_create(
        Step(turn=turn, number=number + 1, reminder="" if number % 7 else "Update", **usage)
        for turn in turns
        for number in range(2 * WRITES)
    )
    calls = ToolCall.objects.bulk_create(_call(step) for step in steps)
    return TodoRevision.objects.bulk_create(
        TodoRevision(
            conversation=call.turn.conversation,
            turn=call.turn,
            tool_call=call,
            policy=call.turn.profile_snapshot["todo_policy"],
            items=_items(str(call.turn.conversation_id), number % (TURNS * WRITES)),
        )
        for number, call in enumerate(calls[1::2])
    )


def _add_figures(revisions: list[TodoRevision], rng: random.Random) -> None:
    """Figures as counting would give, as far as they affect the page's cost."""
    from chat.models import PlanCount, PlanFigures
    from chat.models.plan_stats import VERSION

    last = revisions[TURNS * WRITES - 1 :: TURNS * WRITES]
    PlanCount.objects.bulk_create(
        PlanCount(conversation=each.conversation, turn=each.turn_id, revision=each.pk, version=VERSION)
        for each in last
    )
    PlanFigures.objects.bulk_create(
        PlanFigures(
            conversation=each.conversation,
            owner=each.conversation.owner,
            day=(each.turn.started_at or each.turn.created_at).date(),
            profile=each.turn.profile_snapshot["title"],
            policy=each.policy,
            seconds=[rng.expovariate(0.02) for _ in range(ITEMS)],
            reasons={"unknown_status": 1},
            **dict.fromkeys(COUNTED, 1),
        )
        for each in last
    )


def _call(step: Step) -> ToolCall:
    from chat.models import ToolCall

    name = "read_file" if step.number % 2 else "TodoWrite"
    text = json.dumps({"items": [{"content": "Look at it", "status": "pending"}] * ITEMS})
    return ToolCall(
        turn=step.turn, step=step, index=0, name=name, status="succeeded", arguments=text, output="x" * 2000
    )


def _items(key: str, number: int) -> list[dict[str, str]]:
    def item(index: int) -> dict[str, str]:
        done = number * ITEMS // (TURNS * WRITES - 1)
        status = "completed" if index < done else "in_progress" if index == done else "pending"
        words = {"content": f"Look at part {index}", "active_form": "Looking", "key": ""}
        return {"id": f"{key[:6]}{index}", "status": status, **words}

    return [item(index) for index in range(ITEMS)]


if __name__ == "__main__":
    main()
