"""Resync: a page reports what it has, and gets what it lacks.

A page asks when it connects, when a frame is missing, when a swap failed, and when its tab is shown again.
Heartbeats carry the same report; they are batched and answered only with whether anything is missing.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from django.utils.translation import gettext as _

from chat.live.frames import END, Position, path_frame, position_of, resync_frame, turn_message
from chat.live.regions import REGIONS, ConversationState, Region, transcript_message
from chat.models import Turn

TRANSCRIPT = "transcript"  # the key under which a page reports the version of its path
MAX_REGIONS = 40
MAX_KEY = 2**63 - 1
MAX_VERSION = 100  # characters

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


NOTHING = Position(0, 0, 0)


@dataclass(frozen=True)
class Have:
    position: Position = NOTHING
    regions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Have:
        """Parse the message; raises ValueError with a message for the user."""
        at, regions = content.get("at", [0, 0, 0]), content.get("regions", {})
        numbers = isinstance(at, list) and len(at) == 3 and all(type(each) is int for each in at)
        named = isinstance(regions, dict) and len(regions) <= MAX_REGIONS
        if not numbers or not named or not all(isinstance(each, str) for each in regions.values()):
            raise ValueError(
                _('Invalid request; expected {"type": "have", "at": [turn, fence, n], "regions": {}}.')
            )
        position = Position(*(max(0, min(each, MAX_KEY)) for each in at))
        return cls(position, {name: version[:MAX_VERSION] for name, version in regions.items()})

    def without(self, region: str) -> Have:
        return replace(self, regions={name: each for name, each in self.regions.items() if name != region})


@dataclass(frozen=True)
class Lacking:
    """What a page lacks: whether turns, and the names of regions; `path` if it shows another path."""

    turns: bool
    regions: tuple[str, ...]
    path: bool = False

    def __bool__(self) -> bool:
        return self.turns or self.path or bool(self.regions)


def lacking(state: ConversationState, have: Have) -> Lacking:
    """What the page lacks. Does not use the database."""
    path = have.regions.get(TRANSCRIPT, version := str(state.row.path_version)) != version
    turns = path or state.position > have.position
    # A worker updates these, or a part of them; a page that missed it gets them with the turn.
    by_worker = ("meter", "panel", "sidebar") if turns else ()
    regions = lacking_regions(state, have, REGIONS)
    return Lacking(turns, tuple(dict.fromkeys((*by_worker, *regions))), path)


def lacking_regions(state: Any, have: Have, regions: Mapping[str, Region]) -> list[str]:
    return [
        name
        for name, region in regions.items()
        if region.version(state) not in (None, have.regions.get(name, ""))
    ]


def turns_after(state: ConversationState, have: Have) -> list[int]:
    """The primary keys of the turns that the page lacks, oldest first. Reads the database.

    One that began after the state was read is left out: a page that is ahead of the state would drop the
    drawing of the turn before, take this one, and drop the frame that ends the other. Its frames follow.
    """
    ended = have.position.number >= END
    turns = Turn.objects.filter(conversation=state.conversation.pk, on_path=True).order_by("pk")
    known = {"pk__gt": have.position.turn} if ended else {"pk__gte": have.position.turn}
    return list(turns.filter(**known, pk__lte=state.position.turn).values_list("pk", flat=True))


def drawn_path(state: ConversationState) -> str:
    """The frame that redraws the transcript, for a page that shows another path."""
    return path_frame(state.position, transcript_message(state))


def drawn_turn(state: ConversationState, turn_id: int) -> str:
    """The frame that draws a turn from its rows; "" if it was deleted.

    The rows may be newer than the state, but the frame has the state's position, so that the page still
    accepts the frame that brings the rest, such as the regions of the turn's end.
    """
    turn = Turn.whole(turn_id)
    if turn is None:
        return ""
    position = state.position if turn_id == state.position.turn else position_of(turn)
    return resync_frame(position, turn_message(turn))


def drawn_regions(state: Any, names: Iterable[str], regions: Mapping[str, Region] = REGIONS) -> str:
    return "".join(regions[name].message(state) for name in names)


class Coalescer(Generic[K, T]):
    """Answers requests in batches: those that arrive during a run, or within `delay` seconds, share the next.

    So a run always begins after the requests it answers. It returns an answer for each key that it knows.
    """

    def __init__(self, run: Callable[[list[K]], Awaitable[Mapping[K, T]]], delay: float = 0.0) -> None:
        self._run = run
        self._delay = delay
        self._waiting: dict[K, list[asyncio.Future[T | None]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, key: K) -> T | None:
        """The answer for the key; None if there is none. Raises what `run` raised."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T | None] = loop.create_future()
        self._waiting.setdefault(key, []).append(answer)
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            # A fresh context: the batch must not inherit anything from the first socket.
            self._task = asyncio.create_task(self._work(), context=contextvars.Context())
        return await answer

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._delay)
            waiting, self._waiting = self._waiting, {}
            try:
                answers = await self._run(list(waiting))
            except Exception as error:
                for future in _open_futures(waiting):
                    future.set_exception(error)
                continue
            for key, futures in waiting.items():
                for future in _open_futures({key: futures}):
                    future.set_result(answers.get(key))


def _open_futures(waiting: Mapping[Any, list[asyncio.Future[Any]]]) -> Iterable[asyncio.Future[Any]]:
    return (future for futures in waiting.values() for future in futures if not future.done())
