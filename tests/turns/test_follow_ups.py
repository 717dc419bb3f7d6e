"""Messages while the agent works: held, unsent, read at the next safe point, or sent as the next turn."""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.test import Client

from chat.demo.reply import Reply
from chat.live import broadcast
from chat.models import Conversation, FollowUp, Message, Turn, recover_turn
from chat.models.conversation import MAX_HELD
from chat.turns.worker import close_pool, pool
from tests.live.site import Site, Tab, article, until
from tests.model_server import ScriptedModel

LOOK = [("read_file", {"path": "."})]


class Work:
    """A turn whose model says a first word and then waits for `go`."""

    def __init__(self, site: Site, model: ScriptedModel, first: dict[str, Any], *then: Reply) -> None:
        self.site, self.model = site, model
        self.go = threading.Event()
        model.script(Reply(text="I begin.", stall_after=1, gate=self.go, **first), *then)

    async def begin(self) -> Tab:
        self.conversation = await self.site.conversation()
        tab = await self.site.open(self.conversation)
        await tab.send("do it")
        await tab.said("accepted")
        await asked(self.model, 1)
        return tab

    async def rows(self) -> list[tuple[str, str]]:
        return [(row.status, row.text) async for row in self.conversation.follow_ups.all()]


async def asked(model: ScriptedModel, times: int) -> None:
    """Wait until the model has had so many requests."""

    async def enough() -> bool:
        return len(model.requests) >= times

    await until(enough)


async def hold(tab: Tab, text: str) -> int:
    """Send a message that is held, and see it so."""
    await tab.send(text)
    accepted = await tab.said("accepted")
    await tab.until(lambda frame: f'id="follow-up-{accepted["follow_up"]}"' in frame)
    return int(accepted["follow_up"])


def held(page: str) -> list[str]:
    """The texts in the list of held messages, on a page or in a frame."""
    inside = page[page.index('<section id="follow-ups"') :].split("</section>")[0]
    return [part.split("</p>")[0] for part in inside.split('<p class="follow-up__text">')[1:]]


def says(model: ScriptedModel, request: int) -> list[tuple[str, Any]]:
    messages = model.requests[request]["messages"]
    return [(message["role"], message["content"]) for message in messages]


async def empty(tab: Tab) -> None:
    """Receive up to a list with nothing in it."""
    await tab.until(lambda frame: 'id="follow-ups"' in frame and not held(frame))


async def test_a_message_during_a_turn_is_held_in_every_tab(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {})
    tab = await work.begin()
    other = await site.open(work.conversation)
    await hold(tab, "and <b>this</b>")
    frame = await other.until(lambda frame: 'class="follow-up"' in frame)
    assert held(frame) == held(await site.page(work.conversation)) == ["and &lt;b&gt;this&lt;/b&gt;"]
    late = await site.open(work.conversation)
    assert held(late.drawn("#follow-ups", "outerMorph")[-1]) == held(frame), (
        "a tab that connects later is told by its snapshot"
    )
    assert await work.conversation.turns.acount() == 1
    await site.post(work.conversation, "stop")


async def test_a_repeated_send_is_held_once(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {})
    tab = await work.begin()
    client_id = str(uuid.uuid4())
    for _time in range(2):
        await tab.socket.send_json_to({"text": "more", "client_id": client_id})
    assert await tab.said("accepted") == await tab.said("accepted")
    assert await work.rows() == [("held", "more")]
    work.go.set()
    await until(lambda: work.conversation.turns.filter(status="completed").aexists())
    await tab.socket.send_json_to({"text": "more", "client_id": client_id})
    assert (await tab.said("accepted"))["client_id"] == client_id
    assert await Message.objects.filter(text="more").acount() == 1


async def test_the_turns_own_message_is_not_held_when_it_is_repeated(
    site: Site, model_server: ScriptedModel
) -> None:
    work = Work(site, model_server, {})
    tab = await work.begin()
    turn = await site.turn(work.conversation)
    await tab.socket.send_json_to({"text": "do it", "client_id": str(turn.client_id)})
    assert (await tab.said("accepted"))["turn"] == turn.pk
    assert await work.rows() == []
    await site.post(work.conversation, "stop")


