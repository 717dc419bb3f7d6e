"""`manage.py runworker agent`: a worker of its own, and when it says no."""

from __future__ import annotations

import re
import signal
import urllib.request
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from chat.demo.reply import Reply
from chat.models import Conversation, Turn
from tests.faults.machines import RedisServer
from tests.management.conftest import free_port
from tests.management.site import Site
from tests.model_server import ScriptedModel
from tests.serving import until


def queued(owner: User, text: str = "hello") -> Turn:
    """A turn that no worker has claimed."""
    return Conversation.begin(owner, text, uuid.uuid4(), None).turns.get()


def status(turn: Turn) -> str:
    return Turn.objects.get(pk=turn.pk).status


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["other"], "invalid choice: 'other'"),
        (["agent", "--metrics", "9100"], "--metrics takes HOST:PORT"),
        (["agent", "--metrics", "127.0.0.1:x"], "--metrics takes HOST:PORT"),
        (["agent", "--metrics", "127.0.0.1:70000"], "--metrics takes HOST:PORT"),
    ],
)
def test_it_is_refused_what_it_does_not_take(settings: Any, words: list[str], sentence: str) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9"
    with pytest.raises(CommandError, match=re.escape(sentence)):
        call_command("runworker", *words)


def test_it_is_refused_without_redis(settings: Any) -> None:
    settings.REDIS_URL = ""
    with pytest.raises(CommandError, match=r"needs REDIS_URL.* reaches no other process"):
        call_command("runworker", "agent")


def test_it_is_refused_when_redis_does_not_answer(site: Site) -> None:
    site.settings["REDIS_URL"] = f"redis://127.0.0.1:{free_port()}"
    done = site.run("runworker", "agent")
    assert done.returncode == 1
    assert "Redis does not answer" in done.stderr


def test_it_waits_a_moment_for_redis(site: Site) -> None:
    server = RedisServer()
    site.settings["REDIS_URL"] = server.address
    worker = site.start("runworker", "agent")
    until(lambda: "does not answer" in worker.written, lambda: worker.written)
    server.start()
    try:
        until(lambda: "Taking turns" in worker.written, lambda: worker.written)
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    finally:
        server.kill()


def test_it_takes_a_turn_that_waits_and_shows_its_figures(
    site: Site, scripted: ScriptedModel, owner: User, redis_url: str
) -> None:
    site.settings["REDIS_URL"] = redis_url
    scripted.script(Reply(text="Here I am."))
    turn = queued(owner)
    place = f"127.0.0.1:{free_port()}"
    worker = site.start("runworker", "agent", "--metrics", place)
    until(lambda: status(turn) == "completed", lambda: worker.written)
    assert [message.text for message in turn.messages.all()] == ["hello", "Here I am."]
    with urllib.request.urlopen(f"http://{place}/metrics", timeout=10) as response:
        lines = response.read().decode().splitlines()
    assert "agentsite_queue_wait_seconds_count 1.0" in lines
    assert "agentsite_step_seconds_count 1.0" in lines
    worker.signal(signal.SIGINT)
    assert worker.ended() == 0
    assert "Traceback" not in worker.written


def test_it_hands_its_turns_over_when_it_is_told_to_go(
    site: Site, scripted: ScriptedModel, owner: User, redis_url: str
) -> None:
    site.settings["REDIS_URL"] = redis_url
    scripted.script(Reply(text="I begin and never end.", stall_after=2))
    turn, later = queued(owner), queued(owner, "later")
    site.settings["MAX_TURNS"] = "1"
    worker = site.start("runworker", "agent")
    scripted.wait_for_requests()
    until(lambda: turn.messages.filter(role="assistant").exists())
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert status(turn) == "queued"
    assert status(later) == "queued"  # nothing more is claimed on the way out
    assert "Traceback" not in worker.written
