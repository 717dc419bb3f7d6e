"""The user's edits of the todo list: before, during and after a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from django.db import transaction
from django.utils.translation import gettext as _

from chat.agent import TodoItem, TodoPolicy
from chat.agent.prompts import Language
from chat.agent.todo import MAX_ITEM_LENGTH, Edit, EditError, filled
from chat.models import Conversation, TodoRevision, Turn
from chat.search.index import index_revision
from chat.turns.agents import policy_of
from chat.turns.planning import items_of, stored


@dataclass(frozen=True)
class Refusal:
    """An edit that was not made: the reason, and the item's current state if it still exists."""

    edit: Edit
    sentence: str
    now: TodoItem | None = None
    is_conflict: bool = False

    @property
    def is_list(self) -> bool:
        return "\n" in self.edit.text

    @property
    def item(self) -> str:
        """The item that the user's text can still apply to; empty if it only fits a new item."""
        return self.edit.item if self.now or not self.is_conflict else ""


@dataclass(frozen=True)
class Edited:
    """The current list, if there is one, the edits that were refused, and the ids of items that are new."""

    revision: TodoRevision | None
    refusals: list[Refusal] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def edit(conversation: Conversation, seen: int, edits: Sequence[Edit]) -> Edited:
    """Apply edits in one revision. `seen` is the revision that the user was looking at, 0 for none.

    An edit that still applies is made in the current list, whatever else has changed; others are returned as
    refusals.
    """
    with transaction.atomic():
        conversation.lock()
        before = conversation.revision()
        turn = conversation.path.order_by("pk").select_related("conversation__profile").last()
        if turn is None:  # all were deleted
            sentence = _("There is no turn that a list could belong to. Send a message first.")
            return Edited(None, [Refusal(each, sentence) for each in edits])
        policy, language = _policy_and_language(conversation, turn)
        current = items_of(before.items) if before else ()
        in_view = _items_seen(conversation, seen)
        items, refusals = list(current), []
        for each in edits:
            seen_items = _last_with(conversation, each.item) if each.action == "restore" else in_view
            try:
                items = each.applied(items, seen_items, policy, language)
            except EditError as error:
                refusals.append(_refusal(each, error, policy))
        refusals = _joined(refusals)
        if items == list(current):
            return Edited(before, refusals)
        kept = {item.id for item in items} | {each.item for each in edits if each.action == "remove"}
        skipped = [item.id for item in current if item.id not in kept]
        listed = stored(filled(items, policy))
        revision = TodoRevision.edit(turn, policy.name, listed, skipped)
        index_revision(revision)
        known = {item.id for item in current}
        return Edited(revision, refusals, [item.id for item in items if item.id not in known])


def _policy_and_language(conversation: Conversation, turn: Turn) -> tuple[TodoPolicy, Language]:
    profile = turn.profile if turn.is_active and turn.profile_snapshot else conversation.profile_in_use()
    return policy_of(profile), cast(Language, profile.language)


def _items_seen(conversation: Conversation, seen: int) -> Sequence[TodoItem]:
    revision = conversation.revisions.filter(pk=seen).first()
    return items_of(revision.items) if revision else ()


def _last_with(conversation: Conversation, item_id: str) -> Sequence[TodoItem]:
    """The latest list that has the item; empty if none has."""
    for revision in conversation.path_revisions.order_by("-pk").iterator():
        if any(item["id"] == item_id for item in revision.items):
            return items_of(revision.items)
    return ()


def _joined(refusals: Sequence[Refusal]) -> list[Refusal]:
    """The refusals, with one for all additions of the same reason: their texts as a list."""
    joined: dict[object, Refusal] = {}
    for number, each in enumerate(refusals):
        key = each.sentence if each.edit.action == "add" else number
        text = f"[x] {each.edit.text}" if each.edit.done else each.edit.text
        if earlier := joined.get(key):
            text = f"{earlier.edit.text}\n{text}"
        joined[key] = replace(each, edit=replace(each.edit, text=text))
    return list(joined.values())


def _refusal(edit: Edit, error: EditError, policy: TodoPolicy) -> Refusal:
    conflict = error.kind in ("gone", "changed")
    return Refusal(edit, _sentence(error, policy), error.current, is_conflict=conflict)


def _sentence(error: EditError, policy: TodoPolicy) -> str:
    match error.kind:
        case "gone":
            return _("This item is no longer on the list.")
        case "changed":
            return _("This item has changed in the meantime.")
        case "blank":
            return _("Enter some text.")
        case "long":
            return _("An item can have at most %(count)d characters.") % {"count": MAX_ITEM_LENGTH}
        case "too_many":
            return _("The list is full: at most %(count)d items. The profile sets the limit.") % {
                "count": policy.max_items
            }
        case _:
            return _("The list does not accept this change.")
