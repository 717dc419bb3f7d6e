"""Approvals: decided once, by the first answer."""

from __future__ import annotations

import datetime
import json
import uuid
from contextlib import suppress
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from chat.models import (
    Allowance,
    Conversation,
    DecisionRefused,
    Profile,
    Rule,
    ToolCall,
    Turn,
    end_unanswered,
    recover_abandoned_turns,
)
from chat.models.tool_call import MAX_REASON
from chat.models.turn_recovery import LeaseMonitor
from tests.models.racing import race


def waiting(turn: Turn, name: str = "bash", **arguments: str) -> ToolCall:
    """A call that waits, with its turn; and one behind it that has not come to its turn yet."""
    given = json.dumps(arguments or {"command": "ls -la"})
    step, _new = turn.steps.get_or_create(number=1)
    rows = {"turn": turn, "step": step, "name": name, "arguments": given}
    call = ToolCall.objects.create(index=0, call_id="c0", status="waiting", asked_at=timezone.now(), **rows)
    ToolCall.objects.create(index=1, call_id="c1", status="pending", **rows)
    turn.wait()
    return call


def again(turn: Turn) -> Turn:
    return Turn.objects.get(pk=turn.pk)


def test_a_waiting_turn_is_nobodys(running: Turn) -> None:
    waiting(running)
    held = again(running)
    assert (held.status, held.worker, held.is_active, held.is_held) == ("waiting", "", True, False)
    Turn.objects.update(lease_until=None)
    assert recover_abandoned_turns(LeaseMonitor()) == []
    assert Turn.claim("another") is None


def test_a_decision_queues_the_turn_and_is_kept(running: Turn) -> None:
    call = waiting(running)
    fence = again(running).fence
    call.decide("once", "not asked for")
    assert (call.status, call.decision, call.reason) == ("pending", "once", "")
    assert call.decided_at is not None
    queued = again(running)
    assert (queued.status, queued.fence) == ("queued", fence + 1)
    assert not Allowance.objects.exists()
    claimed = Turn.claim("another")
    assert claimed is not None
    assert claimed.pk == running.pk


def test_a_denial_keeps_its_reason(running: Turn) -> None:
    call = waiting(running)
    call.decide("denied", f"  no\x00pe {'x' * MAX_REASON}")
    assert call.decision == "denied"
    assert call.reason.startswith("no\ufffdpe x")
    assert len(call.reason) == MAX_REASON
    assert call.get_decision_display() == "Denied by you"


@pytest.mark.parametrize("decision", ["", "covered", "yes", "ONCE"])
def test_what_is_no_answer_decides_nothing(running: Turn, decision: str) -> None:
    call = waiting(running)
    with pytest.raises(DecisionRefused, match="either Allow or Deny"):
        call.decide(decision)
    assert again(running).status == "waiting"


def test_the_second_answer_is_told_of_the_first(running: Turn) -> None:
    call = waiting(running)
    late = ToolCall.objects.get(pk=call.pk)
    call.decide("denied", "no")
    with pytest.raises(DecisionRefused, match="Already answered: Denied by you"):
        late.decide("once")
    assert (late.decision, late.reason) == ("denied", "no")
    late.decide("denied", "no")  # a second click is no contradiction
    assert again(running).status == "queued"


def test_nothing_is_left_to_answer_after_a_stop(running: Turn) -> None:
    call = waiting(running)
    assert running.request_stop()
    assert again(running).status == "stopped"
    with pytest.raises(DecisionRefused, match="no longer waiting"):
        call.decide("once")
    assert [each.status for each in running.tool_calls.all()] == ["stopped", "stopped"]
    assert again(running).status == "stopped"


def test_a_stop_after_the_answer_closes_what_it_allowed(running: Turn) -> None:
    waiting(running).decide("once")
    _turn, text = running.conversation.stop(then_send=False)
    assert (again(running).status, text) == ("stopped", "")
    assert [each.status for each in running.tool_calls.all()] == ["stopped", "stopped"]


