"""Liveness, readiness and metrics."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from chat import measures  # noqa: F401 (registers the metrics)
from chat.live.broadcast import channel_layer_responds, worker_responds
from chat.models import McpServer, Turn
from chat.pages.audience import audience


@audience("anyone")
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@audience("anyone")
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """503 if the database, the channel layer or a worker does not answer; the text names which.

    A failing MCP server is listed but does not change the status: the site works without it.
    """
    problems = []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        problems.append(f"database: {type(error).__name__}")
    if not async_to_sync(channel_layer_responds)():
        problems.append("channel layer: no answer")
    elif not async_to_sync(worker_responds)():
        problems.append("worker: no answer")
    text = "\n".join([*(problems or ["ok"]), *_unwell_servers()])
    return HttpResponse(f"{text}\n", content_type="text/plain", status=503 if problems else 200)


def _unwell_servers() -> list[str]:
    try:
        return [f"MCP server {server.name}: {server.problem}" for server in McpServer.failing()]
    except DatabaseError:
        return []


REFUSAL = "These figures are for staff, and for a scraper that brings METRICS_TOKEN as its bearer token.\n"


@audience("anyone")
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text, for staff or a request with METRICS_TOKEN."""
    if not _may_see(request):
        return HttpResponseForbidden(REFUSAL, content_type="text/plain")
    figures = generate_latest() + generate_latest(_turn_gauge())
    return HttpResponse(figures, content_type=CONTENT_TYPE_LATEST)


def _may_see(request: HttpRequest) -> bool:
    scheme, _blank, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        expected = settings.METRICS_TOKEN
        return bool(expected) and constant_time_compare(token.strip(), expected)
    return bool(request.user.is_authenticated and request.user.is_staff)


def _turn_gauge() -> CollectorRegistry:
    """Turns by state from the database, so every process reports the same figures."""
    registry = CollectorRegistry()
    gauge = Gauge("agentsite_turns", "Turns by state, in the database", ["state"], registry=registry)
    counts = dict(Turn.objects.order_by().values_list("status").annotate(Count("pk")))
    for state in Turn.Status.values:
        gauge.labels(state).set(counts.get(state, 0))
    return registry
