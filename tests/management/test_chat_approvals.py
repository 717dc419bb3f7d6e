"""`manage.py chat` where the agent asks first: answered at the prompt, or in a browser after all."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from chat.demo.reply import Call, Reply
from chat.models import Allowance, Profile, ToolCall, Turn, recover_abandoned_turns
from chat.models.turn_recovery import LeaseMonitor
from tests.management.site import Process, Site
from tests.model_server import ScriptedModel
from tests.serving import until

PROFILE = ("--profile", "asks FIRST")


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


@pytest.fixture(autouse=True)
def profiles(transactional_db: Any) -> None:
    Profile.objects.all().delete()
    Profile.objects.create(title="Focused", position=1)
    rules = {"bash": "ask", "write_file": "ask"}
    Profile.objects.create(title="Asks first", position=2, rules=rules)


@pytest.fixture
def asked(site: Site, scripted: ScriptedModel) -> Process:
    """A dialogue whose agent asks whether it may run a command, and then another."""
    scripted.script(Reply(tool_calls=[bash("echo one"), bash("echo two; pwd")]), Reply(text="Done."))
    process = site.start("chat", *PROFILE)
    process.type("do it\n")
    process.wait_for("Allow the agent to use bash?\n    command: echo one\n")
    process.wait_for("[a] allow once, [c] allow echo in this conversation, [d] deny > ")
    return process


def test_answers_at_the_prompt(asked: Process, scripted: ScriptedModel) -> None:
    asked.type("x\n")
    asked.wait_for("[a] allow once", times=2)
    asked.type("C\n")
    asked.wait_for("    command: echo two; pwd\n")
    asked.wait_for("[a] allow once, [c] allow this exact command in this conversation, [d] deny > ")
    asked.type("d\n")
    asked.wait_for("Reason (shown to the agent) > ")
    asked.type("one is enough\n")
    asked.wait_for("Done.\n\n")
    asked.wait_for(" s\n\n> ")
    asked.leave()
    assert asked.ended() == 0
    assert results(scripted.requests[1]) == ["one", "Error: the user denied this call. one is enough"]
    assert [call.decision for call in ToolCall.objects.order_by("pk")] == ["conversation", "denied"]
    assert str(Allowance.objects.get()) == "bash echo"
    assert "bash echo two; pwd (Denied)" in asked.written


def test_ctrl_c_at_the_question_stops_the_turn(asked: Process, scripted: ScriptedModel) -> None:
    asked.signal(signal.SIGINT)
    asked.wait_for("Stopped.\n\n> ")
    scripted.replies.clear()
    scripted.script(Reply(text="Gladly."))
    asked.type("something else\n")
    asked.wait_for("Gladly.\n\n")
    asked.wait_for(" s\n\n> ")
    asked.leave()
    assert asked.ended() == 0
    assert [turn.status for turn in Turn.objects.all()] == ["stopped", "completed"]


def test_an_answer_from_the_browser_is_told_of_and_gone_on_with(
    asked: Process, scripted: ScriptedModel
) -> None:
    ToolCall.objects.get(status="waiting").decide("denied", "from the browser")
    asked.type("a\n")
    asked.wait_for("Already answered: Denied by you.")
    asked.wait_for("    command: echo two; pwd\n")
    asked.type("a\n")
    asked.wait_for("Done.\n\n")
    asked.wait_for(" s\n\n> ")
    assert results(scripted.requests[1])[0] == "Error: the user denied this call. from the browser"


def test_a_killed_terminal_leaves_the_question_to_the_browser(asked: Process) -> None:
    asked.signal(signal.SIGKILL)
    asked.ended()
    turn = Turn.objects.get()
    assert turn.status == "waiting"
    assert recover_abandoned_turns(LeaseMonitor()) == []
    ToolCall.objects.get(status="waiting").decide("once")
    until(lambda: Turn.objects.get().status == "queued")


def test_where_nobody_can_answer_it_waits_for_the_browser(site: Site, scripted: ScriptedModel) -> None:
    write = Call("write_file", {"path": "a.txt", "content": "one\ntwo\n"})
    scripted.script(Reply(tool_calls=[write]))
    done = site.run("chat", *PROFILE, "write it")
    assert done.returncode == 1
    assert "Allow the agent to use write_file?\n    a.txt\n    + one\n    + two\n" in done.stdout
    assert "The agent is waiting for your answer, which you can give in the browser." in done.stdout
    assert "/conversations/" in done.stdout
    assert Turn.objects.get().status == "waiting"


def test_a_profile_that_does_not_exist_is_refused(site: Site) -> None:
    done = site.run("chat", "--profile", "nobody", "hello")
    assert done.returncode == 1
    assert "--profile takes one of these: Focused, Asks first." in done.stderr
