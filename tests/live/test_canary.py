"""A key entered on the page is never shown, whatever tools and endpoints do."""

from __future__ import annotations

import base64
import logging
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.test import Client

from chat.demo.reply import Reply, Request
from chat.models import Connection, Conversation, Profile, ShareLink
from tests.bodies import body
from tests.live.site import Site, Tab
from tests.model_server import ScriptedModel

KEY = "sk-c4n4ry-5f1d8e2a9b"
HEADER = "c4n4ry-header-77aa"
ENVIRONMENTS = "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cat /proc/*/cmdline 2>/dev/null"
LEAVING = ["export.json", "export.md", "export.html", "replay/", "share/"]
SAID = f"Incorrect API key provided: {KEY}. Your header was {HEADER}."


def of_canaries(text: str) -> list[str]:
    """The secrets in a text, as they are and in base64."""
    secrets = [KEY, HEADER]
    secrets += [base64.b64encode(secret.encode()).decode().rstrip("=")[:-1] for secret in secrets]
    return [secret for secret in secrets if secret in text]


def connect(user: Any, base_url: str) -> Profile:
    """Type the key into the page, as a user does, and choose a model."""
    user.is_staff = user.is_superuser = True
    user.save()
    client = Client()
    client.force_login(user)
    given = {"base_url": base_url, "key": KEY, "headers": f"X-Secret: {HEADER}", "inside": "on"}
    assert client.post("/settings/connections/add/", given).status_code == 302
    row = Connection.objects.get()
    assert client.post(f"/settings/connections/{row.pk}/use/", {"model": "scripted"}).status_code == 302
    return Profile.objects.get(connection=row)


def rows() -> str:
    """All that the database holds."""
    return repr([list(model._default_manager.values()) for model in apps.get_models()])


def pages(user: Any, conversation: Conversation) -> str:
    """Pages of the user's browser and the admin site."""
    client = Client()
    client.force_login(user)
    row = Connection.objects.get()
    profile = Profile.objects.get(connection=row)
    wheres = ["/", "/conversations/", f"/conversations/{conversation.pk}/", "/settings/connections/"]
    wheres += [f"/settings/connections/{row.pk}/", f"/settings/connections/{row.pk}/test/"]
    wheres += [f"/settings/profiles/{profile.pk}/", f"/settings/profiles/{profile.pk}/export.json"]
    wheres += [f"/admin/chat/profile/{profile.pk}/change/", "/metrics"]
    leaving = [f"/conversations/{conversation.pk}/{name}" for name in LEAVING]
    assert client.post(leaving[-1], {"with_files": "on"}).status_code == 302
    link = f"/shared/{ShareLink.objects.get().token}/"
    wheres += [*leaving, link, f"{link}replay/"]
    shown = [client.get(where) for where in wheres]
    assert [answer.status_code for answer in shown] == [200] * len(wheres)
    return "".join(body(answer).decode() for answer in shown)


async def test_the_key_is_nowhere(
    site: Site, model_server: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[Request] = []
    replies = [
        Reply(tool_calls=[("bash", {"command": ENVIRONMENTS})]),
        Reply(text="Looked."),
        Reply(status=401, body={"error": {"message": SAID}}),
        Reply(raw=[b'data: {"choices":[{"delta":{"content":"Hm"}}]}\n\n', _error_event()]),
        Reply(status=400, body=SAID),
    ]

    def answer(request: Request) -> Reply:
        seen.append(request)
        return replies[len(seen) - 1]

    model_server.answer = answer
    profile = await sync_to_async(connect)(site.user, model_server.base_url)
    conversation = await Conversation.objects.acreate(owner=site.user, title="Look", profile=profile)
    tab = await site.open(conversation)
    for text in ("look", "again", "once more", "at last"):
        await ask(tab, text)
    await site.close()

    sent = [request.headers for request in seen]
    assert len(sent) == len(replies)
    assert {headers["authorization"] for headers in sent} == {f"Bearer {KEY}"}
    assert {headers["x-secret"] for headers in sent} == {HEADER}, "it did go where it belongs"
    assert "PATH=" in await sync_to_async(rows)(), "the tool did see its environment"

    assert of_canaries("".join(tab.received)) == []
    assert of_canaries(await sync_to_async(pages)(site.user, conversation)) == []
    assert of_canaries(await sync_to_async(rows)()) == []
    assert of_canaries(caplog.text) == []
    assert of_canaries(repr([request.body for request in seen])) == [], "nor is it told to the model"


async def ask(tab: Tab, text: str) -> None:
    """Send a message, and wait until its turn is over."""
    tab.received.append("---")
    await tab.send(text)
    await tab.has(f">{text}<")  # the turn is drawn, perhaps not before its end
    await tab.until_idle()


def _error_event() -> bytes:
    return f'data: {{"error": {{"message": "{SAID}"}}}}\n\n'.encode()
