"""A user is deleted while a command of theirs runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from chat.demo.reply import Reply
from chat.models import Conversation
from chat.turns.worker import pool
from tests.live.site import Site, until
from tests.model_server import ScriptedModel

WRITES = "echo first; while :; do mkdir -p more; echo text >more/notes.txt; done"


@pytest.mark.parametrize("where", ["/settings/users/{}/delete/", "/admin/auth/user/{}/delete/"])
async def test_it_stops_and_leaves_no_file(site: Site, model_server: ScriptedModel, where: str) -> None:
    model_server.script(Reply(tool_calls=[("bash", {"command": WRITES})]))
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await tab.send("write")
    await tab.until(lambda frame: "<pre>first\n</pre>" in frame)
    assert pool().running

    def delete() -> int:
        administrator = Client()
        administrator.force_login(User.objects.create_superuser("admin"))
        return administrator.post(where.format(site.user.pk), {"post": "yes"}).status_code

    assert await sync_to_async(delete)() == 302
    assert [user.username async for user in User.objects.all()] == ["admin"]
    assert not await Conversation.with_deleted.aexists()

    async def has_stopped() -> bool:
        return not pool().running

    await until(has_stopped)
    kinds = ("workspaces", "checkpoints", "pictures", "starts")
    folders = [Path(settings.WORKSPACES).with_name(kind) for kind in kinds]
    assert not [path for folder in folders for path in folder.glob(f"{conversation.pk}*")]
