"""Whether the model can be reached, streams what it writes, and calls tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.agent import ModelError, Reasoning, Text, tool
from chat.agent.model import Delta, ToolCallDelta
from chat.agent.prompts import Language, phrase
from chat.live.agents import model_called
from chat.management.checks.finding import Finding

PATIENCE = 90  # seconds for one answer
COUNT = "Count from one to thirty in words, separated by commas. Write nothing else."
GREET = "Call the tool `greet` with the name Ada. Write no text."


@tool
async def greet(name: str) -> str:
    """Greet somebody by name."""
    return f"Hello, {name}!"


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
    try:
        return [await _streams(), await _calls()]
    except ModelError as error:
        return [Finding(_("model"), False, phrase(_language(), f"model.{error.kind}", **error.values))]
    except TimeoutError:
        sentence = _("%(model)s gave no complete answer within %(seconds)d seconds. Look at its load.")
        return [Finding(_("model"), False, sentence % {"model": settings.MODEL_NAME, "seconds": PATIENCE})]


async def _streams() -> Finding:
    deltas = await _answer(COUNT)
    pieces = sum(isinstance(delta, Text | Reasoning) for delta in deltas)
    if pieces > 1:
        sentence = _("%(model)s answers and streams (%(pieces)d pieces).")
        return Finding(_("model"), True, sentence % {"model": settings.MODEL_NAME, "pieces": pieces})
    cure = _(
        "%s answers, but all at once. Switch streaming on at the endpoint, and buffering off in what "
        "stands between."
    )
    return Finding(_("model"), False, cure % settings.MODEL_NAME)


async def _calls() -> Finding:
    part = _("tool calls")
    deltas = await _answer(GREET, greet.definition())
    names = {delta.name for delta in deltas if isinstance(delta, ToolCallDelta) and delta.name}
    if names == {greet.name}:
        return Finding(part, True, _("%s calls a tool when asked to.") % settings.MODEL_NAME)
    cure = _(
        "%s was asked to call a tool and did not. Choose a model with tool calls (OPENAI_MODEL), "
        "or switch them on at the endpoint."
    )
    return Finding(part, False, cure % settings.MODEL_NAME)


async def _answer(question: str, *tools: Mapping[str, Any]) -> list[Delta]:
    asked = [{"role": "user", "content": question}]
    async with asyncio.timeout(PATIENCE):
        return [delta async for delta in model_called(settings.MODEL_NAME).stream(asked, tools, {})]


def _demo() -> str:
    return _(
        "the built-in demo answers; it is not an AI. To connect a real one set OPENAI_API_KEY, and for any "
        "other endpoint than OpenAI's OPENAI_BASE_URL and OPENAI_MODEL."
    )


def _language() -> Language:
    return "zh" if settings.LANGUAGE_CODE.startswith("zh") else "en"
