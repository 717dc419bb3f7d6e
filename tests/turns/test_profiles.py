"""The effect of a profile on requests and turns."""

from __future__ import annotations

import asyncio
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chat.demo.reply import Reply, Request
from chat.models import Connection, Conversation, Profile
from tests.live.site import Site, article
from tests.model_server import ScriptedModel

WISHES = {
    "temperature": 0.3,
    "top_p": 0.9,
    "max_output_tokens": 500,
    "reasoning_effort": "low",
}


async def conversation_with(site: Site, **wishes: Any) -> Conversation:
    conversation = await site.conversation()
    conversation.profile = await Profile.objects.acreate(title="Mine", owner=site.user, **wishes)
    await conversation.asave()
    return conversation


async def said(site: Site, conversation: Conversation, text: str = "do it") -> None:
    tab = await site.open(conversation)
    await tab.send(text)
    await tab.until_idle()


async def test_what_a_profile_wishes_is_in_every_request(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(tool_calls=[("read_file", {"path": "a"})]), Reply(text="Done."))
    await said(site, await conversation_with(site, model="large", **WISHES))
    for request in model_server.requests:
        assert (request["model"], request["temperature"], request["top_p"]) == ("large", 0.3, 0.9)
        assert request["reasoning_effort"] == "low"
        assert request.get("max_tokens", request.get("max_completion_tokens")) == 500


async def test_what_it_leaves_open_is_not_sent(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Done."))
    await said(site, await conversation_with(site))
    open_to_choose = {"temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort"}
    assert not open_to_choose & set(model_server.requests[0])


async def test_a_temperature_of_zero_is_sent(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Done."))
    await said(site, await conversation_with(site, temperature=0))
    assert model_server.requests[0]["temperature"] == 0


async def test_its_limits_end_a_turn(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(*(Reply(tool_calls=[("read_file", {"path": f"{n}"})]) for n in range(3)))
    conversation = await conversation_with(site, max_steps=2)
    await said(site, conversation)
    turn = await site.turn(conversation)
    assert (turn.status, len(model_server.requests)) == ("stopped", 2)
    assert "2" in turn.status_message


async def test_a_tool_that_is_never_run_is_not_offered(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Done."))
    await said(site, await conversation_with(site, rules={"bash": "never"}))
    offered = [tool["function"]["name"] for tool in model_server.requests[0]["tools"]]
    assert "bash" not in offered
    assert "read_file" in offered


async def test_another_profile_answers_the_next_turn(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="One."), Reply(text="Two."))
    conversation = await conversation_with(site, instructions="Be brief.", model="small")
    await said(site, conversation)
    conversation.profile = await Profile.objects.acreate(
        title="Other", instructions="Be long.", model="large"
    )
    await sync_to_async(conversation.save)()
    await said(site, conversation, "and now")
    first, second = model_server.requests
    assert (first["model"], second["model"]) == ("small", "large")
    assert "Be brief." in first["messages"][0]["content"]
    assert "Be long." in second["messages"][0]["content"]
    told = [message["content"].splitlines()[-1] for message in second["messages"][1:]]
    assert told == ["do it", "One.", "and now"]


async def test_a_choice_is_seen_in_every_tab_at_once(site: Site, model_server: ScriptedModel) -> None:
    conversation = await conversation_with(site)
    tab = await site.open(conversation)
    other = await Profile.objects.acreate(title="Other")
    assert await site.post(conversation, "profile", profile=str(other.pk)) == 302
    frame = await tab.until(lambda frame: 'id="profile-choice"' in frame)
    assert f'value="{other.pk}" data-act aria-current="true"' in frame


async def test_a_choice_whose_news_is_lost_is_found(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Done."))
    conversation = await conversation_with(site)
    tab = await site.open(conversation)
    other = await Profile.objects.acreate(title="Other")
    await Conversation.objects.filter(pk=conversation.pk).aupdate(profile=other)
    await tab.send("do it")
    await tab.until_idle()
    await tab.has(f'value="{other.pk}" data-act aria-current="true"')
    assert "Other" in tab.last_turn()


async def test_while_a_turn_works_a_choice_is_for_the_next_one(
    site: Site, model_server: ScriptedModel
) -> None:
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def answer(request: Request) -> Reply:
        if len(model_server.requests) == 1:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(gate.wait(), loop))
            return Reply(tool_calls=[("read_file", {"path": "a"})])
        return Reply(text="Done.")

    model_server.answer = answer
    conversation = await conversation_with(site, model="small")
    tab = await site.open(conversation)
    await tab.send("do it")
    await asyncio.to_thread(model_server.wait_for_requests)
    other = await Profile.objects.acreate(title="Other", model="large")
    assert await site.post(conversation, "profile", profile=str(other.pk)) == 302
    gate.set()
    await tab.until_idle()
    await tab.send("and now")
    await tab.until(lambda frame: "Switched to Other" in frame)
    await tab.until_idle()
    assert [request["model"] for request in model_server.requests] == ["small", "small", "large"]


async def test_a_chosen_model_answers_from_the_next_turn(site: Site, model_server: ScriptedModel) -> None:
    """At another connection, seen in every tab, shown where the turn says who answered."""
    model_server.script(Reply(text="One."), Reply(text="Two."), Reply(text="Three."))
    conversation = await conversation_with(site, model="small", temperature=0.3)
    tab, other = await site.open(conversation), await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    assert 'class="who__model"' not in tab.last_turn()
    site.user.is_staff = True  # so that the connection may be on this machine
    await site.user.asave()
    mine = await Connection.objects.acreate(
        owner=site.user, name="Mine", base_url=model_server.base_url, inside=True
    )
    assert await site.post(conversation, "model", model=f"{mine.pk}:large") == 302
    frame = await other.until(lambda frame: 'id="profile-choice"' in frame)
    assert '<span class="model-choice__name">large</span>' in " ".join(frame.split()).replace("> ", ">")
    await tab.send("and now")
    await tab.until_idle()
    assert "Model switched to large" in tab.last_turn()
    turn = await site.turn(conversation)
    assert tab.last_turn().strip() == article(await site.page(conversation), turn)
    assert await site.post(conversation, "model", model="") == 302
    await tab.send("and again")
    await tab.until_idle()
    assert "Model switched to small" in tab.last_turn()
    asked = [(request["model"], request["temperature"]) for request in model_server.requests]
    assert asked == [("small", 0.3), ("large", 0.3), ("small", 0.3)]


async def test_what_is_told_of_a_profile_is_live_what_the_page_shows(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(text="One."), Reply(text="Two."))
    conversation = await conversation_with(site, name="Ada", colour="violet", instructions="Be brief.")
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    await Profile.objects.aupdate(temperature=1)
    await tab.send("again")
    await tab.until_idle()
    turn = await site.turn(conversation)
    assert "Mine was changed: temperature" in tab.last_turn()
    assert tab.last_turn().strip() == article(await site.page(conversation), turn)


async def test_nobody_elses_connection_is_ever_asked(
    site: Site, model_server: ScriptedModel, stranger: User
) -> None:
    """A shared profile with one user's connection, which only manual changes can create."""
    theirs = await Connection.objects.acreate(owner=stranger, name="Theirs", base_url=model_server.base_url)
    conversation = await site.conversation()
    conversation.profile = await Profile.objects.acreate(title="Common", connection=theirs, model="large")
    await conversation.asave()
    await said(site, conversation)
    turn = await site.turn(conversation)
    assert (turn.status, model_server.requests) == ("failed", [])
    assert "belongs to somebody else" in turn.status_message
