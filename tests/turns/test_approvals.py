"""Approvals: shown in every tab, kept across restarts, answered once."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from chat.agent.sandbox import Sandbox
from chat.agent.tools import workspace_tools
from chat.agent.workspace import Workspace
from chat.demo.reply import Call, Reply
from chat.models import Conversation, Profile, ToolCall, Turn
from chat.models.profile import BUILT_IN_TOOLS
from chat.turns.worker import close_pool, pool
from tests.live.site import STATUS, Site, Tab, article, until
from tests.model_server import ScriptedModel

ASKS = {"bash": "ask", "write_file": "ask", "edit_file": "ask"}
WAITS = re.compile(r'id="(tool-call-\d+)"[^>]* data-status="waiting"')


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


class DemoRequest:
    """A conversation whose agent asks, and what a user does about it."""

    def __init__(self, site: Site, model: ScriptedModel, conversation: Conversation) -> None:
        self.site = site
        self.model = model
        self.conversation = conversation

    async def ask_for(self, *calls: Call, then: Reply | None = None) -> tuple[Tab, ToolCall]:
        """A tab that sees the first of these calls wait."""
        self.model.script(Reply(tool_calls=calls), then or Reply(text="Done."))
        tab = await self.site.open(self.conversation)
        await tab.send("do it")
        return tab, await self.waits(tab)

    async def waits(self, tab: Tab) -> ToolCall:
        """The call that waits, once the tab shows so; of one that was decided a drawing may come late."""
        while True:
            frame = await tab.until(
                lambda frame: STATUS.findall(frame)[-1:] == ["waiting"] and WAITS.search(frame)
            )
            asked = ToolCall.objects.select_related("turn").filter(status="waiting")
            call = await asked.afirst()
            if call and call.dom_id in WAITS.findall(frame):
                return call

    async def decide(self, call: ToolCall, decision: str, **more: str) -> int:
        where = f"tool-calls/{call.pk}/decide"
        return await self.site.post(self.conversation, where, decision=decision, **more)

    async def calls(self) -> list[ToolCall]:
        return [call async for call in ToolCall.objects.order_by("pk")]

    @property
    def workspace(self) -> Path:
        from django.conf import settings

        return Path(settings.WORKSPACES) / str(self.conversation.pk)


@pytest.fixture
async def desk(site: Site, model_server: ScriptedModel, settings: Any, tmp_path: Path) -> DemoRequest:
    settings.WORKSPACES = tmp_path / "workspaces"
    profile = await Profile.objects.acreate(title="Careful", rules=ASKS)
    conversation = await site.conversation()
    conversation.profile = profile
    await conversation.asave()
    return DemoRequest(site, model_server, conversation)


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


def write(path: str, content: str = "text\n") -> Call:
    return Call("write_file", {"path": path, "content": content})


async def _nothing_runs() -> bool:
    return not pool().running


async def test_nothing_is_done_before_the_answer_and_all_after_it(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(write("a.txt", "one\n"))
    assert not (desk.workspace / "a.txt").exists()
    turn = await desk.site.turn(desk.conversation)
    assert (turn.status, turn.worker) == ("waiting", "")
    await until(_nothing_runs)
    shown = tab.last_turn()
    assert 'data-tool="write_file" data-status="waiting" open' in shown
    assert "Allow once" in shown
    assert 'data-kind="added"' in shown, "the change that it would make"
    assert tab.last_turn().strip() == article(await desk.site.page(desk.conversation), turn)

    assert await desk.decide(call, "once") == 302
    await tab.until_idle()
    assert (desk.workspace / "a.txt").read_text() == "one\n"
    [done] = await desk.calls()
    assert (done.status, done.decision, done.reason) == ("succeeded", "once", "")
    assert done.asked_at is not None
    assert done.decided_at is not None
    assert "foreseen" not in done.detail
    turn = await desk.site.turn(desk.conversation)
    assert (turn.status, turn.crash_count, await turn.steps.acount()) == ("completed", 0, 2)
    assert tab.last_turn().strip() == article(await desk.site.page(desk.conversation), turn)
    assert "Allowed by you" in tab.last_turn()
    assert results(desk.model.requests[1]) == ["Created a.txt (1 line, 4 bytes)."]


async def test_a_denial_is_read_by_the_model(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(bash("touch a"), then=Reply(text="Then not."))
    await desk.decide(call, "denied", reason="Use b, <b>please</b>")
    await tab.until_idle()
    assert results(desk.model.requests[1]) == ["Error: the user denied this call. Use b, <b>please</b>"]
    [denied] = await desk.calls()
    assert (denied.status, denied.started_at) == ("denied", None)
    assert not (desk.workspace / "a").exists()
    shown = tab.last_turn()
    assert "Denied by you" in shown
    assert "Use b, &lt;b&gt;please&lt;/b&gt;" in shown


async def test_each_call_of_a_reply_is_asked_about_in_its_turn(desk: DemoRequest) -> None:
    tab, first = await desk.ask_for(write("a.txt"), Call("read_file", {"path": "a.txt"}), write("b.txt"))
    assert [call.status for call in await desk.calls()] == ["waiting", "pending", "pending"]
    await desk.decide(first, "once")
    third = await desk.waits(tab)
    assert [call.status for call in await desk.calls()] == ["succeeded", "succeeded", "waiting"]
    await desk.decide(third, "denied")
    await tab.until_idle()
    created, read, denied = results(desk.model.requests[1])
    assert (created[:7], read, denied[:36]) == ("Created", "text", "Error: the user denied this call and")
    assert len(desk.model.requests) == 2


async def test_what_is_allowed_in_the_conversation_is_not_asked_about_again(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(
        bash("echo one"), bash("echo two"), bash("echo three; true"), bash("pwd"), write("a.txt")
    )
    await desk.decide(call, "conversation")
    several = await desk.waits(tab)
    assert several.summary_line == "echo three; true"
    assert [each.decision for each in (await desk.calls())[:2]] == ["conversation", "covered"]
    await desk.decide(several, "once")
    other = await desk.waits(tab)
    assert other.summary_line == "pwd"
    await desk.decide(other, "once")
    file = await desk.waits(tab)
    await desk.decide(file, "denied")
    await tab.until_idle()
    assert "Allowed by you earlier: <code>echo</code>" in tab.last_turn()
    desk.model.script(Reply(tool_calls=[bash("echo four")]), Reply(text="Done again."))
    await tab.send("again")
    await tab.until_idle()
    assert (await desk.calls())[-1].decision == "covered", "in a later turn too"


async def test_two_tabs_and_two_answers(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(bash("pwd"))
    other = await desk.site.open(desk.conversation)
    assert "Allow once" in other.last_turn()
    assert await desk.decide(call, "once") == 302
    assert await desk.decide(call, "denied", reason="no") == 400
    await tab.until_idle()
    await other.until_idle()
    assert tab.last_turn() == other.last_turn()
    assert "Allow once" not in other.last_turn()
    [done] = await desk.calls()
    assert (done.status, done.decision) == ("succeeded", "once")


async def test_the_script_is_told_that_another_was_first(desk: DemoRequest) -> None:
    _tab, call = await desk.ask_for(bash("pwd"))
    await desk.decide(call, "denied")

    def late() -> Any:
        client = Client(headers={"HX-Request": "true"})
        client.force_login(desk.site.user)
        where = f"/conversations/{desk.conversation.pk}/tool-calls/{call.pk}/decide/"
        return client.post(where, {"decision": "once"})

    answer = await sync_to_async(late)()
    assert (answer.status_code, answer.content.decode()) == (409, "Already answered: Denied by you.")


async def test_stop_ends_the_wait(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(bash("pwd"))
    assert await desk.site.post(desk.conversation, "stop") == 302
    await tab.until_idle()
    turn = await desk.site.turn(desk.conversation)
    assert turn.status == "stopped"
    assert [each.status for each in await desk.calls()] == ["stopped"]
    assert 'data-status="waiting"' not in tab.last_turn()
    assert await desk.decide(call, "once") == 400
    desk.model.replies.clear()
    desk.model.script(Reply(text="Going on."))
    await tab.send("go on")
    await tab.until_idle()
    assert results(desk.model.requests[-1]) == ["Error: this call was not run."]


async def test_an_answer_that_does_not_come_stops_the_turn(desk: DemoRequest, settings: Any) -> None:
    settings.APPROVAL_SECONDS = 0.1
    tab, _call = await desk.ask_for(bash("pwd"))
    await tab.until_idle()
    assert "nobody allowed or denied the call in time" in tab.last_turn()
    turn = await desk.site.turn(desk.conversation)
    assert turn.status == "stopped"
    assert tab.last_turn().strip() == article(await desk.site.page(desk.conversation), turn)


async def test_the_wait_outlives_every_worker(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(bash("echo still here"))
    await close_pool()
    assert (await desk.site.turn(desk.conversation)).status == "waiting"
    again = await desk.site.open(desk.conversation)
    assert "Allow once" in again.last_turn()
    await sync_to_async(call.decide)("once")  # without a notification, or this process would claim it
    assert (await desk.site.turn(desk.conversation)).status == "queued"
    pool().open()
    await tab.until_idle()
    await again.until_idle()
    assert results(desk.model.requests[1]) == ["still here"]
    assert (await desk.site.turn(desk.conversation)).crash_count == 0


async def test_an_answer_given_to_a_worker_that_died_still_counts(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(bash("echo one"), bash("echo two"))
    await close_pool()
    await sync_to_async(call.decide)("conversation")  # without a notification, or this process would claim it
    assert await sync_to_async(Turn.claim)("a worker that is no more") is not None
    await Turn.objects.aupdate(lease_until="2020-01-01T00:00Z")
    pool().open()
    await tab.until_idle()
    assert results(desk.model.requests[1]) == ["one", "two"]
    assert (await desk.site.turn(desk.conversation)).crash_count == 1
    assert len(desk.model.requests) == 2, "and the model is not asked for the step again"


async def test_a_lost_frame_is_made_up_for_from_the_rows(desk: DemoRequest) -> None:
    """Decided in another process, whose frames do not reach this tab."""
    tab, call = await desk.ask_for(bash("echo found"))
    await close_pool()
    await sync_to_async(call.decide)("denied", "no")
    await tab.until(lambda frame: STATUS.findall(frame)[-1:] not in ([], ["waiting"]))
    assert "Allow once" not in tab.last_turn()


async def test_a_tab_that_waits_is_not_redrawn(desk: DemoRequest) -> None:
    """Or what is typed as a reason, and where the keyboard is, would be at risk with every heartbeat."""
    tab, call = await desk.ask_for(bash("pwd"))
    await until(_nothing_runs)  # the worker has sent its last frame
    await tab.close()
    desk.site.tabs.remove(tab)
    other = await desk.site.open(desk.conversation)
    drawn = other.partials()
    for _heartbeat in range(2):
        assert (await other.said("alive"))["worker"]
    assert other.partials() == drawn
    assert other.asked == 1
    await desk.decide(call, "denied")
    await other.until_idle()


async def test_waiting_costs_no_time_of_the_turn(desk: DemoRequest) -> None:
    from chat.turns.run_turn import ResumeState

    _tab, call = await desk.ask_for(bash("pwd"))
    hours = datetime.timedelta(hours=5)
    await close_pool()
    await Turn.objects.aupdate(started_at=timezone.now() - hours)
    await ToolCall.objects.filter(pk=call.pk).aupdate(asked_at=timezone.now() - hours)
    await sync_to_async(call.decide)("once")  # without a notification, or this process would claim it
    spent = (await sync_to_async(ResumeState)(await desk.site.turn(desk.conversation))).spent
    assert spent.seconds < 600
    assert (spent.steps, spent.tool_calls, spent.rounds) == (1, 0, 0)


async def test_what_no_tool_takes_is_not_asked_about(desk: DemoRequest) -> None:
    desk.model.script(
        Reply(tool_calls=[Call("bash", {"order": "ls"}), Call("bash", "{broken"), Call("unheard_of", {})]),
        Reply(text="Sorry."),
    )
    tab = await desk.site.open(desk.conversation)
    await tab.send("do it")
    await tab.until_idle()
    assert [call.status for call in await desk.calls()] == ["failed"] * 3


async def test_what_is_never_allowed_is_not_offered(desk: DemoRequest) -> None:
    await Profile.objects.filter(title="Careful").aupdate(rules={"bash": "never", "read_file": "never"})
    desk.model.script(Reply(tool_calls=[bash("touch a")]), Reply(text="Sorry."))
    tab = await desk.site.open(desk.conversation)
    await tab.send("do it")
    await tab.until_idle()
    offered = [tool["function"]["name"] for tool in desk.model.requests[0]["tools"]]
    assert sorted(offered) == ["TodoWrite", "edit_file", "write_file"]
    assert "there is no tool called 'bash'" in results(desk.model.requests[1])[0]


async def test_a_message_sent_meanwhile_is_held_and_read_after_the_answer(desk: DemoRequest) -> None:
    tab, call = await desk.ask_for(bash("pwd"))
    await tab.send("and be quick")
    await tab.said("accepted")
    await desk.decide(call, "once")
    await tab.until_idle()
    assert desk.model.requests[1]["messages"][-1] == {"role": "user", "content": "and be quick"}


async def test_characters_that_hide_something_are_shown(desk: DemoRequest) -> None:
    tab, _call = await desk.ask_for(bash("ls \u202egpj.exe\x1b[2K"))
    assert "ls &lt;U+202E&gt;gpj.exe&lt;U+001B&gt;[2K" in tab.last_turn()


async def test_an_edit_shows_what_it_would_change(desk: DemoRequest) -> None:
    desk.workspace.mkdir(parents=True)
    (desk.workspace / "a.txt").write_text("one\ntwo\nthree\n")
    edit = Call("edit_file", {"path": "a.txt", "old_text": "two", "new_text": "2"})
    tab, call = await desk.ask_for(edit)
    assert 'data-kind="removed"' in tab.last_turn()
    await desk.decide(call, "once")
    await tab.until_idle()
    assert (desk.workspace / "a.txt").read_text() == "one\n2\nthree\n"


async def test_every_tool_of_the_workspace_runs_unless_a_profile_says_otherwise(tmp_path: Path) -> None:
    tools = workspace_tools(Workspace(tmp_path), Sandbox())
    assert {tool.name for tool in tools} == set(BUILT_IN_TOOLS)