def test_of_many_answers_one_wins(transactional_db: Any, running: Turn) -> None:
    call = waiting(running)
    answers = ["once", "denied", "conversation", "once", "denied", "conversation"]

    def decide(number: int) -> bool:
        try:
            ToolCall.objects.get(pk=call.pk).decide(answers[number])
        except DecisionRefused:
            return False
        return True

    won = race(len(answers), decide)
    call.refresh_from_db()
    assert {answer for answer, is_taken in zip(answers, won, strict=True) if is_taken} == {call.decision}
    assert Allowance.objects.exists() == (call.decision == "conversation")


def test_an_answer_and_a_stop_leave_nothing_open(transactional_db: Any, running: Turn) -> None:
    call = waiting(running)

    def act(number: int) -> None:
        if number:
            Conversation.objects.get(pk=running.conversation_id).stop(then_send=False)
            return
        with suppress(DecisionRefused):
            ToolCall.objects.get(pk=call.pk).decide("once")

    race(2, act)
    assert again(running).status == "stopped"
    assert {each.status for each in running.tool_calls.all()} == {"stopped"}


def test_an_allowance_covers_the_same_program_in_the_same_conversation(running: Turn) -> None:
    call = waiting(running, command="grep -rn TODO src")
    call.decide("conversation")
    assert str(Allowance.objects.get()) == "bash grep"

    def covered(**given: Any) -> bool:
        return ToolCall(**{"turn": running, "name": "bash", "arguments": "{}", **given}).is_covered

    assert covered(arguments='{"command": "grep x a.txt"}')
    assert not covered(arguments='{"command": "grep x a.txt; rm x"}')
    assert not covered(arguments='{"command": "ls"}')
    Allowance.objects.create(conversation=running.conversation, tool="bash", program="python3")
    assert not covered(arguments='{"command": "python3 x.py"}'), "allowed before, when any program could be"
    assert not covered(arguments='{"command": 3}')
    assert not covered()
    assert not covered(name="write_file")
    other = Conversation.objects.create(owner=running.conversation.owner, title="Other")
    elsewhere = other.start_turn("Do it", uuid.uuid4())
    assert not covered(turn=elsewhere, arguments='{"command": "grep x a.txt"}')


def test_an_allowance_of_another_tool_covers_the_tool(running: Turn) -> None:
    waiting(running, "write_file", path="a.txt", content="a").decide("conversation")
    assert ToolCall(turn=running, name="write_file", arguments='{"path": "b.txt"}').is_covered
    assert not ToolCall(turn=running, name="edit_file", arguments='{"path": "a.txt"}').is_covered


@pytest.mark.parametrize("command", ["ls | sh", "linux64 rm x", "git -c alias.x='!rm x' x", "make"])
def test_of_a_command_that_may_run_other_programs_only_itself_is_covered(running: Turn, command: str) -> None:
    waiting(running, command=command).decide("conversation")

    def covered(command: str) -> bool:
        return ToolCall(turn=running, name="bash", arguments=json.dumps({"command": command})).is_covered

    assert covered(f" {command}\n")
    assert not covered(f"{command} y")
    assert not covered(f"{command}; rm x")
    assert not covered(command.upper())
    assert not ToolCall(turn=running, name="write_file", arguments=json.dumps({"path": command})).is_covered


def test_a_long_or_empty_command_is_allowed_only_once(running: Turn) -> None:
    assert not ToolCall(turn=running, name="bash", arguments='{"command": " "}').allows_blanket_approval
    call = waiting(running, command="./run " + "x" * 200)
    assert not call.allows_blanket_approval
    with pytest.raises(DecisionRefused, match="too long"):
        call.decide("conversation")
    with pytest.raises(IntegrityError), transaction.atomic():
        Allowance.objects.create(conversation=running.conversation, tool="bash", program="")
    call.decide("once")


