"""The cost of searching and listing among many conversations: `python -m bench.search [--json FILE]`.

Creates 10,000 conversations of 20 messages in a new database (SQLite, or the empty one in --database),
indexes them as a site that starts with them does, and requests pages as a browser does. Prints milliseconds:
median, 95th percentile, and median CPU time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from chat.models import Message, Step

Figures = dict[str, float]
TRIES = 20
MESSAGES = 20  # per conversation
SYLLABLES = [
    "re",
    "con",
    "ta",
    "lo",
    "mi",
    "ser",
    "ver",
    "pre",
    "or",
    "der",
    "stat",
    "us",
    "in",
    "dex",
    "er",
    "al",
]
SEARCHES = {
    "a word of three conversations": "zyzzyva",
    "a word of every message": "common",
    "the beginning of many words": "con",
    "a word of two letters": "in",
    "three common words": "common status order",
    "a phrase": '"common beginning"',
    "Chinese, common": "问题",
    "Chinese, a sentence's part": "重构订单模块",
    "Chinese, one character": "订",
    "an identifier": "read_file",
    "Latin in Chinese": "模块read_file",
    "nothing": "qqqqqq",
    "common, completed, has a plan": "common&status=completed&todos=some",
    "common, its last page": "common&page=9999",
}
LISTS = {
    "the list": "",
    "the list, a page in the middle": "?page=100",
    "the list, its last page": "?page=9999",
    "the list, completed": "?status=completed",
    "the list, of a week": "?from=2026-01-01&to=2026-01-07",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--pages", action="store_true", help="a few pages alone, and no writing")
    parser.add_argument("--database", default="", help="an empty database's DATABASE_URL")
    parser.add_argument("--json", type=Path, help="the file that the figures are written to")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        _set_up(folder, arguments.database)
        figures = {
            "load of the machine at the beginning": os.getloadavg()[0],
            **_measure(arguments.conversations, pages=arguments.pages),
        }
    sys.stdout.writelines(f"{name:60} {value:10.1f}\n" for name, value in figures.items())
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def _set_up(folder: str, database: str) -> None:
    os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings", "DEBUG": "true"}
    os.environ.pop("DATABASE_URL", None)
    if database:
        os.environ["DATABASE_URL"] = database
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.DEBUG = False  # in debug mode every query is kept
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    call_command("migrate", verbosity=0, interactive=False)


def _measure(conversations: int, *, pages: bool) -> Figures:
    from django.db import connection
    from django.test import Client

    from chat.search.index import catch_up

    viewer = _fill(conversations)
    browser = Client(headers={"host": "localhost"})
    browser.force_login(viewer)

    def page(query: str) -> Callable[[], object]:
        return lambda: browser.get(f"/conversations/{query}")

    figures = {"conversations": float(conversations), "bytes of the database, MB": _database_size()}
    started = time.perf_counter()
    while catch_up(10):
        pass
    figures["indexing them all, s"] = time.perf_counter() - started
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    figures["bytes of the database when indexed, MB"] = _database_size()
    for name, query in list(SEARCHES.items())[: 2 if pages else None]:
        figures |= _timed(f"search: {name}", page(f"?q={query}"))
    for name, query in list(LISTS.items())[: 1 if pages else None]:
        figures |= _timed(name, page(query))
    figures["the list, KB"] = len(browser.get("/conversations/").content) / 1024
    figures["a page of results, KB"] = len(browser.get("/conversations/?q=common").content) / 1024
    return figures if pages else {**figures, **_cost_of_writing(viewer)}


def _cost_of_writing(viewer: User) -> Figures:
    """The cost of the index for a step that wrote 2 KB of text and called a tool with 4 KB of output."""
    from django.utils import timezone

    from chat.models import Conversation, Turn
    from chat.search.index import index_turn, marked_turns

    conversation = Conversation.begin(viewer, "What does it cost?", uuid.uuid4(), None)
    turn, words = conversation.turns.get(), _Words(random.Random(1))
    figures: Figures = {}

    def index() -> None:
        Turn.objects.filter(pk=turn.pk).update(unindexed_at=timezone.now())
        index_turn(*marked_turns())

    for name, size in {"small": 20, "with 6 KB of text": 300}.items():

        def write(size: int = size) -> None:
            step = turn.steps.create(number=turn.steps.count() + 1)
            step.messages.create(turn=turn, role="assistant", text=words.text(size))
            call = {"name": "read_file", "arguments": '{"path": "a.py"}', "output": words.text(2 * size)}
            step.tool_calls.create(step=step, turn=turn, index=0, status="succeeded", **call)

        without_index = _timed(f"writing a step, {name}", write)

        def write_and_index() -> None:
            write()
            index()

        index()
        figures |= without_index | _timed(f"writing and indexing a step, {name}", write_and_index)
    return figures


def _timed(name: str, work: Callable[[], object], tries: int = TRIES) -> Figures:
    work()
    elapsed, cpu = [], []
    for _try in range(tries):
        started, cpu_started = time.perf_counter(), time.thread_time()
        work()
        elapsed.append((time.perf_counter() - started) * 1000)
        cpu.append((time.thread_time() - cpu_started) * 1000)
    return {
        f"{name}, p50 ms": statistics.median(elapsed),
        f"{name}, p95 ms": statistics.quantiles(elapsed, n=20)[-1],
        f"{name}, p50 ms of CPU": statistics.median(cpu),
    }


def _database_size() -> float:
    from django.db import connection

    query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    if connection.vendor == "postgresql":
        query = "SELECT pg_database_size(current_database())"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return float(cursor.fetchone()[0]) / 2**20


class _Words:
    """Random texts with a natural distribution: few frequent words, many rare ones."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        candidates = [
            "".join(parts) for size in (1, 2, 3, 4) for parts in itertools.product(SYLLABLES, repeat=size)
        ]
        self.latin = rng.sample(candidates, 20_000)
        self.weights = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(self.latin))))
        self.chinese = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]
        self.chinese_weights = list(itertools.accumulate(1 / (rank + 20) for rank in range(3000)))

    def text(self, words: int) -> str:
        return " ".join(self.rng.choices(self.latin, cum_weights=self.weights, k=words))

    def characters(self, count: int) -> str:
        return "".join(self.rng.choices(self.chinese, cum_weights=self.chinese_weights, k=count))


