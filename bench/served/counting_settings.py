"""The site's settings with counts of database statements, for benchmarks.

The process listens on a Unix socket, `<pid>.sock` in the folder BENCH_COUNTS, and sends the counts so far as
JSON to each connection. Statements are counted as Django sees them; `transactions` are the BEGIN, COMMIT,
ROLLBACK and savepoint statements among `statements`. With BENCH_WHERE=1 each statement is recorded with the
line of project code that ran it.
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
TRANSACTION_STATEMENTS = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")

lock = threading.Lock()
counts = {"statements": 0, "transactions": 0, "connections": 0}
texts: Counter[str] = Counter()


def count(sql: str) -> None:
    is_transaction = sql.startswith(TRANSACTION_STATEMENTS)
    text = sql.split(maxsplit=1)[0] if is_transaction else sql
    if WHERE:
        text = f"{origin()}  {text}"
    with lock:
        counts["statements"] += 1
        counts["transactions"] += is_transaction
        texts[text] += 1


def origin() -> str:
    lines: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(lines) < 3:
        name = frame.f_code.co_filename
        if "/chat/" in name or "/agentsite/" in name:
            lines.append(f"{Path(name).stem}.{frame.f_code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(lines)


def execute(run: Any, sql: str, *more: Any) -> Any:
    count(sql)
    return run(sql, *more)


def watch(connection: Any, **_: Any) -> None:
    with lock:
        counts["connections"] += 1
    if execute in connection.execute_wrappers:
        return
    connection.execute_wrappers.append(execute)
    for name in ("_commit", "_rollback"):
        setattr(connection, name, counted(name[1:].upper(), getattr(connection, name)))


def counted(name: str, method: Any) -> Any:
    def call() -> Any:
        count(name)
        return method()

    return call


def serve_counts(listening: socket.socket) -> None:
    while True:
        client, _address = listening.accept()
        with lock:
            data = json.dumps({**counts, "texts": dict(texts)})
        with client:
            client.sendall(data.encode())


def listen() -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(FOLDER / f"{os.getpid()}.sock"))
    listening.listen()
    threading.Thread(target=serve_counts, args=(listening,), daemon=True).start()


connection_created.connect(watch, weak=False)
listen()
