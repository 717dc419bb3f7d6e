"""The sections of a user's board as regions: what runs or waits, ended unseen, was left unfinished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from django.utils.html import escape

from chat.live.board import Board, filled
from chat.live.fragments import partial
from chat.live.outline import Outline, outline_of
from chat.live.regions import BoardLink, Once, OwnerState, Region, Sidebar, digest, owner_state_of


class BoardState:
    """The board of a user, as cheaply as it can be known; the whole of it is read where a section is
    drawn.
    """

    conversation = None
    is_active = False

    def __init__(self, outline: Outline, owner: OwnerState) -> None:
        self.outline = outline
        self.owner = owner
        self.once = Once()

    @cached_property
    def board(self) -> Board:
        """All that the sections show. Reads the database."""
        return filled(self.outline)


def board_states_of(owners: Iterable[int]) -> dict[int, BoardState]:
    """The boards of these users."""
    return {owner: _board_state_of(owner) for owner in owners}


def _board_state_of(owner_id: int) -> BoardState:
    outline, owner = outline_of(owner_id), owner_state_of(owner_id)
    owner.attention = outline.attention
    return BoardState(outline, owner)


class Section(Region):
    """A section of the board, drawn again where what it shows of the outline differs."""

    def __init__(self, name: str, shown: Callable[[Outline], object]) -> None:
        self.name = name
        self.target = f"#board-{name}"
        self.template = f"partials/_board_{name}.html"
        self.shown = shown

    def version(self, state: BoardState) -> str:
        return digest(self.shown(state.outline))

    def context(self, state: BoardState) -> Mapping[str, Any]:
        return {"board": state.board}


class BoardTitle(BoardLink):
    """The link to the board, and the number in the title of the board's own tab."""

    def message(self, state: BoardState) -> str:
        return super().message(state) + partial("head > title", "innerHTML", escape(state.board.title))


BOARD_REGIONS: dict[str, Region] = {
    region.name: region
    for region in (
        Section("running", lambda outline: outline.running),
        Section("unseen", lambda outline: (outline.unseen, outline.attention.unseen)),
        Section("unfinished", lambda outline: (outline.unfinished, outline.more)),
        BoardTitle(),
        Sidebar(),
    )
}
