"""The live board: it follows what happens in every conversation, and is what a fresh load shows."""

from __future__ import annotations

import re
import threading
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.demo.reply import Call, Reply
from chat.live import board_consumer, crowd, doorbell, page_socket
from chat.live.announcing import announce, announce_heading
from chat.models import Conversation, Profile, Turn
from tests.live.site import Site, Tab, until
from tests.model_server import ScriptedModel

SECTIONS = ("running", "unseen", "unfinished")
CLOCK = re.compile(r'(class="board-row__time elapsed"[^>]*>)[^<]*')
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
    await announce(await site.turn(conversation))
    return conversation


def displayed(tab: Tab, name: str) -> str:
    """A section as the tab has it, without the clocks that go on."""
    return CLOCK.sub(r"\1", tab.drawn(f"#board-{name}", "outerMorph")[-1].strip())


def loaded(page: str, name: str) -> str:
    """A section as the page has it."""
    start = page.index(f'<section id="board-{name}"')
    return CLOCK.sub(r"\1", page[start : page.index("</section>", start) + len("</section>")])


async def is_the_record(site: Site, tab: Tab) -> None:
    """The tab shows what a fresh load does."""
    page = await site.page_at("/board/")
    assert [displayed(tab, name) for name in SECTIONS] == [loaded(page, name) for name in SECTIONS]
    assert f"<title>{tab.drawn('head > title', 'innerHTML')[-1]}</title>" in page
    assert tab.drawn("#board-link", "outerMorph")[-1].strip() in page


async def shows(tab: Tab, name: str, *words: str) -> None:
    """Wait until a section has all the words."""
    for _each in iter(lambda: all(word in displayed(tab, name) for word in words), True):
        await tab.until(lambda frame: f'id="board-{name}"' in frame)


async def test_it_follows_a_turn_to_its_end(site: Site, model_server: ScriptedModel) -> None:
    gate = threading.Event()
    model_server.script(PLAN, Reply(text="I stop to ask.", stall_after=1, gate=gate))
    tab = await site.board()
    assert "Nothing is at work." in displayed(tab, "running")
    await begin(site)
    await shows(tab, "running", 'data-status="running"', "1/2", "Writing it")
    await is_the_record(site, tab)
    gate.set()
    await shows(tab, "unseen", 'data-status="completed"', "1 of 2 left")
    assert "Nothing is at work." in displayed(tab, "running")
    assert tab.drawn("head > title", "innerHTML")[-1] == "(1) Board"
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
    await shows(tab, "running", 'data-status="waiting"', "May the agent run", 'value="denied"')
    await is_the_record(site, tab)
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
    await tab.socket.send_json_to({"seen": turn.pk})
    await shows(board, "unfinished", "1 of 2 left")
    assert "You have seen everything." in displayed(board, "unseen")
    assert board.drawn("head > title", "innerHTML")[-1] == "Board"
    assert await site.post(conversation, "dismiss") == 302
    await shows(board, "unfinished", "No list was left unfinished.")
    await is_the_record(site, board)


@pytest.mark.parametrize("frame", [{"seen": "1"}, {"seen": None}, {"marked": 5}, {"marked": ["x"]}])
async def test_what_no_page_says_is_refused(site: Site, frame: dict[str, Any]) -> None:
    tab = await site.open(await site.conversation())
    await tab.socket.send_json_to(frame)
    assert (await tab.said("error"))["message"].endswith(".")


