"""Several conversations exported at once, as a zip file."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation
from tests.bodies import body
from tests.export.rich import Rich

ADDRESS = "/conversations/export/"
TIME = re.compile(rb"\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]{2} \d{4}|\d\d:\d\d(:\d\d(\.\d+)?)?")


@pytest.fixture
def rows(owner: User, collected: None) -> list[Conversation]:
    rows = [Rich(owner, number, turns=2, calls=2).conversation for number in range(3)]
    for row, title in zip(rows, ("Plan", "plan", "../a: b?"), strict=True):
        row.rename(title)
    return rows


def press(browser: Client, extension: str, chosen: list[Conversation], **more: Any) -> Any:
    return browser.post(ADDRESS, {"format": extension, "c": [row.pk.hex for row in chosen], **more})


def unpacked(answer: Any) -> dict[str, bytes]:
    assert answer.status_code == 200
    assert answer["Content-Disposition"] == 'attachment; filename="Conversations.zip"'
    with zipfile.ZipFile(io.BytesIO(body(answer))) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


@pytest.mark.parametrize("extension", ["html", "md", "json"])
def test_each_is_as_if_exported_alone(owners: Client, rows: list[Conversation], extension: str) -> None:
    files = unpacked(press(owners, extension, rows))
    assert sorted(files) == [f"Plan.{extension}", f"a_ b_.{extension}", f"plan-2.{extension}"]
    alone = body(owners.get(f"/conversations/{rows[0].pk}/export.{extension}"))
    assert TIME.sub(b"", files[f"Plan.{extension}"]) == TIME.sub(b"", alone), "but for when it was exported"


def test_each_can_be_imported(
    owners: Client, rows: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.pages.import_views.PROGRESS_AFTER", 60)
    for name, data in unpacked(press(owners, "json", rows[:2])).items():
        upload = io.BytesIO(data)
        upload.name = name
        assert owners.post("/conversations/import/", {"file": upload}).status_code == 302
    assert Conversation.objects.filter(title__iexact="plan").count() == 4


def test_all_that_the_list_has(owners: Client, rows: list[Conversation]) -> None:
    Conversation.objects.update(archived_at=None)
    Conversation.objects.filter(pk=rows[0].pk).update(archived_at=rows[0].created_at)
    assert len(unpacked(press(owners, "md", rows[:1], all="1", listing=""))) == 2
    assert list(unpacked(press(owners, "md", [], all="1", listing="archived=1"))) == ["Plan.md"]


def test_only_ones_own(client: Client, rows: list[Conversation]) -> None:
    client.force_login(User.objects.create_user("stranger"))
    assert unpacked(press(client, "json", rows)) == {}


def test_nothing_chosen_and_no_such_format(owners: Client, rows: list[Conversation]) -> None:
    answer = owners.post(ADDRESS, {"format": "md"}, follow=True)
    assert "Select conversations first." in answer.content.decode()
    assert press(owners, "exe", rows).status_code == 404
    assert owners.get(ADDRESS).status_code == 405
