"""Stop while the turn ends by itself: the user's choice for held messages is respected."""

from __future__ import annotations

import uuid

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from chat.demo.reply import Reply
from chat.models import Conversation, Turn
from tests.live.site import Site, until
from tests.model_server import ScriptedModel
from tests.turns.test_follow_ups import ask


@sync_to_async
def working(conversation: Conversation) -> Turn:
    """A turn that a worker has, with a message held."""
    conversation.send("do it", uuid.uuid4())
    turn = Turn.claim("a worker")
    conversation.send("rather this", uuid.uuid4())
    assert turn
    return turn


async def test_stop_and_send_after_the_turn_failed(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Instead."))
    conversation = await site.conversation()
    turn = await working(conversation)
    await sync_to_async(turn.end)(Turn.Status.FAILED, "It failed.")
    assert await ask(site, conversation, "stop", then="send") == (204, "")
    tab = await site.open(conversation)
    await until(lambda: conversation.turns.filter(status="completed").aexists())
    assert await ask(site, conversation, "stop", then="send") == (204, ""), "nothing is left to stop or send"
    await tab.until_idle()
    assert await conversation.turns.acount() == 2


async def test_stop_and_send_as_the_turn_fails(site: Site) -> None:
    conversation = await site.conversation()
    turn = await working(conversation)
    assert await ask(site, conversation, "stop", then="send") == (204, "")
    await sync_to_async(turn.end)(Turn.Status.FAILED, "It failed.")
    assert [each.status async for each in conversation.turns.all()] == ["failed", "queued"]


async def test_stop_and_take_back_after_the_turn_failed(site: Site) -> None:
    conversation = await site.conversation()
    turn = await working(conversation)
    await sync_to_async(turn.end)(Turn.Status.FAILED, "It failed.")
    assert await ask(site, conversation, "stop") == (200, "rather this")
    assert await conversation.turns.acount() == 1


async def test_what_a_request_took_back_it_may_ask_for_again(site: Site, stranger: User) -> None:
    """The answer to Stop is lost on its way; the page asks for the text by the name of its request."""
    conversation = await site.conversation()
    await working(conversation)
    act, other = uuid.uuid4(), uuid.uuid4()
    assert await ask(site, conversation, "stop", act=str(act)) == (200, "rather this")

    def get(user: User, name: uuid.UUID) -> tuple[int, str]:
        client = Client()
        client.force_login(user)
        answer = client.get(f"/conversations/{conversation.pk}/follow-ups/taken-back/{name}/")
        return answer.status_code, answer.content.decode()

    for _time in range(2):
        assert await sync_to_async(get)(site.user, act) == (200, "rather this")
    assert await sync_to_async(get)(site.user, other) == (204, "")
    assert (await sync_to_async(get)(stranger, act))[0] == 404
