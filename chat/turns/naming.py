"""Conversations name themselves: a small call of the model after the first turn, beside all that goes on."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.db import transaction
from django.db.models import Exists
from django.utils import timezone

from chat.agent import Model, Usage
from chat.agent.meter import Meter
from chat.agent.prompts import Language
from chat.agent.title import ask_title
from chat.connections.model_clients import model_for
from chat.database import in_database
from chat.live.broadcast import publish_heading
from chat.models import Conversation, Message, Preferences, Profile, SideCall, Turn
from chat.models.message import title_of
from chat.search.index import index_title
from chat.turns.billing import charge
from chat.turns.log_context import about

log = logging.getLogger(__name__)

SECONDS = 30.0  # that the model has; nobody waits for it


@dataclass(frozen=True)
class TitleRequest:
    """What a conversation is to be named after. The row of the call says that it was tried, once for all."""

    conversation: Conversation
    profile: Profile
    model: Model
    question: str
    answer: str
    call: SideCall


async def name_conversation(turn: Turn) -> None:
    """Put the model's title in the place of the first line, if the turn is the first to be completed.

    Whatever fails leaves the first line, and so does whoever has renamed the conversation meanwhile.
    """
    about(turn)
    try:
        naming = await in_database(_begin, turn)
        if naming:
            await _name(naming)
    except Exception as error:  # nobody waits for a title, and nothing depends on one
        log.warning("the conversation of %s has no title of its own: %r", turn, error)


async def _name(naming: TitleRequest) -> None:
    title, meter = "", Meter()
    language = cast(Language, naming.profile.language)
    try:
        async with asyncio.timeout(SECONDS):
            title = await ask_title(naming.model, naming.question, naming.answer, language, meter)
    finally:
        usage = meter.settle()
        named = await in_database(_end, naming, title, usage)
    if named or usage != Usage():
        await publish_heading(naming.conversation)


def _begin(turn: Turn) -> TitleRequest | None:
    """Decide on the call and write down that it is made; None where there is to be none."""
    if _is_tried(turn):
        return None
    with transaction.atomic():
        found = Conversation.objects.select_for_update(of=("self",)).select_related("profile")
        conversation = found.filter(pk=turn.conversation_id).first()
        if conversation is None or not _is_nameless(conversation, turn):
            return None
        profile = turn.profile
        model = model_for(profile)
        call = SideCall.objects.create(
            turn=turn,
            purpose=SideCall.Purpose.TITLE,
            endpoint=getattr(model, "endpoint", "")[:500],
            model=getattr(model, "name", "")[:200],
        )
    question = turn.messages.get(role=Message.Role.USER, step=None).text
    last = turn.messages.filter(role=Message.Role.ASSISTANT).order_by("pk").last()
    return TitleRequest(conversation, profile, model, question, last.text if last else "", call)


def _is_tried(turn: Turn) -> bool:
    """Whether this was seen to before, as after all turns but the first: known without a lock."""
    tried = SideCall.objects.filter(turn__conversation=turn.conversation_id, purpose="title")
    completed = Turn.objects.filter(conversation=turn.conversation_id, status=Turn.Status.COMPLETED)
    earlier = completed.filter(pk__lt=turn.pk)  # a later one may have been faster than this look
    return Turn.objects.filter(Exists(tried) | Exists(earlier), pk=turn.pk).exists()


def _is_nameless(conversation: Conversation, turn: Turn) -> bool:
    """Whether nobody has named it, nobody has tried, and its owner wants the model to."""
    completed = conversation.turns.filter(status=Turn.Status.COMPLETED)
    first = conversation.turns.order_by("pk").first()
    return (
        first is not None
        and conversation.title == title_of(first.user_text)
        and not completed.filter(pk__lt=turn.pk).exists()
        and not SideCall.objects.filter(turn__conversation=conversation, purpose="title").exists()
        and not Preferences.objects.filter(user=conversation.owner_id, name_conversations=False).exists()
        and not _is_scripted(turn.profile)
    )


def _is_scripted(profile: Profile) -> bool:
    """Whether the demo answers, which follows a script and has no opinion on titles."""
    return bool(settings.MODEL_TRANSPORT) and profile.connection_id is None


def _end(naming: TitleRequest, title: str, usage: Usage) -> bool:
    """Write down what the call cost, and the title unless there is another by now; True if it was taken."""
    with transaction.atomic():
        naming.call.ended_at = timezone.now()
        naming.call.save(update_fields=["ended_at"])
        if usage != Usage():
            charge(naming.call, usage)
        return bool(title) and _name_unless_named(naming.conversation, title)


def _name_unless_named(conversation: Conversation, title: str) -> bool:
    same = Conversation.objects.filter(pk=conversation.pk, title=conversation.title)
    if title == conversation.title or not same.update(title=title):
        return False
    index_title(Conversation.objects.get(pk=conversation.pk))
    return True