async def test_blank_and_overlong_and_too_many_are_refused(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {})
    tab = await work.begin()
    for text in (" ", "x" * (64 * 1024 + 1)):
        await tab.send(text)
        assert (await tab.said("refused"))["message"].endswith(".")
    for number in range(MAX_HELD):
        await tab.send(f"message {number}")
    await tab.send("one too many")
    assert "Too many messages are waiting." in (await tab.said("refused"))["message"]
    assert len(await work.rows()) == MAX_HELD
    await site.post(work.conversation, "stop")


async def test_a_form_holds_a_message_too(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {})
    tab = await work.begin()
    assert await site.post(work.conversation, "messages", text="by form") == 302
    await tab.until(lambda frame: "by form" in frame)
    assert held(await site.page(work.conversation)) == ["by form"]
    await site.post(work.conversation, "stop")


async def test_what_is_taken_back_is_never_read(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {"tool_calls": LOOK}, Reply(text="Done."))
    tab = await work.begin()
    other = await site.open(work.conversation)
    pears = await hold(tab, "pears")
    await hold(tab, "plums")
    given = await ask(site, work.conversation, f"follow-ups/{pears}/take-back")
    assert given == (200, "pears")
    await other.until(lambda frame: 'id="follow-ups"' in frame and held(frame) == ["plums"])
    assert await ask(site, work.conversation, f"follow-ups/{pears}/take-back") == (200, "pears")
    work.go.set()
    await tab.until_idle()
    assert says(model_server, 1)[-1] == ("user", "plums")
    assert "pears" not in json.dumps(model_server.requests[1])


async def test_what_was_read_is_not_taken_back(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {"tool_calls": LOOK}, Reply(text="Done."))
    tab = await work.begin()
    pk = await hold(tab, "read me")
    work.go.set()
    await tab.until_idle()
    assert await ask(site, work.conversation, f"follow-ups/{pk}/take-back") == (204, "")
    assert await work.rows() == [("delivered", "read me")]


async def test_held_messages_are_read_after_the_results_of_a_step(
    site: Site, model_server: ScriptedModel
) -> None:
    gate = threading.Event()
    work = Work(site, model_server, {"tool_calls": LOOK}, Reply(text="Both done.", stall_after=1, gate=gate))
    tab = await work.begin()
    await hold(tab, "one more thing")
    await hold(tab, "and another")
    work.go.set()
    await empty(tab)
    turn = await site.turn(work.conversation)
    assert [role for role, _content in says(model_server, 1)] == [
        "system", "user", "assistant", "tool", "user", "user",
    ]  # fmt: skip
    assert [content for _role, content in says(model_server, 1)[-2:]] == ["one more thing", "and another"]
    if "and another" not in tab.last_turn():  # what is held and what was read come in frames of their own
        await tab.until(lambda _frame: "and another" in tab.last_turn())
    drawn = tab.last_turn()
    places = [
        drawn.index(text) for text in ("do it", "I begin.", "read_file", "one more thing", "and another")
    ]
    assert places == sorted(places), "they stand where the agent read them"
    gate.set()
    await tab.until_idle()
    assert await work.conversation.turns.acount() == 1
    assert tab.last_turn().strip() == article(await site.page(work.conversation), turn)
    assert await work.rows() == [("delivered", "one more thing"), ("delivered", "and another")]


async def test_what_was_sent_before_never_changes(site: Site, model_server: ScriptedModel) -> None:
    """Each request begins with the one before it, over follow-ups and into the next turn."""
    look = [Reply(tool_calls=[("read_file", {"path": f"file-{n}"})]) for n in range(12)]
    work = Work(site, model_server, {"tool_calls": LOOK}, *look, Reply(text="One."), Reply(text="Two."))
    tab = await work.begin()
    await hold(tab, "one more thing")
    work.go.set()
    await tab.until_idle()
    await tab.send("second")
    await tab.until_idle()
    sent = [request["messages"] for request in model_server.requests]
    assert all(later[: len(sooner)] == sooner for sooner, later in itertools.pairwise(sent))
    assert [message["role"] for message in sent[-1]].count("user") == 3
    assert "<reminder>11+" in json.dumps(sent[-1])


