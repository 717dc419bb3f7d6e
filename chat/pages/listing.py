"""Which of a person's conversations a list shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import QueryDict

from chat.models import Conversation
from chat.models.conversation_queryset import ConversationQuerySet
from chat.models.tag import LONGEST, normalised

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


@dataclass(frozen=True)
class Listing:
    """What an address asks for: those with open todos, the archive, those with a tag."""

    unfinished: bool = False
    archived: bool = False
    tag: str = ""

    @classmethod
    def asked(cls, query: QueryDict) -> Listing:
        """What the query of a list's address asks for; nonsense asks for nothing."""
        tag = normalised(query.get("tag", ""))
        return cls(query.get("todos") == "unfinished", query.get("archived") == "1", tag[: 2 * LONGEST])

    def of(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """The user's conversations that it asks for, in the order of the list."""
        found = Conversation.objects.visible_to(user)
        if self.unfinished:
            found = found.unfinished()
        if self.tag:
            found = found.tagged(self.tag)
        return found.archived() if self.archived else found.current().pinned_first()

    @property
    def query(self) -> str:
        """The same as an address has it, without a page."""
        query = QueryDict(mutable=True)
        if self.unfinished:
            query["todos"] = "unfinished"
        if self.archived:
            query["archived"] = "1"
        if self.tag:
            query["tag"] = self.tag
        return query.urlencode()
