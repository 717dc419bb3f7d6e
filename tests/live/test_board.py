"""The live board: follows every conversation, and equals a fresh load."""

from __future__ import annotations

import asyncio
import re
import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chat.demo.reply import Call, Reply
from chat.live import broadcast, page_consumer
from chat.live.broadcast import publish_board, publish_heading, publish_turn
from chat.live.sidebar_consumer import sidebar_states_of
from chat.models import Conversation, Profile, TodoRevision, Turn
from tests.live.site import PATIENCE, REGION, Site, Tab, until
from tests.model_server import ScriptedModel

SECTIONS = ("running", "unseen", "unfinished")
CLOCK = re.compile(r'(class="board-row__(?:time|waited) elapsed"[^>]*>)[^<]*')
TODO = [
    {"content": "Look", "status": "completed", "activeForm": "Looking"},
    {"content": "Write", "status": "in_progress", "activeForm": "Writing it"},
]
PLAN = Reply(tool_calls=[("TodoWrite", {"items": TODO})])


async def begin(site: Site, text: str = "do it", profile: Profile | None = None) -> Conversation:
    """A conversation that nobody has a tab on."""
    conversation: Conversation = await sync_to_async(Conversation.begin)(
        site.user, text, uuid.uuid4(), profile
    )
    await publish_turn(await site.turn(conversation))
    return conversation


def displayed(tab: Tab, name: str) -> str:
    """A section as the tab has it, without the clocks that go on."""
    return CLOCK.sub(r"\1", "".join(tab.drawn(f"#board-{name}", "outerMorph")[-1:]).strip())


def loaded(page: str, name: str) -> str:
    """A section as the page has it."""
    start = page.index(f'<section id="board-{name}"')
    return CLOCK.sub(r"\1", page[start : page.index("</section>", start) + len("</section>")])


async def is_the_record(site: Site, tab: Tab) -> None:
    """The tab comes to show what a fresh load does."""
    page = await site.page_at("/board/")
    await displays(tab, lambda: all(displayed(tab, name) == loaded(page, name) for name in SECTIONS))
    await displays(tab, lambda: f"<title>{latest(tab, 'head > title', 'innerHTML')}</title>" in page)
    await displays(tab, lambda: latest(tab, "#board-link") in page)


async def displays(tab: Tab, wanted: Callable[[], bool]) -> None:
    """Receive until what the tab has is as wanted."""
    async with asyncio.timeout(PATIENCE):
        while not wanted():
            await tab.until(lambda frame: frame.startswith("<"))


async def shows(tab: Tab, name: str, *words: str) -> None:
    """Wait until a section has all the words."""
    await displays(tab, lambda: all(word in displayed(tab, name) for word in words))


def latest(tab: Tab, target: str, swap: str = "outerMorph") -> str:
    """What was drawn there last; empty for nothing yet."""
    return "".join(tab.drawn(target, swap)[-1:]).strip()


async def test_it_follows_a_turn_to_its_end(site: Site, model_server: ScriptedModel) -> None:
    gate = threading.Event()
    model_server.script(PLAN, Reply(text="I stop to ask.", stall_after=1, gate=gate))
    tab = await site.board()
    assert "Nothing running." in displayed(tab, "running")
    await begin(site)
    await shows(tab, "running", 'data-status="running"', "1/2", "Writing it")
    await is_the_record(site, tab)
    gate.set()
    await shows(tab, "unseen", 'data-status="completed"', "1/2")
    await shows(tab, "running", "Nothing running.")
    await displays(tab, lambda: latest(tab, "head > title", "innerHTML") == "(1) Board")
    await is_the_record(site, tab)


async def test_a_failure_is_told_apart(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=401, body={"error": {"message": "Incorrect API key"}}))
    tab = await site.board()
    await begin(site)
    await shows(tab, "unseen", 'data-status="failed"', "Incorrect API key", "/retry/")
    await is_the_record(site, tab)


