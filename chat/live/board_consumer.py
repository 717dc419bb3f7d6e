"""The socket of a user's board: answers what the page lacks."""

from __future__ import annotations

from functools import partial

from chat.database import in_database
from chat.live.admission import signed_in
from chat.live.board_regions import BOARD_REGIONS, BoardState, board_states_of
from chat.live.doorbell import board_group
from chat.live.page_consumer import PageConsumer, batched, beating
from chat.live.resync import Have, Lacking, drawn_regions, lacking_regions


class BoardConsumer(PageConsumer):
    """Speaks with one tab that shows a board."""

    states = drawings = batched(board_states_of)
    heartbeats = beating(board_states_of)

    async def admit(self) -> bool:
        """Let a user in who is signed in."""
        user = await in_database(signed_in, self.scope)
        if user is not None:
            self.key = self.user_id = user.pk
        return user is not None

    def groups_to_join(self) -> list[str]:
        """The board's own."""
        return [board_group(self.key)]

    def lacking(self, state: BoardState, have: Have) -> Lacking:
        """The sections that differ, all of them in one message: a conversation goes from one to another
        at once.
        """
        return Lacking(turns=False, regions=tuple(lacking_regions(state, have, BOARD_REGIONS)))

    async def send_lacking(self, state: BoardState, have: Have, lacks: Lacking) -> None:
        """Send them."""
        draw = partial(drawn_regions, state, lacks.regions, BOARD_REGIONS)
        if html := await in_database(state.once, lacks.regions, draw):
            await self.send(text_data=html)
