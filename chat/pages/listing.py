"""Which of a person's conversations a list shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.http import QueryDict

from chat.models import Conversation
from chat.models.conversation_queryset import ConversationQuerySet
from chat.models.tag import LONGEST, normalised
from chat.pages.search_form import SearchForm
from chat.search.narrowing import Narrowing

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


@dataclass(frozen=True)
class Listing:
    """What an address asks for: those that the filters let through, the archive, those with a tag."""

    narrowing: Narrowing = field(default_factory=Narrowing)
    archived: bool = False
    tag: str = ""

    @classmethod
    def asked(cls, form: SearchForm) -> Listing:
        """What the query of a list's address asks for, which the form is of; nonsense asks for nothing."""
        tag = normalised(form.data.get("tag", ""))
        return cls(form.narrowing(), form.data.get("archived") == "1", tag[: 2 * LONGEST])

    def of(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """The user's conversations that it asks for, in the order of the list."""
        found = self.searched(user)
        return found if self.archived else found.current().pinned_first()

    def searched(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """Those among which words are looked for, newest first: of the archive too if it is not asked for."""
        found = self.narrowing.of(Conversation.objects.visible_to(user))
        if self.tag:
            found = found.tagged(self.tag)
        return found.archived() if self.archived else found

    @property
    def unfinished(self) -> bool:
        """Whether it asks for those with open todos, and for nothing else."""
        return self == Listing(Narrowing(todos="unfinished"))

    @property
    def query(self) -> str:
        """The same as an address has it, without a page."""
        query = QueryDict(mutable=True)
        query.update(self.narrowing.asked)
        if self.archived:
            query["archived"] = "1"
        if self.tag:
            query["tag"] = self.tag
        return query.urlencode()
