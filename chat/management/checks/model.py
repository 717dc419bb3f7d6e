"""Whether the model can be reached, streams what it writes, and calls tools."""

from __future__ import annotations

from contextlib import aclosing

from django.conf import settings
from django.utils.translation import gettext as _

from chat.agent.model.trial import Outcome, trial
from chat.agent.prompts import Language
from chat.connections.endpoint import endpoint_of
from chat.connections.trying import candidate
from chat.management.checks.finding import Finding


async def model() -> list[Finding]:
    """The findings about the model: one if it is the demo or cannot be asked, else one a question."""
    if settings.DEMO:
        return [Finding(_("model"), True, _demo())]
    if not (settings.MODEL_BASE_URL or settings.MODEL_API_KEY):
        cure = _(
            "OPENAI_MODEL is set, but no endpoint. Set OPENAI_API_KEY, and OPENAI_BASE_URL if it is not "
            "OpenAI's."
        )
        return [Finding(_("model"), False, cure)]
    async with candidate(endpoint_of(None)) as tried, aclosing(trial(tried, settings.MODEL_NAME)) as steps:
        outcomes = [each async for each in steps if isinstance(each, Outcome)]
    return [_finding(outcome) for outcome in outcomes if _matters(outcome)]


def _matters(outcome: Outcome) -> bool:
    """Whether it gets a line: the two that say what the model can, and whatever is not well."""
    return outcome.state == "failed" or (outcome.state == "well" and outcome.step in ("streams", "tools"))


def _finding(outcome: Outcome) -> Finding:
    part = _("tool calls") if outcome.step == "tools" else _("model")
    return Finding(part, outcome.state == "well", outcome.sentence(_language()))


def _demo() -> str:
    return _(
        "demo mode: scripted replies, no AI. To connect a real model, set OPENAI_API_KEY, and for "
        "endpoints other than OpenAI's also OPENAI_BASE_URL and OPENAI_MODEL."
    )


def _language() -> Language:
    return "zh" if settings.LANGUAGE_CODE.startswith("zh") else "en"
