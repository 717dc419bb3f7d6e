"""A profile as it was at a turn: what the turn keeps of it, and the way back to a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

from chat.models.connection import Connection
from chat.models.profile import Profile

if TYPE_CHECKING:
    from chat.models.conversation import Conversation

# What makes up a profile besides its connection; also what a file of it holds.
FIELDS = (
    "title",
    "name",
    "colour",
    "instructions",
    "language",
    "model",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning_effort",
    "todo_policy",
    "max_todos",
    "remind_after",
    "rules",
    "max_steps",
    "max_tool_calls",
    "max_seconds",
)


def recorded(profile: Profile) -> dict[str, Any]:
    """The profile as JSON has it, with its connection's name and address, and none of its secrets."""
    kept = {name: getattr(profile, name) for name in FIELDS}
    return {"id": profile.pk, **kept, "asked": asked_model(profile), "connection": _connection(profile)}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names of what differs between two records."""
    return [name for name in after if after[name] != before.get(name)]


def at_work(record: Mapping[str, Any], conversation: Conversation) -> Profile:
    """The profile of a record, for a turn of the conversation to work with. Reads the database.

    It is its owner's, so that nobody else's connection is asked. Rules that have become stricter since hold.
    Where the connection is gone, the one that the profile has today is asked, and its model.
    """
    chosen = conversation.profile
    now = chosen if chosen and chosen.pk == record["id"] else Profile.objects.filter(pk=record["id"]).first()
    kept = {name: record[name] for name in FIELDS if name in record}  # an older release knew fewer
    profile = Profile(pk=record["id"], owner_id=conversation.owner_id, **kept)
    profile.rules_since = now.rules if now else {}
    connection_id = record["connection"]["id"]
    if connection_id is not None:
        profile.connection = Connection.objects.filter(pk=connection_id).first()
        if profile.connection is None:
            other = now or conversation.profile_in_use()
            profile.connection, profile.model = other.connection, other.model
    return profile


def asked_model(profile: Profile) -> str:
    """The name of the model that the profile asks."""
    return profile.model or settings.MODEL_NAME


def _connection(profile: Profile) -> dict[str, Any]:
    """Which endpoint the profile asks. The environment's has neither id nor name."""
    connection = profile.connection
    if connection is None:
        return {"id": None, "name": "", "address": bare_address(settings.MODEL_BASE_URL or "")}
    return {"id": connection.pk, "name": connection.name, "address": bare_address(connection.base_url)}


def bare_address(url: str) -> str:
    """An address without what may be secret in it: user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
