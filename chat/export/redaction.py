"""Removes secrets from rows before they are rendered or exported.

No row stores a secret of the site, but a tool may have printed one: an MCP server, or a command in a folder
with a file of keys. So the output of tools is searched, and a secret that is found there is also removed from
what the model wrote, which may repeat it. What users wrote or imported is never searched: an export would
tell them which of their guesses is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import F, Model, Q

from chat.agent.storable import storable_json
from chat.agent.workspace import MOUNT
from chat.files.conversation_workspace import folder_of
from chat.models import (
    Attachment,
    Connection,
    Conversation,
    FollowUp,
    Message,
    SideCall,
    Step,
    Summary,
    TodoRevision,
    ToolCall,
    Turn,
)
from chat.models.secrets import SecretUnreadableError

MIN_SECRET_LENGTH = 20  # characters; a shorter secret can be guessed, and may occur in other texts by chance
MIN_FOLDER_LENGTH = 8
MAX_SECRETS = 50  # users may store any number of headers, and each costs a search
REDACTED = "[redacted]"

PRINTED: Mapping[type[Model], tuple[str, ...]] = {ToolCall: ("output", "detail", "shortened")}
"""Fields with the output of tools."""
WRITTEN: Mapping[type[Model], tuple[str, ...]] = {
    ToolCall: ("arguments", "extra"),
    Message: ("text", "reasoning", "extra"),
    Summary: ("text", "carried"),
    Step: ("edit_note",),
    TodoRevision: ("items",),
}
"""Fields written by the model."""
KEPT: Mapping[type[Model], tuple[str, ...]] = {
    Conversation: ("title",),  # `Redaction.title` redacts it
    Turn: ("status_message", "profile_snapshot"),
    Step: ("reminder", "finish_reason", "endpoint", "model", "currency"),
    SideCall: ("endpoint", "model", "currency"),
    ToolCall: ("call_id", "name", "reason"),
    TodoRevision: ("policy", "skipped"),
    FollowUp: ("text",),
    Attachment: ("path", "sent_path", "media_type", "digest"),
}
"""Fields of the site and of the user, which are exported as they are."""
UNREDACTED = {"items": ("id", "key", "status"), "detail": ("digest", "state", "media_type", "fault")}
"""Keys in JSON fields whose values the site uses for lookups."""

Row = TypeVar("Row", bound=Model)
Replacements = Mapping[str, str]


@dataclass(frozen=True)
class Redaction:
    """The secrets to remove, each with its replacement, longest first.

    Changes only rows of `turns`: those that ran on this site. `printed` are the secrets that their tools
    printed.
    """

    secrets: Replacements = field(repr=False)
    printed: Replacements = field(repr=False)
    turns: Set[int]

    @classmethod
    def of(cls, conversation: Conversation) -> Redaction:
        """Build the redaction of a conversation. Reads its tool output, a few calls at a time."""
        secrets = _replacements(conversation)
        # A worker's claim increments the fence; an imported turn was never claimed.
        turns = frozenset(conversation.turns.filter(fence__gt=0).values_list("pk", flat=True))
        return cls(secrets, _printed(conversation, secrets), turns)

    def row(self, row: Row) -> Row:
        """Redact the row's loaded values in memory; it must not be saved afterwards."""
        is_user_message = isinstance(row, Message) and row.role == Message.Role.USER
        if not is_user_message and getattr(row, "turn_id", None) in self.turns:
            _redact_row(row, PRINTED, self.secrets)
            _redact_row(row, WRITTEN, self.printed)
        return row

    def title(self, title: str) -> str:
        return str(_redact(title, self.printed))


def _redact_row(row: Model, fields: Mapping[type[Model], tuple[str, ...]], by: Replacements) -> None:
    for name in fields.get(type(row), ()):
        if by and name in row.__dict__:
            value = row.__dict__[name]
            redacted = _redact_json(value, by) if name == "arguments" else _redact(value, by, name)
            setattr(row, name, redacted)


def _redact(value: Any, by: Replacements, field_name: str = "") -> Any:
    if isinstance(value, str):
        for secret, replacement in by.items():
            value = value.replace(secret, replacement)
        return value
    if isinstance(value, dict):
        keys = UNREDACTED.get(field_name, ())
        return {name: each if name in keys else _redact(each, by, field_name) for name, each in value.items()}
    return [_redact(each, by, field_name) for each in value] if isinstance(value, list) else value


def _redact_json(text: str, by: Replacements) -> str:
    """Redact the texts in JSON that the model wrote, so that it stays valid JSON."""
    try:
        value = storable_json(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return str(_redact(text, by))
    redacted = _redact(value, by)
    return text if redacted == value else json.dumps(redacted, ensure_ascii=False)


def _printed(conversation: Conversation, secrets: Replacements) -> Replacements:
    calls = ToolCall.objects.filter(turn__conversation=conversation, turn__fence__gt=0).order_by()
    printed: set[str] = set()
    for values in calls.values_list("output", "detail").iterator(chunk_size=20):
        texts = list(_texts(values))
        printed |= {each for each in secrets.keys() - printed if any(each in text for text in texts)}
    return {secret: replacement for secret, replacement in secrets.items() if secret in printed}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _replacements(conversation: Conversation) -> Replacements:
    long_enough = (each for each in _secrets(conversation) if len(each) >= MIN_SECRET_LENGTH)
    replacements = dict.fromkeys(islice(dict.fromkeys(long_enough), MAX_SECRETS), REDACTED)
    folder = str(folder_of(conversation))
    replacements |= {folder: MOUNT} if len(folder) >= MIN_FOLDER_LENGTH else {}
    return dict(sorted(replacements.items(), key=lambda each: len(each[0]), reverse=True))


def _secrets(conversation: Conversation) -> Iterator[str]:
    yield from (settings.SECRET_KEY, settings.METRICS_TOKEN, settings.MODEL_API_KEY or "")
    available = Q(owner=None) | Q(owner=conversation.owner_id)
    for connection in Connection.objects.filter(available).order_by(F("owner").asc(nulls_first=True), "pk"):
        try:
            opened = connection.unsealed_secrets
        except SecretUnreadableError:
            continue
        yield opened.key
        for value in opened.headers.values():
            yield from value.split()  # the secret in "Bearer sk-..." is the second word
