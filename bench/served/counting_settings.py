"""The site's settings, and counts of what it asks of its database; for the benchmark alone.

The process answers on a Unix socket in the folder that BENCH_COUNTS names, `<pid>.sock`: a connection is sent
the counts so far as JSON. Statements are counted as Django sees them; `transactions` are the BEGIN, COMMIT,
ROLLBACK and savepoint statements among `statements`. With BENCH_WHERE=1 each statement is noted with the
line of the project that it came from.
"""

import json
import os
import socket
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from django.db.backends.signals import connection_created

from agentsite.settings import *  # noqa: F403

FOLDER = Path(os.environ["BENCH_COUNTS"])
WHERE = os.environ.get("BENCH_WHERE") == "1"
MARKS = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")

lock = threading.Lock()
counts = {"statements": 0, "transactions": 0, "connections": 0}
texts: Counter[str] = Counter()


def note(sql: str) -> None:
    """Count a statement."""
    is_mark = sql.startswith(MARKS)
    text = sql.split(maxsplit=1)[0] if is_mark else sql
    if WHERE:
        text = f"{origin()}  {text}"
    with lock:
        counts["statements"] += 1
        counts["transactions"] += is_mark
        texts[text] += 1


def origin() -> str:
    """The innermost line of the project's own code that is being run, and the two that called it."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(found) < 3:
        name = frame.f_code.co_filename
        if "/chat/" in name or "/agentsite/" in name:
            found.append(f"{Path(name).stem}.{frame.f_code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(found)


def execute(run: Any, sql: str, *more: Any) -> Any:
    """Django's hook around each statement."""
    note(sql)
    return run(sql, *more)


def watch(connection: Any, **_: Any) -> None:
    """Count what a new connection does; Django keeps its wrapper from one connection to the next."""
    with lock:
        counts["connections"] += 1
    if execute in connection.execute_wrappers:
        return
    connection.execute_wrappers.append(execute)
    for name in ("_commit", "_rollback"):
        setattr(connection, name, noted(name[1:].upper(), getattr(connection, name)))


def noted(name: str, method: Any) -> Any:
    """The method, counted."""

    def call() -> Any:
        note(name)
        return method()

    return call


def tell(listening: socket.socket) -> None:
    """Send the counts to each that connects."""
    while True:
        asker, _address = listening.accept()
        with lock:
            told = json.dumps({**counts, "texts": dict(texts)})
        with asker:
            asker.sendall(told.encode())


def listen() -> None:
    """Answer on this process's socket, in a thread of its own."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(FOLDER / f"{os.getpid()}.sock"))
    listening.listen()
    threading.Thread(target=tell, args=(listening,), daemon=True).start()


connection_created.connect(watch, weak=False)
listen()
