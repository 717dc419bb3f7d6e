"""What the sidebar of an open tab says of the person's conversations, and what it is to be told."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Set

from django.template.loader import render_to_string

from chat.live.attention import Attention, attention_of
from chat.live.fragments import listing_message, partial
from chat.models import Conversation

MARKED = 50  # of the newest unseen conversations; a sidebar has fewer rows


class Sidebar:
    """The link to the board and the marks of unseen conversations, as one tab was sent them.

    Which marks a page came with it says itself; until then no rows are drawn for it. `page` is the
    conversation whose page it is; None on the board.
    """

    def __init__(self, owner_id: int, page: Conversation | None = None) -> None:
        self.owner_id = owner_id
        self.page = page
        self.attention: Attention | None = None
        self.marked: Set[uuid.UUID] | None = None

    def hear(self, marked: Set[uuid.UUID]) -> None:
        """The page says which rows it shows with a mark."""
        self.attention, self.marked = None, marked

    def suspect(self, conversation_id: uuid.UUID) -> None:
        """The row was drawn by somebody else, so it may carry a mark or not."""
        if self.marked is not None:
            self.hear(self.marked | {conversation_id})

    def drawn(self, rows: Iterable[Conversation]) -> None:
        """All rows were drawn anew by somebody else."""
        if self.marked is not None:
            self.hear({row.pk for row in rows if row.unseen_turn_id and row != self.page})

    def news(self) -> list[str]:
        """The same as `message`, with the attention of this moment."""
        message = self.message(attention_of([self.owner_id])[self.owner_id])
        return [message] if message else []

    def message(self, attention: Attention) -> str:
        """The socket message for what the tab shows otherwise; empty for nothing. Reads the database."""
        shown, self.attention = self.attention, attention
        if shown == attention:
            return ""
        return "".join([_link_message(attention, on_board=self.page is None), *self._row_messages()])

    def _row_messages(self) -> list[str]:
        if self.marked is None:
            return []
        before, self.marked = self.marked, self._unseen()
        changed = before ^ self.marked
        rows = Conversation.objects.filter(owner=self.owner_id, pk__in=changed)
        return [listing_message(row, self.page) for row in rows.listed(0, len(changed))] if changed else []

    def _unseen(self) -> Set[uuid.UUID]:
        unseen = Conversation.objects.unseen().filter(owner=self.owner_id).order_by("-unseen_turn")
        return frozenset(unseen.values_list("pk", flat=True)[:MARKED])


def _link_message(attention: Attention, *, on_board: bool) -> str:
    html = render_to_string("partials/_board_link.html", {"attention": attention, "on_board": on_board})
    return partial("#board-link", "outerMorph", html)
