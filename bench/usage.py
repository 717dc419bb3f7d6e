"""The cost of the usage page: `python -m bench.usage [--steps N] [--json FILE]`.

Creates a database with this many steps of twenty users in ninety days, half of them the viewer's, and
requests the pages as a browser does. Prints milliseconds, the median of several tries.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Figures = dict[str, float]
Days = dict[tuple[object, ...], Counter[str]]  # by owner, day, model, profile and currency
MODELS = [f"model-{number}" for number in range(12)]
PROFILES = [f"Profile {number}" for number in range(8)]
DAYS, PEOPLE, TRIES = 90, 20, 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000, help="calls of models")
    parser.add_argument("--json", type=Path, help="the file that the figures are written to")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _set_up(folder)
        figures = {"load of the machine at the beginning": os.getloadavg()[0], **_measure(arguments.steps)}
    sys.stdout.writelines(f"{name:52} {value:9.1f}\n" for name, value in figures.items())
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def _set_up(folder: str) -> None:
    os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings", "DEBUG": "true"}
    os.environ.pop("DATABASE_URL", None)
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)


def _measure(steps: int) -> Figures:
    from django.test import Client

    from chat.live.context_meter import context_meter_of
    from chat.models import Conversation, DailyUsage, Step

    viewer = _fill(steps)
    browser = Client(headers={"host": "localhost"})
    browser.force_login(viewer)

    def page(query: str) -> Callable[[], object]:
        return lambda: browser.get(f"/settings/usage/{query}").content

    longest = Conversation.objects.get(title="The longest")
    return {
        "steps": Step.objects.count(),
        "rows of daily usage": DailyUsage.objects.count(),
        **_timed("own usage, 30 days, by model", page("?days=30")),
        **_timed("own usage, 90 days, by profile", page("?days=90&by=profile")),
        **_timed("everybody's usage, 90 days, by person", page("?days=90&who=everybody&by=person")),
        **_timed("own usage as a file, 90 days", lambda: browser.get("/settings/usage/usage.csv").getvalue()),
        **_timed("context meter of 1,000 steps", lambda: context_meter_of(longest)),
    }


def _timed(name: str, work: Callable[[], object]) -> Figures:
    elapsed, cpu = [], []
    for _try in range(TRIES):
        started, cpu_started = time.perf_counter(), time.thread_time()
        work()
        elapsed.append((time.perf_counter() - started) * 1000)
        cpu.append((time.thread_time() - cpu_started) * 1000)
    return {f"{name}, ms": statistics.median(elapsed), f"{name}, ms of CPU": statistics.median(cpu)}


def _fill(steps: int) -> User:
    from django.contrib.auth.models import User

    from chat.models import DailyUsage

    users = [User.objects.create_user(f"person-{number}", is_staff=not number) for number in range(PEOPLE)]
    rng = random.Random(7)
    days: Days = {}
    for number in range(0, steps, 1000):
        owner = users[0] if number % 2000 == 0 else rng.choice(users)
        title = "The longest" if number == 0 else "Another"
        _add_conversation(owner, min(1000, steps - number), rng, title, days)
    names = ("owner_id", "day", "model", "profile", "currency")
    DailyUsage.objects.bulk_create(
        DailyUsage(**dict(zip(names, key, strict=True)), **sums) for key, sums in days.items()
    )
    return users[0]


def _add_conversation(owner: User, steps: int, rng: random.Random, title: str, days: Days) -> None:
    from django.utils import timezone

    from chat.models import Conversation, Step

    conversation = Conversation.objects.create(owner=owner, title=title)
    turn = conversation.turns.create(client_id=uuid.uuid4(), status="completed")
    rows, today = [], timezone.localdate()
    for number in range(steps):
        model, currency = rng.choice(MODELS), rng.choice(["USD", "EUR", ""])
        counts = {"input_tokens": rng.randrange(50_000), "output_tokens": rng.randrange(2000)}
        rows.append(Step(turn=turn, number=number, model=model, cost="0.0123", currency="USD", **counts))
        day = today - timedelta(days=rng.randrange(DAYS))
        sums = days.setdefault((owner.pk, day, model, rng.choice(PROFILES), currency), Counter())
        sums.update({"calls": 1, **counts})
    Step.objects.bulk_create(rows)


if __name__ == "__main__":
    main()
