"""The test of a connection: a page that grows by a line for each step, and ends when its reader leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import aget_object_or_404, render
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from chat.agent.model.trial import Outcome, Step, StepBegun, trial
from chat.agent.prompts import Language, phrase
from chat.connections.endpoint import Endpoint, InsecureError, endpoint_of
from chat.connections.model_lists import candidate, known_models
from chat.models import Connection
from chat.models.secrets import SecretUnreadableError
from chat.pages.signed_in import SignedInRequest

LABELS: dict[Step, str | Promise] = {
    "reached": _("Reachable"),
    "key": _("Key"),
    "models": _("Models"),
    "streams": _("Answers"),
    "tools": _("Calls tools"),
}
_MARK = "<!--steps-->"
AT_ONCE = "try_at_once"
"""The session's name for the connection that was just added, and whose test begins without a click."""


@require_http_methods(["GET", "HEAD", "POST"])
async def try_connection(request: SignedInRequest, connection_id: int) -> HttpResponseBase:
    """Ask which model to try; the form's post tries it."""
    user = await request.auser()
    rows = Connection.changeable_by(user).select_related("owner")
    return await _try(request, await aget_object_or_404(rows, pk=connection_id))


@require_http_methods(["GET", "HEAD", "POST"])
async def try_environment(request: SignedInRequest) -> HttpResponseBase:
    """The same for the environment's endpoint, which the staff looks after."""
    if not (await request.auser()).is_staff:
        raise Http404
    return await _try(request, None)


async def _try(request: SignedInRequest, row: Connection | None) -> HttpResponseBase:
    try:
        endpoint = endpoint_of(row)
    except (SecretUnreadableError, InsecureError) as error:
        kind = "sealed" if isinstance(error, SecretUnreadableError) else "insecure"
        problem = phrase(language(), f"model.{kind}", name=str(row))
        return await _page(request, {"connection": row, "problem": problem})
    context = {"connection": row, "models": known_models(endpoint), "model": await _model(request, row)}
    if request.method != "POST":
        at_once = row is not None and await request.session.apop(AT_ONCE, None) == row.pk
        return await _page(request, {**context, "at_once": at_once})
    page = (await _page(request, {**context, "running": True})).content.decode()
    steps = _steps(request, endpoint, context, *page.split(_MARK))
    # A proxy that gathers the page before it passes it on would take the steps' point.
    return StreamingHttpResponse(steps, headers={"X-Accel-Buffering": "no", "Cache-Control": "no-store"})


async def _model(request: SignedInRequest, row: Connection | None) -> str:
    """The model that the person named, or else that a profile uses."""
    given = request.POST.get("model", "").strip()[:200]
    used = row and await row.profiles.exclude(model="").values_list("model", flat=True).afirst()
    return given or used or ""


async def _page(request: SignedInRequest, context: dict[str, Any]) -> HttpResponse:
    context = {"section": "connections", **context}
    page: HttpResponse = await sync_to_async(render)(request, "settings/trial.html", context)
    return page


async def _steps(
    request: SignedInRequest, endpoint: Endpoint, context: dict[str, Any], head: str, tail: str
) -> AsyncIterator[str]:
    yield head
    outcomes: dict[Step, Outcome] = {}
    async with (
        candidate(endpoint) as tried,
        aclosing(trial(tried, context["model"])) as steps,
    ):
        async for each in steps:
            yield _drawn(each)
            if isinstance(each, Outcome):
                outcomes[each.step] = each
    end = {**context, **_end(outcomes)}
    yield await sync_to_async(render_to_string)("settings/_trial_end.html", end, request)
    yield tail


def _drawn(each: StepBegun | Outcome) -> str:
    if isinstance(each, StepBegun):
        return render_to_string("settings/_trial_begun.html", {"label": LABELS[each.step]})
    drawn = {"outcome": each, "sentence": each.sentence(language())}
    return render_to_string("settings/_trial_outcome.html", drawn)


def _end(outcomes: dict[Step, Outcome]) -> dict[str, Any]:
    """What is known in the end: the model that was tried, whether it answers, and what else there is."""
    answers = outcomes["streams"]
    return {
        "answers": answers.state == "well" or answers.key == "trial.at_once",
        "model": answers.values.get("model", ""),
        "names": outcomes["models"].values.get("names", []),
    }


def language() -> Language:
    """The page's language, as the agent's phrases have it."""
    return "zh" if (get_language() or "").startswith("zh") else "en"
