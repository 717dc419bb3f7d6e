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
IMPORT = "/conversations/import/"
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


@pytest.fixture
def without_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.pages.import_views.PROGRESS_AFTER", 60)


def zipped(files: dict[str, bytes], name: str = "Conversations.zip") -> io.BytesIO:
    upload = io.BytesIO()
    with zipfile.ZipFile(upload, "w", zipfile.ZIP_DEFLATED) as file:
        for path, data in files.items():
            file.writestr(path, data)
    upload.seek(0)
    upload.name = name
    return upload


def imported(browser: Client, *uploads: io.BytesIO) -> Any:
    return browser.post(IMPORT, {"file": uploads}, follow=True)


@pytest.mark.usefixtures("without_progress")
def test_the_zip_file_can_be_imported(owners: Client, rows: list[Conversation]) -> None:
    answer = imported(owners, zipped(unpacked(press(owners, "json", rows))))
    assert answer.redirect_chain == [("/conversations/", 302)]
    assert "3 conversations imported." in answer.content.decode()
    made = Conversation.objects.exclude(imported_at=None).order_by("title").values_list("title", flat=True)
    assert [*made] == ["../a: b? (copy)", "Plan (copy)", "plan (copy)"]


@pytest.mark.usefixtures("without_progress")
def test_several_files_can_be_imported_at_once(owners: Client, rows: list[Conversation]) -> None:
    files = unpacked(press(owners, "json", rows))
    alone = [io.BytesIO(files.pop(name)) for name in ("Plan.json", "plan-2.json")]
    for file in alone:
        file.name = "plan.json"  # as from two folders
    assert "3 conversations imported." in imported(owners, *alone, zipped(files)).content.decode()


@pytest.mark.usefixtures("without_progress")
def test_what_is_refused_of_several_is_named_and_the_rest_imported(
    owners: Client, rows: list[Conversation]
) -> None:
    files = {**unpacked(press(owners, "json", rows[:1])), "notes.txt": b"", "__MACOSX/._Plan.json": b""}
    answer = imported(owners, zipped(files | {f"{number}.json": b"[]" for number in range(22)}))
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "1 conversation imported." in page
    assert page.count("Agentsite did not export this file") == 20
    assert "Conversations.zip: 0.json: Agentsite did not export" in page
    assert "2 more files were refused." in page
    latest = Conversation.objects.latest("imported_at")
    assert f'href="/conversations/{latest.pk}/">Plan (copy)</a>' in page
    assert Conversation.objects.count() == len(rows) + 1


def test_a_file_that_takes_longer_shows_its_progress(
    owners: Client, rows: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.pages.import_views.PROGRESS_AFTER", 0)
    page = body(imported(owners, zipped(unpacked(press(owners, "json", rows))))).decode()
    shown = [int(number) for number in re.findall(r'value="(\d+)"', page)]
    assert shown == sorted(shown)
    assert shown[-1] == 100
    assert "3 conversations imported." in page
    assert 'url=/conversations/"' in page
    assert "3 conversations imported." in owners.get("/conversations/").content.decode()
    assert "3 conversations imported." not in owners.get("/conversations/").content.decode()


@pytest.mark.usefixtures("without_progress")
def test_zip_files_with_nothing_to_import(owners: Client, settings: Any) -> None:
    def said(data: bytes) -> str:
        upload = io.BytesIO(data)
        upload.name = "c.zip"
        answer = imported(owners, upload)
        assert answer.status_code == 400
        return str(answer.content.decode())

    whole = zipped({"a.json": b" " * (2**20 + 1)}).getvalue()
    assert "The ZIP file has no JSON files." in said(zipped({"a.md": b"# A"}).getvalue())
    assert "The ZIP file is damaged." in said(whole[:200])
    assert "The ZIP file is damaged." in said(whole.replace(whole[40:90], bytes(50)))
    locked = bytearray(whole)
    for start in (whole.index(b"PK\x03\x04") + 6, whole.index(b"PK\x01\x02") + 8):
        locked[start] |= 1  # encrypted
    assert "The ZIP file is encrypted" in said(bytes(locked))
    settings.MAX_UPLOAD_BYTES = 2**20
    assert "The file is larger than 1.0" in said(whole), "once it is unpacked"
    assert not Conversation.objects.exists()


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