async def test_the_turn_ends_first_and_what_is_held_is_the_next(
    site: Site, model_server: ScriptedModel
) -> None:
    work = Work(site, model_server, {}, Reply(text="And these."))
    tab = await work.begin()
    other = await site.open(work.conversation)
    await hold(tab, "one")
    await hold(tab, "two\nlines")
    first = await site.turn(work.conversation)
    work.go.set()
    for each in (tab, other):
        await each.until(lambda frame: f'id="turn-{first.pk + 1}"' in frame)
        await each.until_idle()
    second = await site.turn(work.conversation)
    assert (second.status, second.follows_id) == ("completed", first.pk)
    assert says(model_server, 1)[-1] == ("user", "one\n\ntwo\nlines")
    page = await site.page(work.conversation)
    assert held(page) == []
    for each in (tab, other):
        drawn = [html.strip() for html in each.drawn(f"#turn-{first.pk}", "outerMorph")]
        assert drawn[-1] == article(page, await Turn.objects.aget(pk=first.pk))
        assert each.last_turn().strip() == article(page, second)
    assert await work.rows() == [("delivered", "one"), ("delivered", "two\nlines")]


async def test_after_a_failure_they_stay_held_until_they_are_sent(
    site: Site, model_server: ScriptedModel
) -> None:
    work = Work(site, model_server, {"tool_calls": LOOK}, Reply(status=401, body="{}"), Reply(text="Now."))
    tab = await work.begin()
    work.go.set()
    await tab.until_idle()
    await sync_to_async(held_in_idle)(work.conversation, "after all")
    assert await site.post(work.conversation, "follow-ups/send") == 302
    assert await site.post(work.conversation, "follow-ups/send") == 302
    await until(lambda: work.conversation.turns.filter(status="completed").aexists())
    assert await work.conversation.turns.acount() == 2
    assert says(model_server, -1)[-1] == ("user", "after all")


def held_in_idle(conversation: Conversation, text: str) -> None:
    conversation.follow_ups.create(client_id=uuid.uuid4(), text=text)


async def test_a_failed_turn_leaves_its_held_messages_alone(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {}, Reply(text="Now."))
    tab = await work.begin()
    await hold(tab, "held")
    await close_pool()
    await Turn.objects.filter(conversation=work.conversation).aupdate(status="interrupted")
    assert held(await site.page(work.conversation)) == ["held"]
    await tab.send("and this")
    await tab.said("accepted")
    pool().open()
    await until(lambda: work.conversation.turns.filter(status="completed").aexists())
    assert says(model_server, -1)[-1] == ("user", "held\n\nand this"), (
        "a new message takes them along, in order"
    )


async def test_stop_returns_held_messages(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {})
    tab = await work.begin()
    other = await site.open(work.conversation)
    await hold(tab, "one")
    await hold(tab, "two")
    assert await ask(site, work.conversation, "stop") == (200, "one\n\ntwo")
    for each in (tab, other):
        await each.until_idle()
        assert held(each.received[-1]) == []
    assert await work.rows() == [("taken_back", "one"), ("taken_back", "two")]
    assert await work.conversation.turns.acount() == 1


async def test_stop_and_send_starts_the_next_turn(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {}, Reply(text="Instead."))
    tab = await work.begin()
    await hold(tab, "rather this")
    assert await ask(site, work.conversation, "stop", then="send") == (204, "")
    await tab.until(lambda frame: "Instead." in frame)
    await tab.until_idle()
    states = [turn.status async for turn in work.conversation.turns.all()]
    assert states == ["stopped", "completed"]
    assert says(model_server, -1)[-1] == ("user", "rather this")


