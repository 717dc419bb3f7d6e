"""Metrics of this process for `/metrics`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.utils import InterfaceError, OperationalError
from prometheus_client import Counter, Gauge, Histogram

from chat.agent import Event, Reasoning, Reply, StepStarted, Text, ToolCallEnded, ToolCallStarted

SHORT_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
LONG_BUCKETS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)

queue_wait = Histogram(
    "agentsite_queue_wait_seconds", "From a turn's message to its first worker", buckets=SHORT_BUCKETS
)
first_token = Histogram(
    "agentsite_first_token_seconds", "From a request to the model to its first text", buckets=SHORT_BUCKETS
)
step_time = Histogram(
    "agentsite_step_seconds", "From a request to the model to the reply's end", buckets=LONG_BUCKETS
)
tool_time = Histogram("agentsite_tool_seconds", "From a tool call's start to its end", buckets=LONG_BUCKETS)

model_tokens = Counter(
    "agentsite_model_tokens", "Tokens that models took, cached ones among input", ["model", "kind"]
)

open_sockets = Gauge("agentsite_open_sockets", "Sockets of tabs that are open now")
frames = Counter("agentsite_frames", "Messages sent to groups of open tabs")
resyncs = Counter("agentsite_resyncs", "Resync requests of tabs, one at each connect included")
lease_losses = Counter("agentsite_lease_losses", "Turns that were taken from this worker")
database_errors = Counter("agentsite_database_errors", "Statements that failed because the database did")
layer_errors = Counter("agentsite_layer_errors", "Messages that the channel layer did not take in time")


class Stopwatch:
    """Times one turn's steps and tool calls by its events."""

    def __init__(self) -> None:
        self.step_began = 0.0
        self.awaits_text = False
        self.calls: dict[str, float] = {}

    def observe(self, event: Event) -> None:
        now = time.monotonic()
        match event:
            case StepStarted():
                self.step_began, self.awaits_text = now, True
            case Text() | Reasoning() if self.awaits_text:
                self.awaits_text = False
                first_token.observe(now - self.step_began)
            case Reply():
                step_time.observe(now - self.step_began)
            case ToolCallStarted(call):
                self.calls[call.id] = now
            case ToolCallEnded(call) if call.id in self.calls:
                tool_time.observe(now - self.calls.pop(call.id))


def count_database_errors() -> None:
    """Count failures on all connections of this process from now on."""
    connection_created.connect(_watch, dispatch_uid="measures")
    # Django has no signal for a connection that fails.
    connect = BaseDatabaseWrapper.ensure_connection
    if connect.__module__ != __name__:
        BaseDatabaseWrapper.ensure_connection = _counted(connect)  # type: ignore[method-assign, assignment]


def _counted(connect: Callable[[BaseDatabaseWrapper], None]) -> Callable[[BaseDatabaseWrapper], None]:
    def ensure_connection(connection: BaseDatabaseWrapper) -> None:
        try:
            connect(connection)
        except (OperationalError, InterfaceError):
            database_errors.inc()
            raise

    return ensure_connection


def _watch(connection: Any, **_signal: Any) -> None:
    if _counting not in connection.execute_wrappers:
        connection.execute_wrappers.append(_counting)


def _counting(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    try:
        return execute(sql, params, many, context)
    except (OperationalError, InterfaceError):
        database_errors.inc()
        raise