def test_one_call_of_a_turn_waits_at_a_time(running: Turn) -> None:
    waiting(running)
    with pytest.raises(IntegrityError), transaction.atomic():
        running.tool_calls.update(status="waiting")


def test_whoever_waits_too_long_is_stopped(running: Turn) -> None:
    call = waiting(running)
    running.conversation.send("And this", uuid.uuid4())
    assert end_unanswered(3600) == []
    ToolCall.objects.filter(pk=call.pk).update(asked_at=timezone.now() - datetime.timedelta(hours=1))
    assert [turn.pk for turn in end_unanswered(3600)] == [running.pk]
    ended = again(running)
    assert (ended.status, ended.status_message) == (
        "stopped",
        "Stopped: nobody allowed or denied the call in time.",
    )
    assert ended.ended_at is not None
    assert [each.status for each in running.tool_calls.all()] == ["stopped", "stopped"]
    assert end_unanswered(3600) == []
    following = running.conversation.turns.get(status="queued")
    assert following.user_text == "And this"


def test_an_answer_outlives_the_worker_that_took_it(running: Turn) -> None:
    """Given back, or left by a worker that died: the step keeps its open calls, the answered one too."""
    waiting(running).decide("once")
    first = Turn.claim("first")
    assert first is not None
    first.release()
    assert [each.status for each in running.tool_calls.all()] == ["pending", "pending"]
    second = Turn.claim("second")
    assert second is not None
    second.tool_calls.filter(index=0).update(status="running")
    Turn.objects.update(lease_until=None)
    assert len(recover_abandoned_turns(LeaseMonitor())) == 1
    assert [each.status for each in running.tool_calls.all()] == ["unknown", "pending"]


@pytest.mark.parametrize(
    ("tool", "rule"),
    [
        ("bash", Rule.ASK),
        ("read_file", Rule.RUN),
        ("write_file", Rule.NEVER),
        ("unheard_of", Rule.ASK),
        ("files__list", Rule.RUN),
        ("files__delete", Rule.NEVER),
        ("other__list", Rule.ASK),
    ],
)
def test_each_tool_has_a_rule(tool: str, rule: Rule) -> None:
    rules = {"bash": "ask", "write_file": "never", "files__*": "run", "files__delete": "never"}
    assert Profile(rules=rules).rule_for(tool) == rule


def test_what_is_built_in_runs_and_the_rest_asks_unless_told_otherwise() -> None:
    tools = ["bash", "read_file", "write_file", "edit_file", "any__tool"]
    assert [Profile().rule_for(tool) for tool in tools] == ["run"] * 4 + ["ask"]
    assert Profile(rules={"*": "run"}).rule_for("any__tool") == "run"


@pytest.mark.parametrize(
    "rules", [["bash"], {"bash": "perhaps"}, {"b ash": "run"}, {"": "run"}, {"x*": "run"}, {"bash": []}]
)
def test_rules_are_checked(db: Any, rules: Any) -> None:
    with pytest.raises(ValidationError):
        Profile(title="Odd", rules=rules).full_clean()


def test_one_that_asks_first_ships_ready(db: Any) -> None:
    profile = Profile.objects.get(title="Asks first")
    assert {name: profile.rule_for(name) for name in ("bash", "write_file", "edit_file", "read_file")} == {
        "bash": "ask",
        "write_file": "ask",
        "edit_file": "ask",
        "read_file": "run",
    }
    profile.full_clean()


def test_a_list_of_conversations_says_which_wait(running: Turn) -> None:
    owner = running.conversation.owner
    quiet = Conversation.objects.create(owner=owner, title="Quiet")
    waiting(running)
    listed = Conversation.objects.visible_to(owner).listed(0, 10)
    assert {row.pk: row.active_status for row in listed} == {running.conversation_id: "waiting", quiet.pk: ""}
