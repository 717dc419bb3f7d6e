"""The socket of pages on which only the sidebar is live: the start page, the list, settings."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from chat.database import in_database
from chat.live.attention import attention_of
from chat.live.broadcast import OWNER_REGIONS, owner_group
from chat.live.page_consumer import PageConsumer, batched_heartbeats, batched_states
from chat.live.regions import REGIONS, OwnerState, Region, RenderCache, owner_state_of
from chat.live.resync import Have, Lacking, drawn_regions, lacking_regions
from chat.live.socket_auth import signed_in


class SidebarState:
    """The state of a page of which only the sidebar is live."""

    conversation = None
    is_active = False

    def __init__(self, owner: OwnerState) -> None:
        self.owner = owner
        self.render_cache = RenderCache()


def sidebar_states_of(owners: Iterable[int]) -> dict[int, SidebarState]:
    attention = attention_of(owners := list(owners))
    states = {owner: SidebarState(owner_state_of(owner)) for owner in owners}
    for owner, state in states.items():
        state.owner.attention = attention[owner]
    return states


class SidebarConsumer(PageConsumer):
    regions: ClassVar[Mapping[str, Region]] = {name: REGIONS[name] for name in OWNER_REGIONS}
    states = drawings = batched_states(sidebar_states_of)
    heartbeats = batched_heartbeats(sidebar_states_of)

    async def admit(self) -> bool:
        user = await in_database(signed_in, self.scope)
        if user is not None:
            self.key = self.user_id = user.pk
        return user is not None

    def groups_to_join(self) -> list[str]:
        return [owner_group(self.key)]

    def lacking(self, state: Any, have: Have) -> Lacking:
        return Lacking(turns=False, regions=tuple(lacking_regions(state, have, self.regions)))

    async def send_lacking(self, state: Any, have: Have, lacks: Lacking) -> None:
        """Send the regions in one message: a conversation moves between the board's sections atomically."""
        names = tuple(name for name in lacks.regions if name in self.regions)
        draw = functools.partial(drawn_regions, state, names, self.regions)
        if html := await in_database(state.render_cache, names, draw):
            await self.send(text_data=html)
