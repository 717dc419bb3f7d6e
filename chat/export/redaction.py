"""Removes secrets from the values of rows, before anything is drawn or written with them.

No row holds a secret of the site's. But a tool may have printed one: an MCP server, or a command in a
directory with a file of keys. So what tools printed is searched, and a secret that is found there is also
removed from what the model wrote, which may repeat it. What users wrote or imported is never searched: an
export would tell them which of their guesses is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import F, Model, Q

from chat.agent.workspace import MOUNT
from chat.files.conversation_workspace import folder_of
from chat.models import Connection, Conversation, Message, Step, Summary, TodoRevision, ToolCall
from chat.models.secrets import SecretUnreadableError
from chat.models.text import clean_json

SHORTEST = 20  # characters; a shorter text may be guessed, and stands in other texts by chance
SHORTEST_FOLDER = 8
MOST = 50  # secrets; users may store as many headers as they like, and each costs a search
REDACTED = "[redacted]"

PRINTED: Mapping[type[Model], tuple[str, ...]] = {ToolCall: ("output", "detail", "shortened")}
"""The fields that hold what tools printed."""
WRITTEN: Mapping[type[Model], tuple[str, ...]] = {
    ToolCall: ("arguments", "extra"),
    Message: ("text", "reasoning", "extra"),
    Summary: ("text", "carried"),
    Step: ("edit_note",),
    TodoRevision: ("items",),
}
"""The fields that hold what the model wrote."""
KEPT = {"items": ("id", "key", "status"), "detail": ("digest", "state", "media_type", "fault")}
"""Values within JSON fields that the site itself looks things up by."""

Row = TypeVar("Row", bound=Model)
Replacements = Mapping[str, str]


@dataclass(frozen=True)
class Redaction:
    """The secrets that may not leave the site, each with what replaces it, longer ones first.

    Only rows of `turns` are changed: those that ran on this site. `printed` are the secrets that their tools
    printed.
    """

    secrets: Replacements = field(repr=False)
    printed: Replacements = field(repr=False)
    turns: Set[int]

    @classmethod
    def of(cls, conversation: Conversation) -> Redaction:
        """The redaction of a conversation's record. Reads what its tools printed, a few calls at a time."""
        secrets = _replacements(conversation)
        # A worker that claims a turn raises its fence; none has claimed a turn that was imported.
        turns = frozenset(conversation.turns.filter(fence__gt=0).values_list("pk", flat=True))
        return cls(secrets, _printed(conversation, secrets), turns)

    def row(self, row: Row) -> Row:
        """The row with its loaded values redacted; it is not to be saved any more."""
        is_users = isinstance(row, Message) and row.role == Message.Role.USER
        if not is_users and getattr(row, "turn_id", None) in self.turns:
            _redact(row, PRINTED, self.secrets)
            _redact(row, WRITTEN, self.printed)
        return row

    def title(self, title: str) -> str:
        """The conversation's title, which the model may have written."""
        return str(_redacted(title, self.printed))


def _redact(row: Model, fields: Mapping[type[Model], tuple[str, ...]], by: Replacements) -> None:
    for name in fields.get(type(row), ()):
        if by and name in row.__dict__:
            value = row.__dict__[name]
            redacted = _redacted_json(value, by) if name == "arguments" else _redacted(value, by, name)
            setattr(row, name, redacted)


def _redacted(value: Any, by: Replacements, field_name: str = "") -> Any:
    """The text, or the JSON value with its texts redacted; names within it stay."""
    if isinstance(value, str):
        for secret, instead in by.items():
            value = value.replace(secret, instead)
        return value
    if isinstance(value, dict):
        kept = KEPT.get(field_name, ())
        return {
            name: each if name in kept else _redacted(each, by, field_name) for name, each in value.items()
        }
    return [_redacted(each, by, field_name) for each in value] if isinstance(value, list) else value


def _redacted_json(text: str, by: Replacements) -> str:
    """The same for JSON as the model wrote it: JSON stays JSON."""
    try:
        given = clean_json(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return str(_redacted(text, by))
    redacted = _redacted(given, by)
    return text if redacted == given else json.dumps(redacted, ensure_ascii=False)


def _printed(conversation: Conversation, secrets: Replacements) -> Replacements:
    calls = ToolCall.objects.filter(turn__conversation=conversation, turn__fence__gt=0).order_by()
    found: set[str] = set()
    for values in calls.values_list("output", "detail").iterator(chunk_size=20):
        texts = list(_texts(values))
        found |= {each for each in secrets.keys() - found if any(each in text for text in texts)}
    return {secret: instead for secret, instead in secrets.items() if secret in found}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _replacements(conversation: Conversation) -> Replacements:
    long_enough = (each for each in _secrets(conversation) if len(each) >= SHORTEST)
    found = dict.fromkeys(islice(dict.fromkeys(long_enough), MOST), REDACTED)
    folder = str(folder_of(conversation))
    found |= {folder: MOUNT} if len(folder) >= SHORTEST_FOLDER else {}
    return dict(sorted(found.items(), key=lambda each: len(each[0]), reverse=True))


def _secrets(conversation: Conversation) -> Iterator[str]:
    yield from (settings.SECRET_KEY, settings.METRICS_TOKEN, settings.MODEL_API_KEY or "")
    usable = Q(owner=None) | Q(owner=conversation.owner_id)
    for connection in Connection.objects.filter(usable).order_by(F("owner").asc(nulls_first=True), "pk"):
        try:
            opened = connection.opened
        except SecretUnreadableError:
            continue
        yield opened.key
        for value in opened.headers.values():
            yield from value.split()  # of "Bearer sk-..." the second word is the secret
