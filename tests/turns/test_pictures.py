"""Pictures in messages and in the workspace: the model sees them, now and later."""

from __future__ import annotations

import base64
import itertools
import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from chat.agent.pictures import MAX_BYTES
from chat.demo.reply import Reply
from chat.files.conversation_workspace import folder_of
from chat.models import Attachment, Conversation
from chat.models.bulk import UNDO_TIME
from tests.live.site import Site, article, until
from tests.model_server import ScriptedModel
from tests.pictures import png

LOOK = [("read_file", {"path": "uploads/a.png"})]


@pytest.fixture(autouse=True)
def workspaces(settings: Any, tmp_path: Path) -> None:
    settings.WORKSPACES = tmp_path / "workspaces"


async def send(site: Site, conversation: Conversation, text: str, **files: bytes) -> int:
    """Send a message with files, as the composer does; names have `_` for their dot."""

    def post() -> int:
        client = Client()
        client.force_login(site.user)
        uploads = [SimpleUploadedFile(name.replace("_", "."), data) for name, data in files.items()]
        form = {"text": text, "client_id": str(uuid.uuid4()), "files": uploads}
        return client.post(f"/conversations/{conversation.pk}/messages/", form).status_code

    return await sync_to_async(post)()


async def take_back(site: Site, conversation: Conversation) -> str:
    def post() -> str:
        client = Client()
        client.force_login(site.user)
        held = conversation.follow_ups.get(status="held")
        where = f"/conversations/{conversation.pk}/follow-ups/{held.pk}/take-back/"
        return client.post(where, headers={"HX-Request": "true"}).content.decode()

    return await sync_to_async(post)()


async def asked(model: ScriptedModel) -> None:
    """Wait until the model is at work."""

    async def begun() -> bool:
        return bool(model.requests)

    await until(begun)


def pictures(message: dict[str, Any]) -> list[bytes]:
    """The bytes of the pictures in a message."""
    parts = message["content"] if isinstance(message["content"], list) else []
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.partition("base64,")[2]) for url in urls]


def texts(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]