def _fill(conversations: int) -> User:
    from django.contrib.auth.models import User

    viewer = User.objects.create_user("reader")
    words = _Words(random.Random(7))
    for start in range(0, conversations, 500):
        _add_conversations(viewer, range(start, min(start + 500, conversations)), words)
    return viewer


def _add_conversations(viewer: User, numbers: range, words: _Words) -> None:
    from django.db import transaction
    from django.utils import timezone

    from chat.models import Conversation, Message, Step, TodoRevision, Turn

    now = timezone.now()
    with transaction.atomic():
        conversations = Conversation.objects.bulk_create(
            Conversation(owner=viewer, title=words.text(5), updated_at=now - timedelta(minutes=number))
            for number in numbers
        )
        turns = Turn.objects.bulk_create(
            Turn(conversation=conversation, client_id=uuid.uuid4(), status="completed")
            for conversation in conversations
            for _turn in range(MESSAGES // 2)
        )
        steps = Step.objects.bulk_create(Step(turn=turn, number=1) for turn in turns)
        Message.objects.bulk_create(_messages(steps, numbers, words))
        TodoRevision.objects.bulk_create(
            TodoRevision(conversation=conversation, turn=turn, policy="focused", items=_items(words))
            for conversation, turn in zip(conversations[::2], turns[::MESSAGES], strict=True)
        )


def _messages(steps: list[Step], numbers: range, words: _Words) -> Iterator[Message]:
    from chat.models import Message

    for index, step in enumerate(steps):
        number = numbers.start + index // (MESSAGES // 2)
        rare = " zyzzyva" if number % 3500 == 0 and index % 10 == 0 else ""
        more = f"请重构订单模块read_file的问题，{words.characters(60)}。" if number % 10 == 0 else ""
        yield Message(turn=step.turn, role="user", text=f"A common beginning. {words.text(20)}{rare}")
        text = f"A common answer with status and order: {words.text(60)}. {more or words.characters(20)}问题"
        yield Message(turn=step.turn, step=step, role="assistant", text=text)


def _items(words: _Words) -> list[dict[str, str]]:
    return [
        {"id": f"i{n}", "content": words.text(6), "status": "completed", "active_form": "", "key": ""}
        for n in range(5)
    ]


if __name__ == "__main__":
    main()
