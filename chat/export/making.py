"""A conversation made of a file: all of its rows in one transaction, with the times that they had."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from chat.agent.workspace import Workspace
from chat.export.building import Building
from chat.export.consistency import Row, check, refused
from chat.files.pictures import Album
from chat.files.place import folder_of, quota_of, remove_workspace
from chat.models import Conversation, Turn
from chat.models.search.index import reindex
from chat.models.tag import Tag, TagRefused

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def make(file: Row, owner: User) -> Conversation:
    """The owner's new conversation, equal to the one in the file; raises FileRefused, and nothing is made.

    `file` is as its schema wants it. The workspace is the conversation's own, and empty. What it took counts
    in nobody's bill: only calls of models made here do.
    """
    check(file)
    building = Building(file, owner)
    conversation = building.conversation
    try:
        with transaction.atomic():
            for row, related in building.rows:
                for name, other in related.items():
                    setattr(row, name, other)  # which has its key by now
                row.save_base(raw=True, force_insert=True)  # raw: with the times that they had
            Turn.objects.bulk_update(building.settle(), ["profile_then"], batch_size=50)
            _tag(conversation, file["conversation"].get("tags", []))
            _keep_pictures(file["pictures"], Album(conversation.pk))
            Workspace.create(folder_of(conversation), quota_of(conversation))
    except BaseException:
        remove_workspace(conversation.pk)
        raise
    reindex(conversation)  # a transaction of its own: it takes a while, in which nobody else writes
    return conversation


def _tag(conversation: Conversation, words: list[str]) -> None:
    Tag.keep_still(conversation.owner_id)
    for place, word in enumerate(words):
        try:
            conversation.tags.add(Tag.of(conversation.owner_id, word))
        except TagRefused as refusal:
            raise refused(("conversation", "tags", place), _("is no tag here: %s") % refusal) from None


def _keep_pictures(rows: list[Row], album: Album) -> None:
    for place, row in enumerate(rows):
        if row["data"] is None:
            continue
        try:
            data = b64decode(row["data"], validate=True)
        except (binascii.Error, ValueError):
            raise refused(("pictures", place, "data"), _("is no base64")) from None
        if album.keep("", data).digest != row["digest"]:
            raise refused(("pictures", place), _("is no picture, or not the one of that digest"))
