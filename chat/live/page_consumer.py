"""The base of live pages' sockets: authorization, resync and heartbeats."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import uuid
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any, ClassVar

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language_from_request
from django.utils.translation import gettext as _

from chat import measures
from chat.database import in_database
from chat.live.broadcast import channel_layer_responds, worker_responds
from chat.live.resync import Coalescer, Have, Lacking
from chat.live.socket_auth import signed_in_users
from chat.models import Reader

log = logging.getLogger(__name__)

SESSION_CHECK_INTERVAL = 8.0  # seconds between checks that all users are still signed in
LAYER_CHECK_INTERVAL = 1.0  # seconds between checks that Redis delivers messages
WORKER_PATIENCE = 3.0  # seconds in which a busy worker answers
HEARTBEAT_DELAY = 1.5  # seconds for which heartbeats are batched

MAX_SOCKETS_PER_USER = 60  # in one process: each costs memory, more if nobody reads from it

CLOSE_NOT_FOUND = 4404
CLOSE_TOO_MANY = 4429


def accepted_language(scope: dict[str, Any]) -> str:
    request = HttpRequest()
    for name, value in scope["headers"]:
        if name == b"accept-language":
            request.META["HTTP_ACCEPT_LANGUAGE"] = value.decode("latin-1")
    return get_language_from_request(request)


class PageConsumer(AsyncWebsocketConsumer):
    """The socket of one open tab. It does not remember what it has sent: the page reports what it has."""

    key: Any
    user_id: int
    browser_language: str  # of this browser; the user may have several
    joined: Sequence[str] = ()  # the groups, once the user is admitted
    is_new = True  # until its first resync was answered
    states: ClassVar[Coalescer[Any, Any]]  # to compare with a page's report
    drawings: ClassVar[Coalescer[Any, Any]]  # only for rendering
    heartbeats: ClassVar[Coalescer[Any, Any]]

    async def admit(self) -> bool:
        """Whether the user has access; sets `key` and `user_id`."""
        raise NotImplementedError

    def groups_to_join(self) -> list[str]:
        raise NotImplementedError

    def lacking(self, state: Any, have: Have) -> Lacking:
        raise NotImplementedError

    async def send_lacking(self, state: Any, have: Have, lacks: Lacking) -> None:
        raise NotImplementedError

    async def connect(self) -> None:
        """Accept, then authorize; the page requests what it lacks once it is connected."""
        self.running: set[asyncio.Task[None]] = set()
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
        self.browser_language = accepted_language(self.scope)
        self.activate_reader()
        self.joined = self.groups_to_join()
        for group in self.joined:
            await self.channel_layer.group_add(group, self.channel_name)
        sockets.join(self)
        measures.open_sockets.inc()

    async def disconnect(self, code: int) -> None:
        for task in self.running:
            task.cancel()
        for group in self.joined:
            await self.channel_layer.group_discard(group, self.channel_name)
        if self in sockets.open:
            sockets.leave(self)
            measures.open_sockets.dec()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a message. Unlike Channels' own, it does not use the database for each one."""
        handler = getattr(self, message["type"].replace(".", "_"), None)
        if handler is None:
            raise ValueError(f"No handler for message type {message['type']}")
        if self.joined and message["type"] != "chat.frame":  # which is forwarded as it is
            self.activate_reader()
        await handler(message)

    def activate_reader(self) -> None:
        Reader.of(self.scope["user"], self.browser_language).activate()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.joined:
            return  # the socket is being closed
        try:
            await self.handle(parse_json(text_data))
        except ValueError as error:
            await self.send_json(type="error", message=str(error))

    async def handle(self, content: dict[str, Any]) -> None:
        """Handle the page's message; raises ValueError with a message for the user."""
        match content.get("type"):
            case "have":
                await self._send_missing(Have.of(content))
            case "heartbeat":
                self.run(self._answer_heartbeat(Have.of(content)))
            case _:
                raise ValueError(_("Messages cannot be sent from this page. Open a conversation first."))

    async def _send_missing(self, have: Have) -> None:
        """Answer a resync. Frames that arrive in the meantime are sent after the answer."""
        measures.resyncs.inc()
        state = await self.states(self.key)
        if state is None:
            await self.close(code=CLOSE_NOT_FOUND)
            return
        if self.is_new and state.owner.attention.running:
            have = have.without("sidebar")  # a plan may have changed before this socket listened
        self.is_new = False
        if lacks := self.lacking(state, have):
            await self.send_lacking(state, have, lacks)
        await self.send_json(type="resynced")

    async def _answer_heartbeat(self, have: Have) -> None:
        state, has_worker = await self.heartbeats(self.key) or (None, True)
        if state is None:
            await self.close(code=CLOSE_NOT_FOUND)
            return
        if self.lacking(state, have):
            await self.send_json(type="changed")
        await self.send_json(type="alive", worker=has_worker)

    async def chat_frame(self, frame: dict[str, Any]) -> None:
        await self.send(text_data=frame["text"])

    async def regions_changed(self, hint: dict[str, Any]) -> None:
        state = await self.drawings(self.key)
        if state is None:
            await self.close(code=CLOSE_NOT_FOUND)
            return
        await self.send_lacking(state, Have(), Lacking(turns=False, regions=tuple(hint["regions"])))

    async def resync(self, _hint: dict[str, Any]) -> None:
        """Make the page request a resync: the channel layer may have lost messages."""
        await self.send_json(type="changed")

    async def session_ended(self, message: dict[str, Any]) -> None:
        if message["except"] != self.scope["session"].session_key:
            await self.check_session()

    async def check_session(self) -> bool:
        [user] = await in_database(signed_in_users, [self.scope])
        if user is None:
            await self.close(code=CLOSE_NOT_FOUND)
        else:
            self.scope["user"] = user
        return user is not None

    async def send_json(self, **content: Any) -> None:
        await self.send(text_data=json.dumps(content))

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._logged(work))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def _logged(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # the next heartbeat makes the page resync
            log.warning("background task of a socket failed: %r", error)


class OpenSockets:
    """This process's open sockets. Sessions are checked periodically, with two queries for all."""

    def __init__(self) -> None:
        self.open: set[PageConsumer] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def has_room_for(self, user_id: int) -> bool:
        return sum(socket.user_id == user_id for socket in self.open) < MAX_SOCKETS_PER_USER

    def join(self, socket: PageConsumer) -> None:
        self.open.add(socket)
        loop = asyncio.get_running_loop()
        if not self._tasks or self._tasks[0].done() or self._tasks[0].get_loop() is not loop:
            works = [self._check_periodically(), *([self._watch_layer()] if settings.REDIS_URL else [])]
            self._tasks = [asyncio.create_task(work, context=contextvars.Context()) for work in works]

    def leave(self, socket: PageConsumer) -> None:
        self.open.discard(socket)
        if not self.open:
            for task in self._tasks:
                task.cancel()
            self._tasks = []

    async def _watch_layer(self) -> None:
        """Make every page resync when the channel layer is back after an outage."""
        was_up = True
        while True:
            await asyncio.sleep(LAYER_CHECK_INTERVAL)
            is_up = await channel_layer_responds()
            if is_up and not was_up:
                for socket in list(self.open):
                    await socket.resync({})
            was_up = is_up

    async def _check_periodically(self) -> None:
        while True:
            await asyncio.sleep(SESSION_CHECK_INTERVAL)
            try:
                await self._check()
            except Exception as error:  # the database may come back
                log.warning("the sessions of open sockets were not checked: %s", error)

    async def _check(self) -> None:
        checked = list(self.open)
        users = await in_database(signed_in_users, [socket.scope for socket in checked])
        for socket, user in zip(checked, users, strict=True):
            if user is None:
                await socket.close(code=CLOSE_NOT_FOUND)
            else:
                socket.scope["user"] = user  # with the latest preferences


sockets = OpenSockets()


def batched_states(read: Callable[[list[Any]], Any]) -> Coalescer[Any, Any]:
    """Reads states for many tabs at once, on a database thread."""

    async def run(keys: list[Any]) -> Any:
        return await in_database(read, keys)

    return Coalescer(run)


def batched_heartbeats(read: Callable[[list[Any]], Any]) -> Coalescer[Any, Any]:
    """The same for heartbeats: each key's state, and whether a worker is there for what is active."""

    async def run(keys: list[Hashable]) -> dict[Hashable, tuple[Any, bool]]:
        states = await in_database(read, keys)
        active = any(state.is_active for state in states.values())
        has_worker = await worker_responds(WORKER_PATIENCE) if active else True
        return {key: (state, has_worker or not state.is_active) for key, state in states.items()}

    return Coalescer(run, HEARTBEAT_DELAY)


MAX_MESSAGE = 256 * 1024  # characters
MAX_KEY = 10**18


def parse_json(data: str | None) -> dict[str, Any]:
    """The JSON object that a page sent; raises ValueError with a message for the user."""
    if data is None or len(data) > MAX_MESSAGE:
        raise ValueError(_("This is not a message: it must be a JSON object of at most 256 KiB."))
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _invalid_message()
    return content


def parse_message(content: dict[str, Any]) -> tuple[str, uuid.UUID]:
    """Text and client id of a message; raises ValueError with a message for the user."""
    try:
        text = content["text"]
        client_id = uuid.UUID(content["client_id"]) if "client_id" in content else uuid.uuid4()
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _invalid_message() from None
    if not isinstance(text, str):
        raise ValueError(_("The text of a message must be a string."))
    return text, client_id


def parse_seen(content: dict[str, Any]) -> int:
    seen = content.get("turn")
    if not isinstance(seen, int):
        raise _invalid_message()
    return max(0, min(seen, MAX_KEY))


def _invalid_message() -> ValueError:
    return ValueError(_("This is not a message: it must be a JSON object with a text and a client_id."))