async def test_the_model_sees_what_came_with_a_message(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="A red square."), Reply(text="Still red."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    assert await send(site, conversation, "What is this?", a_png=png(), notes_txt=b"some text") == 302
    await tab.until_idle()
    question = model_server.requests[0]["messages"][-1]
    assert pictures(question) == [png()]
    assert question["content"][-1]["image_url"]["url"].startswith("data:image/png;base64,")
    said = "What is this?\n\nUploaded: uploads/a.png\nUploaded: uploads/notes.txt"
    assert texts(question)[0].endswith(said)
    assert texts(question)[1:] == ["uploads/a.png:"]
    page = await site.page(conversation)
    turn = await site.turn(conversation)
    assert tab.last_turn().strip() == article(page, turn)
    assert 'alt="a.png"' in article(page, turn)
    assert "notes.txt</a>" in article(page, turn)
    assert "Uploaded" not in article(page, turn), "the page shows the files themselves"
    await tab.send("And now?")
    await tab.until_idle()
    sent = [request["messages"] for request in model_server.requests]
    assert sent[1][: len(sent[0])] == sent[0]


async def test_it_is_as_it_was_when_it_came(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="Red."), Reply(text="Red, as before."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await send(site, conversation, "Look", a_png=png())
    await tab.until_idle()
    file = folder_of(conversation) / "uploads" / "a.png"
    file.write_bytes(png(0, 0, 255))
    await tab.send("Again")
    await tab.until_idle()
    file.unlink()
    assert pictures(model_server.requests[1]["messages"][1]) == [png()]
    kept = await Attachment.objects.aget()
    where = f"/conversations/{conversation.pk}/pictures/{kept.digest}/"

    def load() -> Any:
        client = Client()
        client.force_login(site.user)
        return client.get(where)

    shown = await sync_to_async(load)()
    assert shown.content == png()
    assert shown["Content-Type"] == "image/png"
    assert "sandbox" in shown["Content-Security-Policy"]


async def test_a_picture_that_is_read_follows_the_results(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(
        Reply(tool_calls=[*LOOK, ("read_file", {"path": "uploads"})]),
        Reply(tool_calls=[("read_file", {"path": "."})]),
        Reply(text="Red."),
        Reply(text="Yes."),
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    uploads = folder_of(conversation) / "uploads"
    uploads.mkdir(parents=True)
    (uploads / "a.png").write_bytes(png())
    await tab.send("Look at the picture")
    await tab.until_idle()
    messages = model_server.requests[1]["messages"]
    assert [message["role"] for message in messages[-4:]] == ["assistant", "tool", "tool", "user"]
    assert "uploads/a.png is a picture (PNG, 0.1 KiB)." in messages[-3]["content"]
    assert pictures(messages[-1]) == [png()]
    turn = await site.turn(conversation)
    page = await site.page(conversation)
    assert tab.last_turn().strip() == article(page, turn)
    assert f'src="/conversations/{conversation.pk}/pictures/' in article(page, turn)
    await tab.send("And?")
    await tab.until_idle()
    sent = [request["messages"] for request in model_server.requests]
    assert all(later[: len(sooner)] == sooner for sooner, later in itertools.pairwise(sent))


async def test_what_is_held_keeps_its_picture(site: Site, model_server: ScriptedModel) -> None:
    go = threading.Event()
    model_server.script(
        Reply(text="I begin.", stall_after=1, gate=go, tool_calls=[("read_file", {"path": "."})]),
        Reply(text="Red."),
    )
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("Begin")
    await asked(model_server)
    await send(site, conversation, "And this", a_png=png())
    await tab.until(lambda frame: 'class="follow-up"' in frame and 'alt="a.png"' in frame)
    go.set()
    await tab.until_idle()
    note = model_server.requests[1]["messages"][-1]
    assert pictures(note) == [png()]
    turn = await site.turn(conversation)
    assert tab.last_turn().strip() == article(await site.page(conversation), turn)
    assert 'alt="a.png"' in tab.last_turn()


async def test_what_is_taken_back_is_sent_again_with_its_picture(
    site: Site, model_server: ScriptedModel
) -> None:
    go = threading.Event()
    model_server.script(Reply(text="I begin.", stall_after=1, gate=go), Reply(text="Red."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("Begin")
    await asked(model_server)
    await send(site, conversation, "What is this?", a_png=png())
    text = await take_back(site, conversation)
    assert text == "What is this?\n\nUploaded: uploads/a.png"
    go.set()
    await tab.until_idle()
    await tab.send(text.replace("What", "So what"))
    await tab.until_idle()
    question = model_server.requests[1]["messages"][-1]
    assert texts(question)[0] == "So what is this?\n\nUploaded: uploads/a.png"
    assert pictures(question) == [png()]


async def test_a_retry_brings_the_picture_again(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=401, body="{}"), Reply(text="Red."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await send(site, conversation, "Look", a_png=png())
    await tab.until_idle()
    await site.post(conversation, f"turns/{(await site.turn(conversation)).pk}/retry")
    await until(lambda: conversation.turns.filter(status="completed").aexists())
    assert pictures(model_server.requests[1]["messages"][-1]) == [png()]


async def test_what_cannot_be_sent_is_named(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="I see none of them."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await send(site, conversation, "Look", big_png=png(padding=MAX_BYTES), half_png=png()[:60])
    await tab.until_idle()
    question = model_server.requests[0]["messages"][-1]
    assert pictures(question) == []
    assert texts(question)[1:] == [
        "[uploads/big.png is left out: the picture has 4.0 MiB, and at most 4 MiB can be sent. "
        "Make a smaller copy and read that.]",
        "[uploads/half.png is left out: the picture is damaged or cut off.]",
    ]
    page = await site.page(conversation)
    assert "Too large for the model to see" in page
    assert "Damaged, so not shown to the model" in page


async def test_a_model_that_cannot_see_is_told_so(site: Site, model_server: ScriptedModel) -> None:
    model_server.script(Reply(text="What picture?"))
    conversation = await site.conversation()
    await sync_to_async(_give_model)(conversation, "deepseek-chat")
    tab = await site.open(conversation)
    await send(site, conversation, "Look", a_png=png())
    await tab.until_idle()
    question = model_server.requests[0]["messages"][-1]
    assert "image_url" not in json.dumps(question)
    assert "uploads/a.png:\n[An image was left out here" in question["content"]
    assert "This model cannot see images" in tab.last_turn()
    assert tab.last_turn().strip() == article(await site.page(conversation), await site.turn(conversation))


def _give_model(conversation: Conversation, model: str) -> None:
    from chat.models import Profile

    conversation.profile = Profile.objects.create(title="Blind", model=model)
    conversation.save(update_fields=["profile"])


BAD = "You uploaded an unsupported image. Please make sure your image is valid."


async def test_a_picture_that_is_refused_is_left_out(site: Site, model_server: ScriptedModel) -> None:
    refusal = Reply(status=400, body={"error": {"message": BAD, "type": "invalid_request_error"}})
    model_server.script(Reply(text="Red."), refusal, Reply(text="I cannot see it."), Reply(text="Yes."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await send(site, conversation, "Look", a_png=png())
    await tab.until_idle()
    await send(site, conversation, "And at this", b_png=png(1, 2, 3))
    await tab.until_idle()
    turn = await site.turn(conversation)
    assert turn.status == "completed"
    assert [sum(map(len, map(pictures, each["messages"]))) for each in model_server.requests] == [1, 2, 1]
    said = texts(model_server.requests[-1]["messages"][-1])
    assert said[-1] == "[uploads/b.png is left out: the model's endpoint refused this picture.]"
    assert "Rejected by the model" in tab.last_turn()
    assert tab.last_turn().strip() == article(await site.page(conversation), turn)
    await tab.send("Now?")
    await tab.until_idle()
    sent = [request["messages"] for request in model_server.requests]
    assert sent[3][: len(sent[2])] == sent[2], "it is left out for good, and the other one is not"


async def test_a_picture_that_was_read_and_is_refused(site: Site, model_server: ScriptedModel) -> None:
    refusal = Reply(status=500, body={"error": {"message": "failed to load image"}})
    model_server.script(Reply(tool_calls=LOOK), refusal, Reply(text="I cannot see it."), Reply(text="Yes."))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    (folder_of(conversation) / "uploads").mkdir(parents=True)
    (folder_of(conversation) / "uploads" / "a.png").write_bytes(png())
    await tab.send("Look")
    await tab.until_idle()
    await tab.send("Now?")
    await tab.until_idle()
    sent = [request["messages"] for request in model_server.requests]
    assert [sum(map(len, map(pictures, each))) for each in sent] == [0, 1, 0, 0]
    assert sent[3][: len(sent[2])] == sent[2]
    assert "Rejected by the model" in await site.page(conversation)


async def test_pictures_go_with_their_conversation(site: Site, settings: Any) -> None:
    conversation = await site.conversation()
    await send(site, conversation, "Look", a_png=png())
    kept = settings.WORKSPACES.with_name("pictures") / str(conversation.pk)
    assert len(list(kept.iterdir())) == 1
    await site.post(conversation, "delete")
    deleted = Conversation.with_deleted.filter(pk=conversation.pk)
    await deleted.aupdate(deleted_at=timezone.now() - UNDO_TIME)

    site.application.start()

    async def is_gone() -> bool:
        return not await deleted.aexists()

    await until(is_gone)
    assert not kept.exists()
