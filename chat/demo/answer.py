"""The demo model's answer to a request."""

from __future__ import annotations

from chat.demo.desk import Desk, play
from chat.demo.reply import Reply, Request
from chat.demo.scenarios import script


def answer(request: Request) -> Reply:
    """What the demo says or does next, derived from the request alone: it remembers nothing itself."""
    desk = Desk.read(request)
    return play(script(desk), desk)
