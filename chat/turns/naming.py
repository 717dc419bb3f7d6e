"""Names conversations: one small model call in the background after the first completed turn."""

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
from chat.turns.billing import record_usage
from chat.turns.log_context import set_log_context

log = logging.getLogger(__name__)

TIMEOUT = 30.0  # seconds for the model; nothing waits for it


@dataclass(frozen=True)
class TitleRequest:
    """What a title is generated from. Its SideCall row marks the attempt, so there is only one."""

    conversation: Conversation
    profile: Profile
    model: Model
    question: str
    answer: str
    call: SideCall


async def name_conversation(turn: Turn) -> None:
    """Replace the first line as title by one from the model, if this is the first completed turn.

    After a failure, or if someone has renamed the conversation, the title stays.
    """
    set_log_context(turn)
    try:
        request = await in_database(_begin, turn)
        if request:
            await _name(request)
    except Exception as error:  # nothing depends on the title
        log.warning("naming the conversation of %s failed: %r", turn, error)


async def _name(request: TitleRequest) -> None:
    title, meter = "", Meter()
    language = cast(Language, request.profile.language)
    try:
        async with asyncio.timeout(TIMEOUT):
            title = await ask_title(request.model, request.question, request.answer, language, meter)
    finally:
        usage = meter.settle()
        named = await in_database(_end, request, title, usage)
    if named or usage != Usage():
        await publish_heading(request.conversation)


def _begin(turn: Turn) -> TitleRequest | None:
    if _was_attempted(turn):
        return None
    with transaction.atomic():
        conversations = Conversation.objects.select_for_update(of=("self",)).select_related("profile")
        conversation = conversations.filter(pk=turn.conversation_id).first()
        if conversation is None or not _needs_title(conversation, turn):
            return None
        profile = turn.profile
        model = model_for(profile)
        call = SideCall.objects.create(
            turn=turn,
            purpose=SideCall.Purpose.TITLE,
            endpoint=getattr(model, "endpoint", "")[:500],
            model=getattr(model, "name", "")[:200],
        )
    # What was said in turns that were stopped before says what it is about.
    said = Message.objects.filter(
        turn__in=conversation.path.filter(pk__lte=turn.pk), role=Message.Role.USER, step=None
    )
    question = "\n\n".join(said.order_by("pk").values_list("text", flat=True))
    last = turn.messages.filter(role=Message.Role.ASSISTANT).order_by("pk").last()
    return TitleRequest(conversation, profile, model, question, last.text if last else "", call)


def _was_attempted(turn: Turn) -> bool:
    """Whether an attempt or an earlier completed turn exists. Cheap: takes no lock."""
    attempts = SideCall.objects.filter(turn__conversation=turn.conversation_id, purpose="title")
    completed = Turn.objects.filter(conversation=turn.conversation_id, status=Turn.Status.COMPLETED)
    earlier = completed.filter(pk__lt=turn.pk)  # a later one may already have completed
    return Turn.objects.filter(Exists(attempts) | Exists(earlier), pk=turn.pk).exists()


def _needs_title(conversation: Conversation, turn: Turn) -> bool:
    """Whether the title is still the first line, nobody has tried, and the owner wants a generated one."""
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
    return bool(settings.MODEL_TRANSPORT) and profile.connection_id is None


def _end(request: TitleRequest, title: str, usage: Usage) -> bool:
    """Record the cost, and the title unless it was changed in between; returns whether it was set."""
    with transaction.atomic():
        request.call.ended_at = timezone.now()
        request.call.save(update_fields=["ended_at"])
        if usage != Usage():
            record_usage(request.call, usage)
        return bool(title) and _name_unless_named(request.conversation, title)


def _name_unless_named(conversation: Conversation, title: str) -> bool:
    unchanged = Conversation.objects.filter(pk=conversation.pk, title=conversation.title)
    if title == conversation.title or not unchanged.update(title=title):
        return False
    index_title(Conversation.objects.get(pk=conversation.pk))
    return True
