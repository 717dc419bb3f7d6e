"""The test of a connection: a streamed page with a line for each step; ends if the client disconnects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import aget_object_or_404, render
from django.template.loader import render_to_string
from django.utils.translation import get_language, pgettext
from django.views.decorators.http import require_http_methods

from chat.agent.model.trial import Outcome, Step, StepBegun, trial
from chat.agent.prompts import Language, phrase
from chat.connections.endpoint import Endpoint, InsecureError, endpoint_of
from chat.connections.model_lists import candidate, known_models
from chat.models import Connection, Profile
from chat.models.connection import ConnectionStep
from chat.models.secrets import SecretUnreadableError
from chat.pages.audience import audience
from chat.pages.signed_in import SignedInRequest

_MARK = "<!--steps-->"
START_KEY = "try_at_once"  # session key: the connection just added, whose test starts without a click


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
async def try_connection(request: SignedInRequest, connection_id: int) -> HttpResponseBase:
    """Ask which model to try; a POST runs the test."""
    user = await request.auser()
    rows = Connection.changeable_by(user).select_related("owner")
    return await _test(request, await aget_object_or_404(rows, pk=connection_id))


@audience("staff")
@require_http_methods(["GET", "HEAD", "POST"])
async def try_environment(request: SignedInRequest) -> HttpResponseBase:
    return await _test(request, None)


async def _test(request: SignedInRequest, row: Connection | None) -> HttpResponseBase:
    try:
        endpoint = endpoint_of(row)
    except (SecretUnreadableError, InsecureError) as error:
        kind = "sealed" if isinstance(error, SecretUnreadableError) else "insecure"
        problem = phrase(language(), f"model.{kind}", name=str(row))
        return await _page(request, {"connection": row, "problem": problem})
    context = {"connection": row, "models": known_models(endpoint), "model": await _model(request, row)}
    if request.method != "POST":
        at_once = row is not None and await request.session.apop(START_KEY, None) == row.pk
        return await _page(request, {**context, "at_once": at_once})
    page = (await _page(request, {**context, "running": True})).content.decode()
    steps = _steps(request, endpoint, context, *page.split(_MARK))
    # A buffering proxy would delay all lines until the end.
    return StreamingHttpResponse(steps, headers={"X-Accel-Buffering": "no", "Cache-Control": "no-store"})


async def _model(request: SignedInRequest, row: Connection | None) -> str:
    requested = request.POST.get("model", "").strip()[:200]
    if row is None:
        return requested or settings.MODEL_NAME
    used = await row.profiles.exclude(model="").values_list("model", flat=True).afirst()
    return requested or used or ""


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
        candidate(endpoint) as client,
        aclosing(trial(client, context["model"])) as steps,
    ):
        async for event in steps:
            yield _render_event(event)
            if isinstance(event, Outcome):
                outcomes[event.step] = event
    result = _result(outcomes)
    if row := context["connection"]:
        await sync_to_async(row.save_test)(result["failed_step"])
        result["everyones_profiles"] = await sync_to_async(_everyones_profiles)(request.user, row)
    end = {**context, **result}
    yield await sync_to_async(render_to_string)("settings/_trial_end.html", end, request)
    yield tail


def _render_event(event: StepBegun | Outcome) -> str:
    if isinstance(event, StepBegun):
        return render_to_string("settings/_trial_begun.html", {"label": ConnectionStep(event.step).label})
    context = {"outcome": event, "sentence": event.sentence(language())}
    return render_to_string("settings/_trial_outcome.html", context)


def _result(outcomes: dict[Step, Outcome]) -> dict[str, Any]:
    streams = outcomes["streams"]
    answers = streams.state == "well" or streams.key == "trial.at_once"
    failed = [outcome.step for outcome in outcomes.values() if outcome.state == "failed"]
    if answers:  # what comes in one piece is an answer all the same
        failed = [step for step in failed if step == "tools"]
    return {
        "answers": answers,
        "failed_step": next(iter(failed), ""),
        "model": streams.values.get("model", ""),
        "names": outcomes["models"].values.get("names", []),
    }


def _everyones_profiles(user: User, row: Connection) -> str:
    """The titles of the profiles that staff can set to the connection's model at once."""
    titles = Profile.everyones_without_other(row).values_list("title", flat=True) if user.is_staff else []
    return pgettext("list", ", ").join(titles)


def language() -> Language:
    return "zh" if (get_language() or "").startswith("zh") else "en"
