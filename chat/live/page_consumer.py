"""What the sockets of all live pages have in common: who may be there, and answers to what the page lacks."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import uuid
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, ClassVar

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.utils.translation import gettext as _

from chat import measures
from chat.database import in_database
from chat.live.broadcast import channel_layer_responds, worker_responds
from chat.live.resync import Coalescer, Have, Lacking
from chat.live.socket_auth import signed_in_users

log = logging.getLogger(__name__)

CHECK = 8.0  # seconds between looks whether the users of all open sockets are still signed in
WATCH = 1.0  # seconds between looks whether Redis passes messages on
HEARTBEATS = 1.5  # seconds for which heartbeats are collected

MOST = 60  # sockets of one user in a process: each costs memory, the more if nobody reads it

CLOSE_NOT_FOUND = 4404
CLOSE_TOO_MANY = 4429


class PageConsumer(AsyncWebsocketConsumer):
    """Speaks with one open tab. It remembers nothing of what it has sent: the page says what it has."""

    key: Any
    user_id: int
    states: ClassVar[Coalescer[Any, Any]]  # to compare with what a page has
    drawings: ClassVar[Coalescer[Any, Any]]  # only to draw from
    heartbeats: ClassVar[Coalescer[Any, Any]]

    async def admit(self) -> bool:
        """Whether the user may be here; sets `key` and `user_id`."""
        raise NotImplementedError

    def groups_to_join(self) -> list[str]:
        """The channel layer's groups whose messages concern the tab."""
        raise NotImplementedError

    def lacking(self, state: Any, have: Have) -> Lacking:
        """What the page lacks that has so much."""
        raise NotImplementedError

    async def send_lacking(self, state: Any, have: Have, lacks: Lacking) -> None:
        """Send that."""
        raise NotImplementedError

    async def connect(self) -> None:
        """Accept, then look who is there; the page asks for what it lacks once it is connected."""
        self.running: set[asyncio.Task[None]] = set()
        self.joined: list[str] = []
        await self.accept()
        if not await self.admit():
            await self.close(code=CLOSE_NOT_FOUND)
            return
        if not sockets.has_room_for(self.user_id):
            await self.send_json(
                type="error", message=_("Too many tabs are open. Close some, then reload this page.")
            )
            await self.close(code=CLOSE_TOO_MANY)
            return
        self.joined = self.groups_to_join()
        for group in self.joined:
            await self.channel_layer.group_add(group, self.channel_name)
        sockets.join(self)
        measures.open_sockets.inc()

    async def disconnect(self, code: int) -> None:
        """Leave the groups. Whatever runs goes on running."""
        for task in self.running:
            task.cancel()
        for group in self.joined:
            await self.channel_layer.group_discard(group, self.channel_name)
        if self in sockets.open:
            sockets.leave(self)
            measures.open_sockets.dec()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a message. Unlike Channels' own, without a visit to the database for each of them."""
        handler = getattr(self, message["type"].replace(".", "_"), None)
        if handler is None:
            raise ValueError(f"No handler for message type {message['type']}")
        await handler(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A message from the page: handle it, or say why not."""
        if not self.joined:
            return  # the socket is being closed
        try:
            await self.handle(content_of(text_data))
        except ValueError as error:
            await self.send_json(type="error", message=str(error))

    async def handle(self, content: dict[str, Any]) -> None:
        """Handle what the page says; raises ValueError with a sentence."""
        match content.get("type"):
            case "have":
                await self._answer(Have.of(content))
            case "heartbeat":
                self.run(self._compare(Have.of(content)))
            case _:
                raise ValueError(_("Messages cannot be sent from this page. Open a conversation first."))

    async def _answer(self, have: Have) -> None:
        """Send what the page lacks. Frames that arrive during this wait for it, so that they come behind."""
        measures.resyncs.inc()
        state = await self.states(self.key)
        if state is None:
            await self.close(code=CLOSE_NOT_FOUND)
            return
        if lacks := self.lacking(state, have):
            await self.send_lacking(state, have, lacks)
        await self.send_json(type="resynced")

    async def _compare(self, have: Have) -> None:
        """Have the page ask if anything is missing; say whether a worker is there for what runs."""
        state, has_worker = await self.heartbeats(self.key) or (None, True)
        if state is None:
            await self.close(code=CLOSE_NOT_FOUND)
            return
        if self.lacking(state, have):
            await self.send_json(type="changed")
        await self.send_json(type="alive", worker=has_worker)

    async def regions_changed(self, hint: dict[str, Any]) -> None:
        """Somebody has changed what these regions show: draw them."""
        state = await self.drawings(self.key)
        if state is not None:
            names = tuple(hint["regions"])
            await self.send_lacking(state, Have(), Lacking(turns=False, regions=names))

    async def resync(self, _hint: dict[str, Any]) -> None:
        """The channel layer may have lost messages: have the page ask."""
        await self.send_json(type="changed")

    async def session_ended(self, message: dict[str, Any]) -> None:
        """A session of this user may have ended: check whether it is the one of this socket."""
        if message["except"] != self.scope["session"].session_key:
            await self.check()

    async def check(self) -> bool:
        """Whether the user is still signed in; closes the socket if not."""
        [user] = await in_database(signed_in_users, [self.scope])
        if user is None:
            await self.close(code=CLOSE_NOT_FOUND)
        return user is not None

    async def send_json(self, **content: Any) -> None:
        """Say something to the page's script."""
        await self.send(text_data=json.dumps(content))

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something without holding up the frames."""
        task = asyncio.create_task(self._logged(work))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def _logged(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # the next heartbeat tells the page what it lacks
            log.warning("work for an open page failed: %r", error)


class OpenSockets:
    """The sockets of this process, whose users are checked every CHECK seconds, in two queries for all."""

    def __init__(self) -> None:
        self.open: set[PageConsumer] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def has_room_for(self, user_id: int) -> bool:
        """Whether the user may open another."""
        return sum(socket.user_id == user_id for socket in self.open) < MOST

    def join(self, socket: PageConsumer) -> None:
        """From now on its user is checked."""
        self.open.add(socket)
        loop = asyncio.get_running_loop()
        if not self._tasks or self._tasks[0].done() or self._tasks[0].get_loop() is not loop:
            works = [self._check_on(), *([self._watch_layer()] if settings.REDIS_URL else [])]
            self._tasks = [asyncio.create_task(work, context=contextvars.Context()) for work in works]

    def leave(self, socket: PageConsumer) -> None:
        """It has closed."""
        self.open.discard(socket)
        if not self.open:
            for task in self._tasks:
                task.cancel()
            self._tasks = []

    async def _watch_layer(self) -> None:
        """Have every page ask for what it lacks once a channel layer that was away is back."""
        was_up = True
        while True:
            await asyncio.sleep(WATCH)
            is_up = await channel_layer_responds()
            if is_up and not was_up:
                for socket in list(self.open):
                    await socket.resync({})
            was_up = is_up

    async def _check_on(self) -> None:
        while True:
            await asyncio.sleep(CHECK)
            try:
                await self._check()
            except Exception as error:  # a database that is away comes back
                log.warning("the users of open sockets could not be checked: %s", error)

    async def _check(self) -> None:
        checked = list(self.open)
        users = await in_database(signed_in_users, [socket.scope for socket in checked])
        for socket, user in zip(checked, users, strict=True):
            if user is None:
                await socket.close(code=CLOSE_NOT_FOUND)


sockets = OpenSockets()


def batched(read: Callable[[list[Any]], Any]) -> Coalescer[Any, Any]:
    """Reads the states for the questions of many tabs at once, on a database thread."""

    async def run(keys: list[Any]) -> Any:
        return await in_database(read, keys)

    return Coalescer(run)


def beating(read: Callable[[list[Any]], Any]) -> Coalescer[Any, Any]:
    """The same for heartbeats: each key's state, and whether a worker is there for what is active."""

    async def run(keys: list[Hashable]) -> dict[Hashable, tuple[Any, bool]]:
        states = await in_database(read, keys)
        active = any(state.is_active for state in states.values())
        has_worker = await worker_responds() if active else True
        return {key: (state, has_worker or not state.is_active) for key, state in states.items()}

    return Coalescer(run, HEARTBEATS)


MAX_FRAME = 256 * 1024  # characters of one incoming frame
MAX_KEY = 10**18


def content_of(data: str | None) -> dict[str, Any]:
    """What an incoming frame holds; raises ValueError with a sentence."""
    if data is None or len(data) > MAX_FRAME:
        raise ValueError(_("This frame is not a message: it must be a JSON object of at most 256 KiB."))
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _no_message()
    return content


def message_of(content: dict[str, Any]) -> tuple[str, uuid.UUID]:
    """Text and client id of a message; raises ValueError with a sentence."""
    try:
        text = content["text"]
        client_id = uuid.UUID(content["client_id"]) if "client_id" in content else uuid.uuid4()
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _no_message() from None
    if not isinstance(text, str):
        raise ValueError(_("The text of a message must be a string."))
    return text, client_id


def seen_of(content: dict[str, Any]) -> int:
    """The turn up to which the person looks at a conversation; raises ValueError with a sentence."""
    seen = content.get("turn")
    if not isinstance(seen, int):
        raise _no_message()
    return max(0, min(seen, MAX_KEY))


def _no_message() -> ValueError:
    return ValueError(_("This frame is not a message: it must be a JSON object with a text and a client_id."))