async def test_a_question_is_asked_and_answered_there(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(tool_calls=[Call("bash", {"command": "true"})]), Reply(text="Then not."))
    profile = await Profile.objects.filter(title="Asks first").afirst()
    tab = await site.board()
    conversation = await begin(site, profile=profile)
    await shows(tab, "running", 'data-status="waiting"', "Allow this command?", 'value="denied"')
    await is_the_record(site, tab)
    assert " data-waiting" in latest(tab, "#board-link")
    (where,) = set(
        re.findall(r'formaction="/conversations/[^/]+/([^"]+)/decide/"', displayed(tab, "running"))
    )
    assert await site.post(conversation, f"{where}/decide", decision="denied", back="board") == 302
    await shows(tab, "unseen", 'data-status="completed"')


async def test_what_a_tab_sees_is_seen(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(PLAN, Reply(text="I stop to ask."))
    board = await site.board()
    conversation = await begin(site)
    await shows(board, "unseen", 'data-status="completed"')
    tab = await site.open(conversation)
    turn = await site.turn(conversation)
    await tab.socket.send_json_to({"type": "seen", "turn": turn.pk})
    await shows(board, "unfinished", "1/2")
    await shows(board, "unseen", "all caught up.")
    await displays(board, lambda: latest(board, "head > title", "innerHTML") == "Board")
    assert await site.post(conversation, "dismiss") == 302
    await shows(board, "unfinished", "No plans here.")
    await is_the_record(site, board)


async def test_what_no_page_says_is_refused(site: Site) -> None:
    tab = await site.open(await site.conversation())
    for kind, what in [
        ("seen", {"turn": "1"}),
        ("seen", {}),
        ("have", {"at": [1, 2]}),
        ("have", {"at": [1, 2, "3"]}),
        ("have", {"regions": {"title": 5}}),
        ("heartbeat", {"regions": []}),
        ("nothing", {}),
    ]:
        await tab.socket.send_json_to({"type": kind, **what})
        assert (await tab.said("error"))["message"].endswith(".")


async def test_lost_hints_heal(
    site: Site, model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hint ever comes: the looks find what began, went on, was renamed, ended and was seen."""
    gate = threading.Event()
    model_server.script(PLAN, Reply(text="Done.", stall_after=1, gate=gate))
    tab = await site.board()
    layer = broadcast.get_channel_layer()  # type: ignore[attr-defined]
    layer.groups.pop(broadcast.board_group(site.user.pk))
    conversation = await begin(site)
    await shows(tab, "running", "1/2", "Writing it")
    await sync_to_async(conversation.rename)("Another title")
    await shows(tab, "running", "Another title")
    gate.set()
    await shows(tab, "unseen", 'data-status="completed"')
    await sync_to_async(conversation.mark_seen)((await site.turn(conversation)).pk)
    await shows(tab, "unfinished", "Another title")
    await conversation.adelete()
    await shows(tab, "unfinished", "No plans here.")
    await is_the_record(site, tab)


async def test_hints_come_before_heartbeats(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Done."))
    tab = await site.board()
    assert tab.beating
    tab.beating.cancel()
    conversation = await begin(site)
    await shows(tab, "unseen", 'data-status="completed"')
    await sync_to_async(conversation.rename)("Another title")
    await publish_heading(conversation)
    await shows(tab, "unseen", "Another title")


async def test_each_sees_only_their_own(site: Site, model_server: ScriptedModel, stranger: Any) -> None:
    model_server.script(Reply(text="Done."))
    theirs, ours = await site.board(stranger), await site.board()
    await begin(site, "Our secret")
    await shows(ours, "unseen", "Our secret")
    await publish_board(stranger.pk)
    await sync_to_async(Conversation.begin)(stranger, "Their secret", uuid.uuid4(), None)
    await shows(theirs, "running", "Their secret")
    assert "Our secret" not in "".join(theirs.received)
    assert "Their secret" not in "".join(ours.received)


async def test_a_strangers_conversation_is_not_taken_as_seen(
    site: Site, model_server: ScriptedModel, stranger: Any
) -> None:
    model_server.script(Reply(text="Done."))
    theirs = await sync_to_async(Conversation.objects.create)(owner=stranger, title="Theirs")
    tab = await site.open(theirs, stranger)
    conversation = await begin(site)
    await until(lambda: Conversation.objects.filter(unseen_turn__isnull=False).aexists())
    turn = await site.turn(conversation)
    await tab.socket.send_json_to({"type": "seen", "turn": turn.pk})
    await tab.socket.send_json_to({"type": "seen", "turn": "?"})
    assert await tab.said("error"), "what was said before has been heard"
    assert await Conversation.objects.filter(unseen_turn=turn).aexists()


@pytest.mark.parametrize("path", ["/ws/board/", "/ws/"])
async def test_nobody_gets_in_without_signing_in(site: Site, path: str) -> None:
    nobodys = Site(site.application, None)  # type: ignore[arg-type]
    tab = await sync_to_async(nobodys.socket_at)(path)
    assert await tab.connect()
    assert await tab.socket.receive_output(5) == {"type": "websocket.close", "code": 4404}


@pytest.mark.parametrize("path", ["/ws/board/", "/ws/"])
async def test_another_origin_is_refused(site: Site, path: str) -> None:
    tab = await sync_to_async(site.socket_at)(path, None, "https://evil.example")
    assert not await tab.connect()


async def test_whoever_was_signed_out_is_closed_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.contrib.sessions.models import Session

    monkeypatch.setattr(page_consumer, "SESSION_CHECK_INTERVAL", 0.1)
    tab = await site.board()
    await Session.objects.all().adelete()
    while (await tab.socket.receive_output(5))["type"] != "websocket.close":
        pass


@pytest.mark.parametrize(
    "frame",
    ["", "hello", "[]", '{"text": "Hi"}', '{"type": "have", "at": "x"}', '{"type": "seen", "turn": 7}'],
)
async def test_nothing_can_be_sent_from_there(site: Site, frame: str) -> None:
    tab = await site.board()
    await tab.socket.send_to(text_data=frame or " ")
    assert (await tab.said("error"))["message"].endswith(".")
    await tab.socket.send_json_to({"type": "have"})
    await tab.until(lambda frame: 'id="board-running"' in frame)


async def test_boards_count_among_a_persons_sockets(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_consumer, "MAX_SOCKETS_PER_USER", 2)
    await site.board()
    await site.open(await site.conversation())
    late = await sync_to_async(site.socket_at)("/ws/board/")
    assert await late.connect()
    assert "Too many tabs" in (await late.said("error"))["message"]


def listed(page: str) -> str:
    """The sidebar's list as a page has it."""
    start = page.index('<div id="sidebar-list"')
    return page[start : page.index("</div>", start) + len("</div>")]


async def lists(tab: Tab, *words: str) -> None:
    """Wait until the sidebar's list has all the words."""
    await displays(tab, lambda: all(word in latest(tab, "#sidebar-list") for word in words))


async def test_another_conversations_page_shows_what_ended_unseen(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Done."))
    tab = await site.open(await site.conversation())
    other = await begin(site, "Elsewhere")
    await lists(tab, "Elsewhere", "data-unseen", "Unread:")
    await displays(tab, lambda: "1 needs your attention" in latest(tab, "#board-link"))
    await sync_to_async(other.mark_seen)((await site.turn(other)).pk)
    await displays(tab, lambda: "data-unseen" not in latest(tab, "#sidebar-list"))
    await displays(tab, lambda: "your attention" not in latest(tab, "#board-link"))


async def test_the_boards_own_sidebar_follows(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Done."))
    tab = await site.board()
    await begin(site, "From elsewhere")
    await lists(tab, "From elsewhere", "data-unseen")
    page = await site.page_at("/board/")
    await displays(tab, lambda: latest(tab, "#sidebar-list") == listed(page))


@pytest.mark.parametrize(("address", "path"), [("/board/", "/ws/board/"), ("/settings/usage/", "/ws/")])
async def test_a_page_that_shows_what_there_is_is_sent_nothing(site: Site, address: str, path: str) -> None:
    page = await site.page_at(address)
    tab = await sync_to_async(site.socket_at)(path)
    assert await tab.connect()
    tab.page.regions.update(REGION.findall(page))
    await tab.live()
    assert tab.drawn("#", "outerMorph") == []
    await begin(site, "From elsewhere")
    if address == "/board/":
        await shows(tab, "running", "From elsewhere")
    await lists(tab, "From elsewhere")


@pytest.mark.parametrize(("address", "path"), [("/board/", "/ws/board/"), ("/settings/usage/", "/ws/")])
async def test_what_a_plan_became_while_a_page_was_on_its_way_is_shown(
    site: Site, model_server: ScriptedModel, address: str, path: str
) -> None:
    gate, end = threading.Event(), threading.Event()
    begun, done = [("a", "in_progress"), ("b", "pending")], [("a", "completed"), ("b", "pending")]
    model_server.script(a_list(begun), a_list(done, gate), Reply(text="Wait", stall_after=1, gate=end))
    await site.board()  # or nothing would run the turn
    conversation = await begin(site, "A plan")
    lists_of = TodoRevision.objects.filter(conversation=conversation)
    await until(lists_of.aexists)
    page = await site.page_at(address)
    assert "<span>0/2</span>" in page
    gate.set()
    await until(lambda: lists_of.filter(items__0__status="completed").aexists())
    tab = await sync_to_async(site.socket_at)(path)
    assert await tab.connect()
    tab.page.regions.update(REGION.findall(page))
    await tab.live()
    assert "<span>1/2</span>" in latest(tab, "#sidebar-list")
    end.set()


@pytest.mark.parametrize(("address", "path"), [("/board/", "/ws/board/"), ("/settings/usage/", "/ws/")])
async def test_a_title_that_came_while_a_page_was_on_its_way_is_shown(
    site: Site, address: str, path: str
) -> None:
    conversation = await site.conversation()
    page = await site.page_at(address)
    await Conversation.objects.filter(pk=conversation.pk).aupdate(title="Notes in order")
    tab = await sync_to_async(site.socket_at)(path)
    assert await tab.connect()
    tab.page.regions.update(REGION.findall(page))
    await tab.live()
    assert "Notes in order" in latest(tab, "#sidebar-list")


def a_list(items: list[tuple[str, str]], gate: threading.Event | None = None) -> Reply:
    """A reply that writes this list, once the gate is open."""
    written = [{"content": name, "status": status, "activeForm": name} for name, status in items]
    stall = 0 if gate else None
    return Reply(tool_calls=[("TodoWrite", {"items": written})], stall_after=stall, gate=gate)


async def test_other_users_are_not_in_the_sidebar(site: Site, stranger: User) -> None:
    tab = await sync_to_async(site.socket_at)("/ws/")
    assert await tab.connect()
    await tab.live()
    await Conversation.objects.acreate(owner=stranger, title="Not yours")
    await begin(site, "From elsewhere")
    await lists(tab, "From elsewhere")
    assert "Not yours" not in latest(tab, "#sidebar-list")


def test_the_sidebars_state_takes_two_statements(
    owner: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    with django_assert_num_queries(2):
        sidebar_states_of([owner.pk])


async def test_the_end_of_ones_own_page_is_seen_without_a_mark(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Done."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    turn: Turn = await site.turn(conversation)
    await tab.socket.send_json_to({"type": "seen", "turn": turn.pk})
    await until(lambda: Conversation.objects.filter(pk=conversation.pk, unseen_turn=None).aexists())
    assert "data-unseen" not in "".join(tab.received)


async def test_the_end_of_ones_own_page_does_not_need_attention_there(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Done."), Reply(text="Done, too."))
    conversation = await site.conversation()
    tab, board = await site.open(conversation), await site.board()
    await tab.send("do it")
    await displays(board, lambda: "1 needs your attention" in latest(board, "#board-link"))
    await begin(site, "Elsewhere")
    await displays(board, lambda: "2 need your attention" in latest(board, "#board-link"))
    assert "1 needs your attention" in await site.page(conversation)
    await lists(tab, "Elsewhere", "data-unseen")
    await displays(tab, lambda: "1 needs your attention" in latest(tab, "#board-link"))
    assert not any("2 need your attention" in frame for frame in tab.received)
