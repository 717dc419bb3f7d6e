"""Failures between here and an endpoint, as ModelErrors that tell the user what happened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from time import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from chat.agent.model.errors import EndpointComplaint
from chat.agent.model.http import RESPONSE, AddressRefusedError, CompressedError, OversizeError
from chat.agent.model.protocol import ModelError

# Seconds; an endpoint that asks for more is not waited for within a turn.
LONGEST_WAIT = 180.0
# Seconds between two looks at a model that is being loaded.
LOADING = 3.0

_KINDS = {401: "key_refused", 403: "key_refused", 404: "not_found", 413: "overflow", 429: "rate_limited"}
_PASSING = (408, 409, 425, 429)
_SHORTEST_SECRET = 3  # characters; what is shorter is found in any text


class ComplaintError(ModelError):
    """The endpoint complained about the request."""

    def __init__(self, complaint: EndpointComplaint, kind: str, **values: Any) -> None:
        super().__init__(kind, **values)
        self.complaint = complaint


class Failures:
    """Makes the errors of one model at one endpoint. Secrets never show in them."""

    def __init__(self, where: str, model: str, secrets: Iterable[str]) -> None:
        self.where = where
        self.model = model
        self.secrets = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]

    def error(self, kind: str, detail: str = "", **values: Any) -> ModelError:
        """An error of this kind at this endpoint."""
        return ModelError(kind, where=self.where, detail=self.hidden(detail), model=self.model, **values)

    def read(self, error: ModelError) -> ModelError:
        """An error of the reply that came, with the place; one that the endpoint reports by its words."""
        detail = str(error.values.get("detail", ""))
        values = {**error.values, "where": self.where, "detail": self.hidden(detail), "model": self.model}
        if error.kind != "reported":
            return ModelError(error.kind, retryable=error.retryable, **values)
        complaint = EndpointComplaint.of(200, detail)
        return ComplaintError(complaint, complaint.kind or "reported", **values)

    def status(self, error: openai.APIStatusError) -> ModelError:
        """The error of a reply with another status than 200."""
        status, headers = error.status_code, error.response.headers
        if error.response.has_redirect_location:
            return self.error("redirected", _place(headers["location"]), status=status)
        complaint = EndpointComplaint.of(status, error.body)
        wait = _wait(headers)
        passing = status in _PASSING or status >= 500
        kind = complaint.kind or _KINDS.get(status, "unavailable" if passing else "refused")
        if kind == "loading":
            wait = LOADING if wait is None else wait
        if wait is not None and wait > LONGEST_WAIT and kind == "rate_limited":
            kind = "rate_limited_long"
        return ComplaintError(
            complaint,
            kind,
            retryable=passing and kind not in ("overflow", "no_tools", "no_credit", "rate_limited_long"),
            retry_after=wait,
            where=self.where,
            detail=self.hidden(complaint.detail),
            model=self.model,
            status=status,
            wait=round(wait or 0),
        )

    def connection(self, error: Exception) -> ModelError:
        """The error of a connection that failed before there was a reply."""
        cause = (error.__cause__ if isinstance(error, openai.APIConnectionError) else None) or error
        if isinstance(cause, CompressedError):
            return self.error("compressed")
        if any(isinstance(each, AddressRefusedError) for each in _causes(cause)):
            return self.error("address_refused")
        # A connection that is refused comes out of the package as a ConnectTimeout, too.
        if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return self.error("timeout", retryable=True)
        return self.error("unreachable", str(cause) or type(cause).__name__, retryable=True)

    def broken(self, error: httpx2.TransportError) -> ModelError:
        """The error of a connection that failed while the reply came."""
        if isinstance(error, OversizeError):
            return self.error("endless", maximum=RESPONSE)
        return self.error("cut", retryable=True)

    def hidden(self, text: str) -> str:
        """The text without the secrets: some endpoints repeat the key that they refuse."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = getattr(error, "os_error", None) or error.__cause__


def _place(location: str) -> str:
    """Where a redirect leads, without what may be secret in it."""
    parts = urlsplit(location)
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}" if place else parts.path


def _wait(headers: httpx2.Headers) -> float | None:
    """Seconds that the endpoint asks to wait, by any of the headers in use."""
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
    """Seconds of a Retry-After header, which has a number or a date."""
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
