"""Reasoning: separate on the page, saved in rows, and sent back only to the model that wrote it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from chat.demo.reply import Reply, chunk, sse
from chat.models import Conversation, Message, Turn
from tests.live.site import Site, article
from tests.model_server import ScriptedModel

DEMANDED = {
    "error": {"message": "The `reasoning_content` in the thinking mode must be passed back to the API."}
}
DETAILS = [{"type": "reasoning.encrypted", "data": "c2VjcmV0", "index": 0}]


async def asked(site: Site, conversation: Conversation | None = None) -> Turn:
    """The turn that answers a message, after its end."""
    conversation = conversation or await site.conversation()
    tab = await site.open(conversation)
    await tab.send("look around")
    await tab.until_idle()
    return await site.turn(conversation)


def looking(**given: Any) -> Reply:
    return Reply(tool_calls=[("read_file", {"path": "."}, "call_1")], **given)


async def test_reasoning_is_folded_and_goes_back_once_it_is_demanded(
    site: Site, model_server: ScriptedModel
) -> None:
    model_server.script(looking(reasoning="I look."), Reply(status=400, body=DEMANDED), Reply("Empty."))
    turn = await asked(site)
    thought = await Message.objects.aget(turn=turn, step__number=1, role="assistant")
    step = await turn.steps.aget(number=1)
    assert (turn.status, thought.reasoning, thought.text) == ("completed", "I look.", "")
    assert (step.endpoint, step.model) == (model_server.base_url, "demo")
    refused, taken = (request["messages"][2] for request in model_server.requests[1:])
    assert "reasoning_content" not in refused
    assert taken["reasoning_content"] == "I look."
    html = article(await site.page(turn.conversation), turn)
    assert thought.thought_for == 0
    assert '<details class="reasoning"><summary>Thought for less than a second</summary>' in html
    assert "I look." in html


async def test_reasoning_grows_by_what_is_new_of_it(site: Site, model_server: ScriptedModel) -> None:
    """Redrawing all of a long thought with each piece would have quadratic cost."""
    thought = "".join(f" {number} < {number + 1};\n" for number in range(120))
    model_server.script(Reply("So it is.", thought, piece=16, delay=0.005))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("count")
    await tab.until_idle()
    seen, redrawn, grown = "", 0, 0
    for frame in tab.received:
        if added := re.match(r"<!--\S+ text #message-\d+-thought\[data-live\]-->", frame):
            seen, grown = seen + frame[added.end() :], grown + 1
            assert thought.startswith(seen)
        for html in re.findall(r'<div class="reasoning__text">(.*?)</div>', frame, re.DOTALL):
            shown = unescape(re.sub(r"</?span[^>]*>", "", html))
            assert shown.startswith(seen)
            seen, redrawn = shown, redrawn + 1
    assert seen == thought
    assert redrawn <= 6, "the beginning, the whole message, and the whole turn"
    assert grown


async def test_what_only_the_model_can_read_goes_back_to_it_and_is_not_shown(
    site: Site, model_server: ScriptedModel
) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    signed = {**call, "extra_content": {"google": {"thought_signature": "c2ln"}}}
    first = chunk({"reasoning_details": DETAILS, "tool_calls": [signed]})
    model_server.script(Reply(raw=sse(first, chunk({}, "tool_calls"), "[DONE]")), Reply("Nothing there."))
    turn = await asked(site)
    kept = await Message.objects.aget(turn=turn, step__number=1, role="assistant")
    assert (kept.text, kept.reasoning, kept.extra["reasoning_details"]) == ("", "", DETAILS)
    again = model_server.requests[1]["messages"][2]
    assert again["reasoning_details"] == DETAILS
    assert again["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}
    html = article(await site.page(turn.conversation), turn)
    assert f'id="{kept.dom_id}" data-role="assistant" hidden' in html
    assert "c2VjcmV0" not in html
    assert "c2ln" not in html


async def test_another_endpoint_gets_nothing_of_it(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(looking(reasoning="I look."), Reply("Empty."))
    turn = await asked(site)
    await turn.steps.aupdate(endpoint="https://elsewhere.example/v1")
    await Message.objects.filter(turn=turn, step__number=1).aupdate(extra={"reasoning_details": DETAILS})
    model_server.script(Reply("Still empty."))
    assert (await asked(site, turn.conversation)).status == "completed"
    sent = model_server.requests[-1]["messages"][2]
    assert sent.keys() == {"role", "content", "tool_calls"}


async def test_a_model_without_tools_says_so_and_a_retry_chats(
    site: Site, model_server: ScriptedModel
) -> None:
    body = {"error": {"message": "registry.ollama.ai/library/gpt-5-mini does not support tools"}}
    model_server.script(Reply(status=400, body=body), Reply("Hello there."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("hello")
    await tab.until_idle()
    failed = await site.turn(conversation)
    assert failed.status == "failed"
    assert "cannot call tools. Retry to go on with it as a plain chat" in failed.status_message
    await site.post(conversation, f"turns/{failed.pk}/retry")
    await tab.until(lambda frame: f'id="turn-{failed.pk + 1}"' in frame)
    await tab.until_idle()
    assert (await site.turn(conversation)).status == "completed"
    request = model_server.requests[1]
    assert "tools" not in request
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert "you have no tools" in request["messages"][0]["content"]
    assert "TodoWrite" not in str(request["messages"])
