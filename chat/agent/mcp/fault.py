"""What is wrong with a tool server."""

from __future__ import annotations

from dataclasses import dataclass

import httpx2
from mcp import MCPError
from pydantic import ValidationError

from chat.agent.mcp.server import ServerError
from chat.agent.storable import storable

_LONGEST = 400


@dataclass(frozen=True)
class Fault:
    """A sentence that model and visitors may read, and a detail for the administrator alone."""

    sentence: str
    detail: str = ""


def fault_of(error: BaseException) -> Fault:
    """The fault behind an exception that ended a connection, whatever it was wrapped in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    detail = " ".join(storable(str(error)).split())[:_LONGEST]
    match error:
        case ServerError():
            return Fault(detail)
        case TimeoutError() | httpx2.TimeoutException():
            return Fault("It did not answer in time.", detail)
        case httpx2.HTTPError() | httpx2.StreamError() | OSError():
            return Fault("It cannot be reached.", detail)
        case MCPError():
            return Fault("It answered with an error of the protocol.", detail)
        case ValidationError() | ValueError():
            return Fault("It answered in a form that the protocol does not know.", detail)
        case _:
            return Fault("The connection failed.", f"{type(error).__name__}: {detail}")
