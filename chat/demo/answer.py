"""The demo model's answer to a request."""

from __future__ import annotations

from chat.demo.reply import Reply, Request


def answer(request: Request) -> Reply:
    """What the demo says or does next, derived from the request alone."""
    return Reply(text="I am the built-in demo, not an AI.")
