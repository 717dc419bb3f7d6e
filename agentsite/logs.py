"""How the log is written: lines for a person or JSON for a machine, each with the turn that it is about."""

from __future__ import annotations

import datetime
import json
import logging
import re
import sys
from typing import Any

from django.core.exceptions import RequestAborted

# What opens something for whoever knows the address.
SECRET = re.compile(r"(?<=/shared/)[^/\s]+|(?<=/sign-in/)[^/\s]+")


class Subject(logging.Filter):
    """Adds the ids of conversation and turn to what is logged within a turn; lets everything pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mark the record."""
        # The log is set up before the models can be loaded; until then nothing is about a turn.
        about = sys.modules.get("chat.turns.log_context")
        record.subject = about.subject() if about else {}
        return True


class ClientFaults(logging.Filter):
    """Bounds what a client can write to the log: one line at WARNING for a bad request, with no traceback.

    A client that left is not logged at all: Django forgets the task that noticed, which complains.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; changes it where the client was at fault."""
        if record.exc_info and isinstance(record.exc_info[1], RequestAborted):
            return False
        if 400 <= getattr(record, "status_code", 0) < 500:
            record.exc_info = record.exc_text = None
            if record.levelno > logging.WARNING:
                record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


class PlainLines(logging.Formatter):
    """`2026-01-31 12:00:00,000 WARNING chat.turns.pool: what happened [turn=7]`."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line, with the ids at its end."""
        ids = " ".join(f"{name}={value}" for name, value in _subject(record).items())
        return SECRET.sub("…", super().formatMessage(record)) + (f" [{ids}]" if ids else "")


class JsonLines(logging.Formatter):
    """One JSON object a line: time (UTC, ISO 8601), level, logger, message; conversation, turn, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        told: dict[str, Any] = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": SECRET.sub("…", record.getMessage()),
            **_subject(record),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


def _subject(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, "subject", {})


def logging_settings(style: str) -> dict[str, Any]:
    """Django's LOGGING for a style, `plain` or `json`: everything to standard error."""
    formatter = {"plain": PlainLines, "json": JsonLines}[style]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"client_faults": {"()": ClientFaults}, "subject": {"()": Subject}},
        "formatters": {style: {"()": formatter}},
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": style,
                "filters": ["client_faults", "subject"],
            }
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": {
            "chat": {"level": "INFO"},
            "daphne": {"level": "WARNING"},
            "django": {"handlers": [], "level": "WARNING"},  # its own handler would say everything again
        },
    }
