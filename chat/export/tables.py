"""What a file has of each row: every field of every model within a conversation is named here, once.

A field that is added to a model is added here too, to `fields` or, with the reason, to `left_out`; a test
compares. One that has a default may be missing in a file, so files of before stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from django.db import models

from chat.models import (
    Attachment,
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

M = TypeVar("M", bound=models.Model)

SITES = "the key of the row in this site's database"
PLACE = "told by where the row stands in the file"
CLAIM = "who works on it at the moment"
REQUEST = "names a request of the page that sent it; it gets another one"


@dataclass(frozen=True)
class Table(Generic[M]):
    """The fields of a model that a file has under their names, and those that it has in another form."""

    model: type[M]
    fields: tuple[str, ...]
    refs: Mapping[str, str] = field(default_factory=dict)
    """To what a reference leads: a turn or step by its number, a side call by its place in its turn, a tool
    call by its step and index, a step of another turn by both numbers."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """Relations to rows of which a file has the `word`."""

    def column(self, name: str) -> models.Field[Any, Any]:
        """The model's field of that name."""
        return cast("models.Field[Any, Any]", self.model._meta.get_field(name))


_MODEL_CALL = (
    "endpoint",
    "model",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "estimated",
    "cost",
    "currency",
    "started_at",
    "ended_at",
)

CONVERSATION = Table(
    Conversation,
    ("title", "todos_left", "pinned", "archived_at", "created_at", "updated_at"),
    left_out={
        "id": "another site, or another person, has a conversation of its own",
        "owner": "whoever imports it",
        "profile": "each turn tells which it had; the next one has the default of whoever imports it",
        "workspace": "a directory of this machine",
        "unseen_turn": "what its owner has not looked at",
        "deleted_at": "what is deleted is not exported",
    },
    words=("tags",),
)
TURN = Table(
    Turn,
    (
        "status",
        "sentence",
        "blind",
        "profile_then",
        "stop_requested_at",
        "deaths",
        "created_at",
        "started_at",
        "ended_at",
    ),
    {"follows": "turn"},
    {
        "id": SITES,
        "conversation": PLACE,
        "client_id": REQUEST,
        "worker": CLAIM,
        "fence": CLAIM,
        "frame": CLAIM,
        "lease_until": CLAIM,
        "unindexed_at": "the words of what is imported are told apart anew",
    },
)
STEP = Table(
    Step, ("number", "reminder", "told", "finish_reason", *_MODEL_CALL), left_out={"id": SITES, "turn": PLACE}
)
SIDE_CALL = Table(SideCall, ("purpose", *_MODEL_CALL), left_out={"id": SITES, "turn": PLACE})
MESSAGE = Table(
    Message,
    ("role", "text", "reasoning", "extra", "complete", "cut_off", "created_at"),
    {"step": "step"},
    {"id": SITES, "turn": PLACE},
)
TOOL_CALL = Table(
    ToolCall,
    (
        "index",
        "wire_id",
        "name",
        "arguments",
        "extra",
        "status",
        "output",
        "detail",
        "shortened",
        "decision",
        "reason",
        "asked_at",
        "decided_at",
        "created_at",
        "started_at",
        "ended_at",
    ),
    {"step": "step", "shortened_in": "turn"},
    {"id": SITES, "turn": PLACE},
)
SUMMARY = Table(
    Summary,
    ("number", "until_step", "text", "carried", "created_at"),
    {"until": "turn", "side_call": "side_call"},
    {"id": SITES, "turn": PLACE},
)
REVISION = Table(
    TodoRevision,
    ("policy", "items", "author", "afterwards", "skipped", "kept", "created_at"),
    {"turn": "turn", "tool_call": "tool_call", "after": "tool_call", "told_in": "step_of_turn"},
    {"id": SITES, "conversation": PLACE},
)
FOLLOW_UP = Table(
    FollowUp,
    ("text", "status", "created_at"),
    {"turn": "turn"},
    {"id": SITES, "conversation": PLACE, "client_id": REQUEST, "taken_by": REQUEST},
)
ATTACHMENT = Table(
    Attachment,
    ("path", "media_type", "size", "digest", "fault"),
    left_out={"id": SITES, "message": PLACE, "follow_up": PLACE},
)

TABLES: tuple[Table[Any], ...] = (
    CONVERSATION,
    TURN,
    STEP,
    SIDE_CALL,
    MESSAGE,
    TOOL_CALL,
    SUMMARY,
    REVISION,
    FOLLOW_UP,
    ATTACHMENT,
)
# The parts of a turn, by their names in a file.
PARTS: dict[str, Table[Any]] = {
    "steps": STEP,
    "side_calls": SIDE_CALL,
    "messages": MESSAGE,
    "tool_calls": TOOL_CALL,
}
PARTS |= {"summaries": SUMMARY}
WITH_ATTACHMENTS = (MESSAGE, FOLLOW_UP)

# Models that belong to a conversation, and that no file has.
LEFT_OUT = {
    "Allowance": "what a person allowed is theirs to allow, and no file's",
    "ShareLink": "a link leads to the conversation that it was made for",
    "SearchShelf": "the words of what is imported are told apart anew",
    "SearchEntry": "the words of what is imported are told apart anew",
    "PlanCount": "counted again from the rows",
    "PlanFigures": "counted again from the rows",
}
