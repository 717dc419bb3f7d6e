"""Turns failures of requests to an endpoint into ModelErrors for the user."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from time import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from chat.agent.model.errors import ErrorReport
from chat.agent.model.http import MAX_RESPONSE, AddressRefusedError, CompressedError, OversizeError
from chat.agent.model.protocol import ModelError

# Seconds; a rate limit that asks for a longer wait is not retried (`Retry.max_delay` limits each wait).
MAX_WAIT = 180.0
# Seconds between two requests to a model that is loading.
LOADING = 3.0

_KINDS = {401: "key_refused", 403: "key_refused", 404: "not_found", 413: "overflow", 429: "rate_limited"}
_TEMPORARY = (408, 409, 425, 429)
_MIN_SECRET = 3  # characters; shorter ones occur in any text


class EndpointError(ModelError):
    def __init__(self, report: ErrorReport, kind: str, **values: Any) -> None:
        super().__init__(kind, **values)
        self.report = report


class Failures:
    def __init__(self, where: str, model: str, secrets: Iterable[str]) -> None:
        self.where = where
        self.model = model
        self.secrets = [secret for secret in secrets if len(secret) >= _MIN_SECRET]

    def error(self, kind: str, detail: str = "", **values: Any) -> ModelError:
        return ModelError(kind, where=self.where, detail=self.redacted(detail), model=self.model, **values)

    def read(self, error: ModelError) -> ModelError:
        """An error from reading the reply, with the endpoint; a reported one gets a kind by its text."""
        detail = str(error.values.get("detail", ""))
        values = {**error.values, "where": self.where, "detail": self.redacted(detail), "model": self.model}
        if error.kind != "reported":
            return ModelError(error.kind, retryable=error.retryable, **values)
        report = ErrorReport.of(200, detail)
        return EndpointError(report, report.kind or "reported", **values)

    def status(self, error: openai.APIStatusError) -> ModelError:
        status, headers = error.status_code, error.response.headers
        if error.response.has_redirect_location:
            return self.error("redirected", _redirect_target(headers["location"]), status=status)
        report = ErrorReport.of(status, error.body)
        wait = _wait(headers)
        temporary = status in _TEMPORARY or status >= 500
        kind = report.kind or _KINDS.get(status, "unavailable" if temporary else "refused")
        if kind == "loading":
            wait = LOADING if wait is None else wait
        if wait is not None and wait > MAX_WAIT and kind == "rate_limited":
            kind = "rate_limited_long"
        return EndpointError(
            report,
            kind,
            retryable=temporary and kind not in ("overflow", "no_tools", "no_credit", "rate_limited_long"),
            retry_after=wait,
            where=self.where,
            detail=self.redacted(report.detail),
            model=self.model,
            status=status,
            wait=round(wait or 0),
        )

    def connection(self, error: Exception) -> ModelError:
        cause = (error.__cause__ if isinstance(error, openai.APIConnectionError) else None) or error
        if isinstance(cause, CompressedError):
            return self.error("compressed")
        if any(isinstance(each, AddressRefusedError) for each in _causes(cause)):
            return self.error("address_refused")
        # An endpoint to which no connection comes about in time is unreachable.
        if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return self.error("timeout", retryable=True)
        return self.error("unreachable", _reason(cause), retryable=True)

    def broken(self, error: httpx2.TransportError) -> ModelError:
        if isinstance(error, OversizeError):
            return self.error("endless", maximum=MAX_RESPONSE)
        return self.error("cut", retryable=True)

    def redacted(self, text: str) -> str:
        """The text without secrets: some endpoints repeat the key that they refuse."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _reason(error: BaseException) -> str:
    """Why there is no connection, as the operating system says it: "Connection refused"."""
    for each in _causes(error):
        if number := re.search(r"\[Errno (\d+)\]", str(each)):  # of the first of several addresses
            return os.strerror(int(number[1]))
        if isinstance(each, socket.gaierror | ssl.SSLError):
            return each.strerror or str(each)
    return str(error) or type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = getattr(error, "os_error", None) or error.__cause__


def _redirect_target(location: str) -> str:
    parts = urlsplit(location)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else parts.path


def _wait(headers: httpx2.Headers) -> float | None:
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(r"\d{1,9}(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    if "retry-after" in headers:
        return _retry_after(headers["retry-after"])
    for which in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{which}") == "0":
            return _duration(headers.get(f"x-ratelimit-reset-{which}", ""))
    return None


def _retry_after(header: str) -> float | None:
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (TypeError, ValueError, OverflowError):
        return None


def _duration(text: str) -> float | None:
    """Seconds of a duration such as 1m2.5s, 20ms or 7."""
    if not re.fullmatch(r"(?:\d++(?:\.\d++)?(?:h|ms|m|s)?)++", text):
        return None
    size = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}
    return sum(float(number) * size[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)(h|ms|m|s|)", text))