async def test_lost_hints_heal(
    site: Site, model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hint ever comes: the looks find what began, went on, was renamed, ended and was seen."""
    gate = threading.Event()
    model_server.script(PLAN, Reply(text="Done.", stall_after=1, gate=gate))
    tab = await site.board()
    layer = doorbell.get_channel_layer()  # type: ignore[attr-defined]
    layer.groups.pop(doorbell.board_group(site.user.pk))
    conversation = await begin(site)
    await shows(tab, "running", "1/2", "Writing it")
    await sync_to_async(conversation.rename)("Another title")
    await shows(tab, "running", "Another title")
    gate.set()
    await shows(tab, "unseen", 'data-status="completed"')
    await sync_to_async(conversation.see)((await site.turn(conversation)).pk)
    await shows(tab, "unfinished", "Another title")
    await conversation.adelete()
    await shows(tab, "unfinished", "No list was left unfinished.")
    await is_the_record(site, tab)


async def test_hints_come_before_looks(
    site: Site, model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_consumer.BoardConsumer, "see", lambda self, outline: None)
    model_server.script(PLAN, Reply(text="Done."))
    tab = await site.board()
    conversation = await begin(site)
    await shows(tab, "unseen", 'data-status="completed"')
    await sync_to_async(conversation.rename)("Another title")
    await announce_heading(conversation)
    await shows(tab, "unseen", "Another title")


async def test_a_page_that_lacks_a_drawing_is_sent_it(site: Site, model_server: ScriptedModel) -> None:
    tab = await site.board()
    first = tab.received[-1]
    await tab.socket.send_json_to({"at": 0, "after": 0})
    assert await tab.until(lambda frame: 'id="board-running"' in frame) == first


async def test_each_sees_only_their_own(site: Site, model_server: ScriptedModel, stranger: Any) -> None:
    model_server.script(Reply(text="Done."))
    theirs, ours = await site.board(stranger), await site.board()
    await begin(site, "Our secret")
    await shows(ours, "unseen", "Our secret")
    await doorbell.ring_board(stranger.pk)
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
    await tab.socket.send_json_to({"seen": turn.pk})
    await tab.socket.send_json_to({"seen": "?"})
    assert await tab.said("error"), "what was said before has been heard"
    assert await Conversation.objects.filter(unseen_turn=turn).aexists()


async def test_nobody_gets_in_without_signing_in(site: Site) -> None:
    nobodys = Site(site.application, None)  # type: ignore[arg-type]
    tab = await sync_to_async(nobodys.socket_at)("/ws/board/")
    assert await tab.connect()
    assert await tab.socket.receive_output(5) == {"type": "websocket.close", "code": 4404}


async def test_another_origin_is_refused(site: Site) -> None:
    tab = await sync_to_async(site.socket_at)("/ws/board/", None, "https://evil.example")
    assert not await tab.connect()


async def test_whoever_was_signed_out_is_closed_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.contrib.sessions.models import Session

    monkeypatch.setattr(page_socket, "CHECK", 0.1)
    tab = await site.board()
    await Session.objects.all().adelete()
    while (await tab.socket.receive_output(5))["type"] != "websocket.close":
        pass


@pytest.mark.parametrize("frame", ["", "hello", "[]", '{"text": "Hi"}', '{"at": "x"}', '{"marked": [7]}'])
async def test_nothing_can_be_sent_from_there(site: Site, frame: str) -> None:
    tab = await site.board()
    await tab.socket.send_to(text_data=frame or " ")
    assert (await tab.said("error"))["message"].endswith(".")
    await tab.socket.send_json_to({"at": 1})
    await tab.socket.send_json_to({"at": 0, "after": 0})
    await tab.until(lambda frame: 'id="board-running"' in frame)


async def test_boards_count_among_a_persons_sockets(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "MOST", 2)
    await site.board()
    await site.open(await site.conversation())
    late = await sync_to_async(site.socket_at)("/ws/board/")
    assert await late.connect()
    assert "Too many tabs" in (await late.said("error"))["message"]


async def test_a_page_with_another_conversation_shows_what_ended_unseen(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Done."))
    tab = await site.open(await site.conversation())
    await tab.socket.send_json_to({"marked": []})
    other = await begin(site)
    row = f'data-conversation="{other.pk}"'
    frame = await tab.until(lambda frame: row in frame and "data-unseen" in frame)
    page = await site.page_at("/settings/preferences/")
    assert tab.drawn("#sidebar", "outerMorph")[-1].strip() in page
    assert "1 conversation for you" in tab.drawn("#board-link", "outerMorph")[-1]
    assert "Ended, not seen yet:" in frame
    await sync_to_async(other.see)((await site.turn(other)).pk)
    await tab.until(lambda frame: row in frame and "data-unseen" not in frame)
    assert "for you" not in tab.drawn("#board-link", "outerMorph")[-1]


async def test_marks_that_a_page_shows_no_more_are_taken_away(site: Site) -> None:
    """A page that was in the background says which marks it shows; meanwhile that was seen elsewhere."""
    stale = await site.conversation()
    tab = await site.open(await site.conversation())
    await tab.socket.send_json_to({"marked": [str(stale.pk), str(uuid.uuid4())]})
    await tab.until(lambda frame: f'data-conversation="{stale.pk}"' in frame)
    assert "data-unseen" not in tab.drawn("#sidebar", "outerMorph")[-1]


async def test_the_end_of_ones_own_page_is_seen_without_a_mark(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="Done."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.socket.send_json_to({"marked": []})
    await tab.send("do it")
    await tab.until_idle()
    turn: Turn = await site.turn(conversation)
    await tab.socket.send_json_to({"seen": turn.pk})
    await until(lambda: Conversation.objects.filter(pk=conversation.pk, unseen_turn=None).aexists())
    assert "data-unseen" not in "".join(tab.received)
