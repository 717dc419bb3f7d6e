"""What the sidebar of an open tab says of the person's conversations, and what it is to be told."""

from __future__ import annotations

from django.template.loader import render_to_string

from chat.live.attention import Attention, attention_of
from chat.live.fragments import partial
from chat.live.sidebar_list import sidebar_list_of, sidebar_message
from chat.models import Conversation


class Sidebar:
    """The link to the board and the list beneath it, as one tab has them.

    Which list a page came with it says itself, by its digest; until then none is drawn for it. `page` is the
    conversation whose page it is; None on the board.
    """

    def __init__(self, owner_id: int, page: Conversation | None = None) -> None:
        self.owner_id = owner_id
        self.page = page
        self.attention: Attention | None = None
        self.digest: str | None = None

    def hear(self, digest: str) -> None:
        """The page says which list it shows."""
        self.attention, self.digest = None, digest

    def suspect(self) -> None:
        """Somebody else has drawn in the list."""
        if self.digest is not None:
            self.hear("")

    def news(self) -> list[str]:
        """The same as `message` with the attention of this moment, in a list that is empty for nothing."""
        message = self.message(attention_of([self.owner_id])[self.owner_id])
        return [message] if message else []

    def message(self, attention: Attention) -> str:
        """The socket message for what the tab shows otherwise; empty for nothing. Reads the database."""
        shown, self.attention = self.attention, attention
        link = "" if shown == attention else _link_message(attention, on_board=self.page is None)
        return link + self._list_message()

    def _list_message(self) -> str:
        if self.digest is None:
            return ""
        rows = sidebar_list_of(self.owner_id)
        shown, self.digest = self.digest, rows.digest
        return "" if shown == rows.digest else sidebar_message(rows, self.page)


def _link_message(attention: Attention, *, on_board: bool) -> str:
    html = render_to_string("partials/_board_link.html", {"attention": attention, "on_board": on_board})
    return partial("#board-link", "outerMorph", html)
