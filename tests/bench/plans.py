"""What the page of plans' figures costs: `python -m tests.bench.plans [--conversations N] [--json FILE]`.

Makes a database of its own with so many conversations of one reader's, each with ten revisions of its list,
and as many of nineteen others; counts their plans, and asks for the pages as a browser does. Prints
milliseconds, the median of several tries.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.usage import Figures, _set_up, _timed

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from chat.models import Turn

POLICIES = ("focused", "lean", "checklist")
DAYS, PEOPLE, TURNS, WRITES, ITEMS = 90, 20, 2, 5, 6


def main() -> None:
    """Measure, print and write."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--conversations", type=int, default=2000, help="the reader's; others have as many")
    reader.add_argument("--json", type=Path, help="the file that the figures are written to")
    given = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _set_up(folder)
        figures = {
            "load of the machine at the beginning": os.getloadavg()[0],
            **_measure(given.conversations),
        }
    sys.stdout.writelines(f"{name:52} {value:9.1f}\n" for name, value in figures.items())
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


def _measure(conversations: int) -> Figures:
    from django.test import Client

    from chat.models import Conversation, PlanCount, PlanFigures, TodoRevision
    from chat.plan.figures import count, count_behind

    reader = _filled(conversations)
    began = time.perf_counter()
    sys.stderr.write("filled\n")
    count_behind(Conversation.objects.all(), 2 * conversations)
    all_counted = time.perf_counter() - began
    browser = Client(headers={"host": "localhost"})
    browser.force_login(reader)

    def page(query: str) -> Callable[[], object]:
        return lambda: browser.get(f"/settings/plans/{query}").content

    long = Conversation.objects.filter(owner=reader).latest("created_at")

    def again() -> None:
        PlanCount.objects.filter(conversation=long).delete()
        count(long.pk)

    return {
        "conversations": Conversation.objects.count(),
        "revisions": TodoRevision.objects.count(),
        "rows of figures": PlanFigures.objects.count(),
        "counting all of them, s": all_counted,
        **_timed("counting one conversation", again),
        **_timed("own plans, 30 days, by policy", page("?days=30")),
        **_timed("own plans, 90 days, by profile", page("?days=90&by=profile")),
        **_timed("everybody's plans, 90 days, by policy", page("?days=90&who=everybody")),
        **_timed("own plans as a file, 90 days", lambda: browser.get("/settings/plans/plans.csv").getvalue()),
    }


def _filled(conversations: int) -> User:
    """The reader, of the staff, after all those conversations."""
    from django.contrib.auth.models import User
    from django.db import transaction

    people = [User.objects.create_user(f"person-{number}", is_staff=not number) for number in range(PEOPLE)]
    chance = random.Random(7)
    with transaction.atomic():
        for _number in range(conversations):
            _converse(people[0], chance)
            _converse(chance.choice(people[1:]), chance)
    return people[0]


def _converse(owner: User, chance: random.Random) -> None:
    """A conversation of two turns, on a day of its own."""
    from django.utils import timezone

    from chat.models import Conversation

    conversation = Conversation.objects.create(owner=owner, title="Bench")
    policy = chance.choice(POLICIES)
    then = {
        "title": f"Profile {chance.randrange(8)}",
        "todo_policy": policy,
        "language": "en",
        "max_todos": 20,
    }
    began = timezone.now() - timedelta(days=chance.randrange(DAYS))
    for number in range(TURNS):
        turn = conversation.turns.create(
            client_id=uuid.uuid4(), status="completed", profile_then=then, started_at=began
        )
        _write(turn, began, number * WRITES)
        began += timedelta(minutes=10)
        turn.ended_at = began
        turn.save(update_fields=["ended_at"])


def _write(turn: Turn, began: datetime, done: int) -> None:
    """Five lists, each a little further than the one before, and a file read ahead of each."""
    from chat.models import Step, TodoRevision, ToolCall

    usage = {"input_tokens": 9000, "output_tokens": 300}
    steps = Step.objects.bulk_create(
        Step(turn=turn, number=number + 1, reminder="" if number % 7 else "Update", **usage)
        for number in range(2 * WRITES)
    )
    calls = ToolCall.objects.bulk_create(_call(turn, number, step) for number, step in enumerate(steps))
    revisions = TodoRevision.objects.bulk_create(
        TodoRevision(
            conversation=turn.conversation, turn=turn, tool_call=call, policy="focused",
            items=_items(str(turn.conversation_id), (done + number) // 2),
        )
        for number, call in enumerate(calls[1::2])
    )  # fmt: skip
    for number, revision in enumerate(revisions):
        revision.created_at = began + timedelta(minutes=number)
    TodoRevision.objects.bulk_update(revisions, ["created_at"])


def _call(turn: Turn, number: int, step: Any) -> Any:
    from chat.models import ToolCall

    name = "TodoWrite" if number % 2 else "read_file"
    text = json.dumps({"items": [{"content": "Look at it", "status": "pending"}] * ITEMS})
    return ToolCall(
        turn=turn, step=step, index=0, name=name, status="succeeded", arguments=text, output="x" * 2000
    )


def _items(of: str, done: int) -> list[dict[str, str]]:
    def status(number: int) -> str:
        return "completed" if number < done else "in_progress" if number == done else "pending"

    return [
        {"id": f"{of[:6]}{number}", "content": f"Look at part {number}", "status": status(number),
         "active_form": "Looking", "key": ""}
        for number in range(ITEMS)
    ]  # fmt: skip


if __name__ == "__main__":
    main()
