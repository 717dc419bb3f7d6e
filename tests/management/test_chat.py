"""`manage.py chat`: the agent in the terminal, as it is seen there and as it is kept."""

from __future__ import annotations

import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.demo.reply import Call, Reply
from chat.models import Conversation, Profile, TodoRevision, Turn
from tests.management.site import Site
from tests.model_server import ScriptedModel
from tests.serving import until

ITEMS = [
    {"content": "Read", "status": "completed", "activeForm": "Reading"},
    {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
    {"content": "Test", "status": "pending", "activeForm": "Testing"},
]


def plan(*items: dict[str, str]) -> Reply:
    return Reply(tool_calls=[Call("TodoWrite", {"items": list(items)})])


def read(path: str) -> Reply:
    return Reply(tool_calls=[Call("read_file", {"path": path})])


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def test_one_prompt_is_answered_and_kept_for_the_browser(site: Site) -> None:
    User.objects.create_user("first")
    boss = User.objects.create_superuser("boss", password=None)
    done = site.run("chat", "First make a plan, then look around, read the files and write a summary")
    assert done.returncode == 0, done.stderr
    conversation = Conversation.objects.get()
    assert conversation.owner == boss, "the account is the site owner's"
    assert conversation.updated_at <= timezone.now()
    assert f"http://127.0.0.1:8123/conversations/{conversation.pk}/" in done.stdout
    assert "[ ] Write a summary\n\n(0/3 completed)\n" in done.stdout
    assert "[x] Write a summary\n\n(3/3 completed)\n" in done.stdout
    assert re.search(r"read_file README.md \(Done, \d+ ms\)\n    # Corner shop\n", done.stdout)
    assert "Done: 3 of 3." in done.stdout
    assert re.search(r"\n[\d.]+k tokens in, \d+ out · [\d.]+ s\n", done.stdout)
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert conversation.turns.get().status == Turn.Status.COMPLETED
    assert conversation.unseen_turn is None, "it was seen in the terminal"
    revision = conversation.revision()
    assert revision is not None
    assert str(revision) == "3/3"


def test_system_a_the_focused_list_in_a_terminal_loop(site: Site, scripted: ScriptedModel) -> None:
    """Three states with activeForm, 20 items, one in progress, both reminders, five tools, in a dialogue."""
    Profile.objects.create(title="Focused", todo_policy="focused", position=0)
    many = [{"content": f"Item {number}", "status": "pending", "activeForm": "Doing"} for number in range(21)]
    two = [{**item, "status": "in_progress"} for item in ITEMS[:2]]
    scripted.script(plan(*ITEMS), plan(*many), plan(*two))
    scripted.script(*[read(f"file-{number}") for number in range(11)])
    scripted.script(Reply(text="That is all."), Reply(text="Again."))
    done = site.run("chat", given="work on three things\nand again\nexit\nnever sent\n")

    assert done.returncode == 0, done.stderr
    assert "\n[x] Read\n[>] Write <- Writing\n[ ] Test\n\n(1/3 completed)\n" in done.stdout
    assert '\nTodoWrite {"items": [{"content": "Read", "status": "completed"' in done.stdout
    assert len(re.findall(r"\nTodoWrite \{.*… \(Failed", done.stdout)) == 2
    assert done.stdout.index("That is all.") < done.stdout.index("Again.")
    first, *later = scripted.requests
    tools = [tool["function"]["name"] for tool in first["tools"]]
    assert sorted(tools) == ["TodoWrite", "bash", "edit_file", "read_file", "write_file"]
    asked = first["messages"][-1]["content"]
    assert asked.startswith("<reminder>Use TodoWrite for multi-step tasks.</reminder>")
    assert asked.endswith("work on three things")
    rendered = "[x] Read\n[>] Write <- Writing\n[ ] Test\n\n(1/3 completed)"
    assert results(later[2]) == [
        rendered,
        "Error: Max 20 todos allowed",
        "Error: Only one task can be in_progress at a time",
    ]
    reminded = [any("turns without todo update" in text for text in results(asked)) for asked in later]
    assert reminded.index(True) == 13  # the request after the eleventh round without a TodoWrite
    assert "<reminder>11+ turns without todo update. Please update todos.</reminder>" in str(later[13])
    assert TodoRevision.objects.count() == 1
    conversation = Conversation.objects.get()
    assert [turn.user_text for turn in conversation.turns.all()] == ["work on three things", "and again"]
    assert later[-1]["messages"][-1]["content"] == "and again"


def test_text_is_printed_as_it_comes(site: Site, scripted: ScriptedModel) -> None:
    gate = threading.Event()
    scripted.script(Reply(text="The first half. And the second.", piece=15, stall_after=2, gate=gate))
    process = site.start("chat", "tell me")
    process.wait_for("The first half.")
    assert "second" not in process.written
    gate.set()
    process.wait_for("And the second.\n")
    assert process.ended() == 0


def test_ctrl_c_stops_the_turn_and_returns_to_the_prompt(site: Site, scripted: ScriptedModel) -> None:
    scripted.script(Reply(text="I begin. And go on.", piece=8, stall_after=2), Reply(text="Gladly."))
    process = site.start("chat")
    process.type("begin\n")
    process.wait_for("I begin.")
    process.signal(signal.SIGINT)
    process.wait_for("Stopped.\n\n")
    process.type("say something else\n")
    process.wait_for("Gladly.\n\n")
    process.wait_for(" s\n\n> ")
    process.leave()
    assert process.ended() == 0
    stopped, completed = Turn.with_rows()
    assert (stopped.status, completed.status) == ("stopped", "completed")
    assert [message.text for message in stopped.messages.all()] == ["begin", "I begin."]
    assert stopped.ended_at is not None


def test_a_terminal_gets_a_little_colour_and_its_own_ctrl_c(site: Site, scripted: ScriptedModel) -> None:
    scripted.script(plan(*ITEMS), Reply(text="I begin.", stall_after=2))
    process = site.start("chat", terminal=True)
    process.wait_for_prompt()
    process.type("\x03")  # at the prompt it only begins a new one
    process.wait_for_prompt(times=2)
    process.type("begin\r")
    process.wait_for("\x1b[36m[>] Write <- Writing\x1b[0m")
    process.wait_for("I begin.")
    process.type("\x03")
    process.wait_for("Stopped.")
    process.wait_for_prompt(times=3)
    process.type("exit\r")
    process.wait_for("/conversations/")
    assert process.ended() == 0
    assert Turn.objects.get().status == Turn.Status.STOPPED


def test_a_shell_command_that_is_stopped_has_no_result(site: Site, scripted: ScriptedModel) -> None:
    scripted.script(Reply(tool_calls=[Call("bash", {"command": "touch begun; sleep 60"})]))
    process = site.start("chat", "wait a minute")
    process.wait_for("bash touch begun; sleep 60")
    workspaces = site.folder / "workspaces"
    until(lambda: list(workspaces.glob("*/begun")))
    process.signal(signal.SIGINT)
    assert process.ended() == 1
    assert "bash touch begun; sleep 60 (Stopped)\n\nStopped.\n" in process.written
    assert Turn.objects.get().tool_calls.get().status == "stopped"


def test_no_other_worker_can_take_the_turn_while_it_works(site: Site, scripted: ScriptedModel) -> None:
    scripted.script(Reply(text="I begin.", stall_after=2))
    process = site.start("chat", "begin")
    process.wait_for("I begin.")
    turn = Turn.objects.get()
    assert turn.status == Turn.Status.RUNNING
    assert f":{process.popen.pid}:" in turn.worker
    assert Turn.claim("another") is None
    until(lambda: Turn.objects.get().lease_until > turn.lease_until)  # type: ignore[operator]
    turn.request_stop()  # as the browser's Stop does
    assert process.ended() == 1
    assert Turn.objects.get().status == Turn.Status.STOPPED


def test_a_terminal_that_is_closed_leaves_an_interrupted_turn(site: Site, scripted: ScriptedModel) -> None:
    scripted.script(Reply(text="I begin.", stall_after=2))
    process = site.start("chat")
    process.type("begin\n")
    process.wait_for("I begin.")
    process.signal(signal.SIGTERM)
    assert process.ended() == 1
    turn = Turn.objects.get()
    assert turn.status == Turn.Status.INTERRUPTED
    assert "closed while the agent was working" in turn.status_message
    assert turn.conversation.unseen_turn == turn


def test_a_turn_that_fails_says_why_and_exits_with_1(site: Site, scripted: ScriptedModel) -> None:
    scripted.script(Reply(status=401, body={"error": {"message": "who are you?"}}))
    done = site.run("chat", "hello")
    assert done.returncode == 1
    assert "refused the API key (HTTP 401)" in done.stdout
    assert "/conversations/" in done.stdout
    assert Turn.objects.get().status == Turn.Status.FAILED


def test_a_turn_goes_on_when_nobody_reads_it_any_more(site: Site) -> None:
    done = site.piped("head -n 1", "chat", "Refactor these five files")
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    turn = Turn.objects.get()
    assert turn.status == Turn.Status.COMPLETED
    assert turn.tool_calls.count() > 10


def test_a_blank_prompt_is_refused_with_a_sentence(site: Site) -> None:
    done = site.run("chat", "  ")
    assert done.returncode == 1
    assert "The message is empty." in done.stderr
    assert not Conversation.objects.exists()


def test_it_works_on_the_directory_that_is_named(site: Site, scripted: ScriptedModel, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    scripted.script(
        Reply(tool_calls=[Call("write_file", {"path": "hello.txt", "content": "hello"})]), Reply(text="Done.")
    )
    done = site.run("chat", "--workspace", str(project), "write hello")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "hello.txt").read_text() == "hello"
    assert [path.name for path in project.iterdir()] == ["hello.txt"]  # no samples of the demo's
    assert Conversation.objects.get().workspace == str(project)
    assert not list((site.folder / "workspaces").glob("*"))


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--workspace takes a directory that exists"):
        call_command("chat", "--workspace", str(tmp_path / "nowhere"), "hello")


def test_deleting_a_conversation_leaves_the_directory_that_it_named(
    owner: User, browser_of: Any, tmp_path: Path
) -> None:
    conversation = Conversation.objects.create(owner=owner, title="work", workspace=str(tmp_path))
    (tmp_path / "precious.txt").write_text("kept")
    browser_of(owner).post(f"/conversations/{conversation.pk}/delete/")
    assert not Conversation.objects.exists()
    assert (tmp_path / "precious.txt").read_text() == "kept"


def test_what_a_model_writes_cannot_command_the_terminal(site: Site, scripted: ScriptedModel) -> None:
    scripted.script(
        Reply(
            text="\x1b[2J\x1b]0;gotcha\x07 \r\nred",
            tool_calls=[Call("bash", {"command": "printf '\\033[31m'"})],
        ),
        Reply(text="Done."),
    )
    done = site.run("chat", "be mean")
    assert done.returncode == 0
    assert not {"\x1b", "\x07", "\r"} & set(done.stdout)
    assert "\ufffd[2J\ufffd]0;gotcha\ufffd \nred\n" in done.stdout
