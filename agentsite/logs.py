"""Logging: plain lines or JSON, with the ids of the conversation and turn."""

from __future__ import annotations

import datetime
import json
import logging
import re
import sys
from typing import Any

from django.core.exceptions import RequestAborted

# URLs that grant access are redacted.
SECRET_PATH = re.compile(r"(?<=/shared/)[^/\s]+|(?<=/sign-in/)[^/\s]+")


class Subject(logging.Filter):
    """Adds the ids of the current conversation and turn to each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        # Logging is configured before models can be imported; until then there is no turn.
        module = sys.modules.get("chat.turns.log_context")
        record.subject = module.log_context() if module else {}
        return True


class ClientFaults(logging.Filter):
    """Bounds what a client can write to the log: a bad request is one line at WARNING, without traceback.

    A disconnected client is not logged at all; Django abandons the task that noticed it, which would log an
    exception.
    """

    def filter(self, record: logging.LogRecord) -> bool:
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
        ids = " ".join(f"{name}={value}" for name, value in _subject(record).items())
        return SECRET_PATH.sub("…", super().formatMessage(record)) + (f" [{ids}]" if ids else "")


class JsonLines(logging.Formatter):
    """One JSON object per line: time (UTC, ISO 8601), level, logger, message, ids, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        values: dict[str, Any] = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": SECRET_PATH.sub("…", record.getMessage()),
            **_subject(record),
        }
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return json.dumps(values, ensure_ascii=False, default=str)


def _subject(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, "subject", {})


def logging_settings(style: str) -> dict[str, Any]:
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
            "django": {"handlers": [], "level": "WARNING"},  # its own handler would log everything twice
        },
    }