async def test_a_turn_that_waits_is_stopped_with_either_choice(site: Site) -> None:
    conversation = await site.conversation()

    @sync_to_async
    def queued() -> None:
        conversation.send("do it", uuid.uuid4())
        conversation.send("or this", uuid.uuid4())

    await queued()
    assert await ask(site, conversation, "stop", then="send") == (204, "")
    assert [turn.status async for turn in conversation.turns.all()] == ["stopped", "queued"]
    await sync_to_async(conversation.send)("and that", uuid.uuid4())
    assert await ask(site, conversation, "stop") == (200, "and that")
    assert [turn.status async for turn in conversation.turns.all()] == ["stopped", "stopped"]


async def test_a_death_after_the_reading_neither_loses_nor_doubles(
    site: Site, model_server: ScriptedModel
) -> None:
    """The worker goes between the reading and the next reply; another one reads the same from the rows."""
    never = threading.Event()
    cut = Reply(text="I was about", stall_after=1, gate=never)
    work = Work(site, model_server, {"tool_calls": LOOK}, cut, Reply(text="Done."))
    tab = await work.begin()
    await hold(tab, "one more thing")
    work.go.set()
    await asked(model_server, 2)
    await close_pool()
    never.set()
    pool().open()
    await until(lambda: work.conversation.turns.filter(status="completed").aexists())
    assert says(model_server, 2) == says(model_server, 1)
    assert await Message.objects.filter(text="one more thing").acount() == 1


async def test_a_stop_that_a_death_overtook_still_sends(site: Site) -> None:
    conversation = await site.conversation()

    @sync_to_async
    def left_behind() -> Turn:
        conversation.send("do it", uuid.uuid4())
        turn = Turn.claim("a worker that is no more")
        conversation.send("rather this", uuid.uuid4())
        conversation.stop(then_send=True)
        assert turn is not None
        turn.refresh_from_db()
        assert recover_turn(turn)
        return turn

    turn = await left_behind()
    states = [each.status async for each in conversation.turns.all()]
    assert states == ["stopped", "queued"]
    assert await FollowUp.objects.filter(status="delivered", turn__follows=turn).aexists()


async def test_a_lost_end_is_made_good_when_the_next_turn_shows(
    site: Site, model_server: ScriptedModel
) -> None:
    """The frame with the first turn's end never comes; the first frame of the next one brings both."""
    gate = threading.Event()
    work = Work(site, model_server, {}, Reply(text="Instead.", stall_after=1, gate=gate))
    tab = await work.begin()
    await hold(tab, "next")
    layer = broadcast.get_channel_layer()
    members = layer.groups.pop(broadcast.conversation_group(work.conversation.pk))
    first = await site.turn(work.conversation)
    work.go.set()
    await until(lambda: work.conversation.turns.filter(pk__gt=first.pk, status="running").aexists())
    layer.groups[broadcast.conversation_group(work.conversation.pk)] = members
    gate.set()
    await tab.until_idle()
    page = await site.page(work.conversation)
    drawn = [html.strip() for html in tab.drawn(f"#turn-{first.pk}", "outerMorph")]
    assert drawn[-1] == article(page, await Turn.objects.aget(pk=first.pk))


async def test_a_lost_hint_is_made_good_by_the_next_beat(site: Site, model_server: ScriptedModel) -> None:
    work = Work(site, model_server, {})
    tab = await work.begin()
    layer = broadcast.get_channel_layer()
    members = layer.groups.pop(broadcast.conversation_group(work.conversation.pk))
    await tab.send("unheard of")
    await tab.said("accepted")
    layer.groups[broadcast.conversation_group(work.conversation.pk)] = members
    await tab.until(lambda frame: 'id="follow-ups"' in frame and held(frame) == ["unheard of"])
    await site.post(work.conversation, "stop")


async def ask(site: Site, conversation: Conversation, action: str, **data: str) -> tuple[int, str]:
    """What the page's script asks for: status, and the text for the composer."""

    def send() -> tuple[int, str]:
        client = Client()
        client.force_login(site.user)
        headers = {"HX-Request": "true"}
        answer = client.post(f"/conversations/{conversation.pk}/{action}/", data, headers=headers)
        return answer.status_code, answer.content.decode()

    return await sync_to_async(send)()
