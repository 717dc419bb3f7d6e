"""Pages are compressed; streams and compressed files are sent as they are."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.files.conversation_workspace import folder_of
from chat.models import Attachment, Conversation
from tests.export.rich import Rich

ACCEPTS = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture
def conversation(owner: User, settings: Any, tmp_path: Path) -> Conversation:
    settings.WORKSPACES = tmp_path / "workspaces"
    made = Rich(owner, 3, turns=2, calls=4).conversation
    folder = folder_of(made)
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("notes " * 1000)
    return made


@pytest.fixture
def owners(owner: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(owner)


def test_a_page_is_compressed_for_a_browser_that_takes_it(owners: Client, conversation: Conversation) -> None:
    path = f"/conversations/{conversation.pk}/"
    plain, small = owners.get(path), owners.get(path, headers=ACCEPTS)
    assert small["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in small["Vary"]
    assert "Accept-Encoding" in plain["Vary"]
    assert int(small["Content-Length"]) == len(small.content) < len(plain.content) / 5
    page = gzip.decompress(small.content)
    # The form's token is masked differently each time.
    assert len(page) == len(plain.content)
    assert page.startswith(plain.content[:200])
    assert "Content-Encoding" not in plain


def test_its_length_tells_nothing_of_a_secret_in_it(owners: Client) -> None:
    lengths = [len(owners.get("/conversations/", headers=ACCEPTS).content) for _ in range(30)]
    assert max(lengths) - min(lengths) > 30, "a number of bytes that chance chooses is added"


def test_other_answers_are_sent_as_they_are(owners: Client, conversation: Conversation) -> None:
    digest = Attachment.objects.exclude(digest="").first()
    assert digest
    for where in (
        "export.json",
        "export.html",
        "replay/",
        "files/download/?path=notes.txt",
        "files/zip/",
        f"pictures/{digest.digest}/",
    ):
        answer = owners.get(f"/conversations/{conversation.pk}/{where}", headers=ACCEPTS)
        assert answer.status_code == 200, where
        assert "Content-Encoding" not in answer, where
