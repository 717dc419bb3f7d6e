"""Whether the site is up, and whether it can work."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from chat.live.doorbell import answers, workers_answer
from chat.models import McpServer


@login_not_required
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """The process is up."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """Database, channel layer and a worker answer; 503 with the name of what does not.

    An MCP server that a worker found wanting is a line and no more: the site works without it.
    """
    problems = []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        problems.append(f"database: {type(error).__name__}")
    if not async_to_sync(answers)():
        problems.append("channel layer: no answer")
    elif not async_to_sync(workers_answer)():
        problems.append("worker: no answer")
    text = "\n".join([*(problems or ["ok"]), *_unwell_servers()])
    return HttpResponse(f"{text}\n", content_type="text/plain", status=503 if problems else 200)


def _unwell_servers() -> list[str]:
    try:
        return [f"MCP server {server.name}: {server.problem}" for server in McpServer.unwell()]
    except DatabaseError:
        return []
