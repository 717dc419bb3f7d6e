"""Files that come with a message, and the folder that a conversation begins on: both without any script."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from chat.export.markdown_file import markdown_pieces
from chat.models import Attachment, Conversation, Turn
from chat.plan.timeline import TurnBegan, timeline_of
from chat.search.index import index_turn, marked_turns
from chat.turns.transcript import transcript
from tests.pictures import png


@pytest.fixture(autouse=True)
def unseeded(settings: Any) -> None:
    settings.WORKSPACE_SEED = None


def file(name: str = "a.txt", content: bytes = b"text") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def begun() -> Conversation:
    return Conversation.objects.get()


def test_the_first_message_brings_files(owners: Client, workspaces: Path) -> None:
    form = {"text": "Read these", "files": [file("a.txt"), file("b c.txt")]}
    assert owners.post("/", form).status_code == 302
    told = "Read these\n\nUploaded: uploads/a.txt\nUploaded: uploads/b c.txt"
    assert begun().turns.get().user_text == told
    assert (workspaces / str(begun().pk) / "uploads" / "a.txt").read_text() == "text"


@pytest.mark.parametrize(("text", "on_plan"), [("Read these", "Read these"), ("", "uploads/a.txt")])
def test_the_lines_that_name_files_are_not_shown_as_the_users_words(
    owners: Client, text: str, on_plan: str
) -> None:
    """When a message is copied, exported, found, or stands on the plan's timeline."""
    owners.post("/", {"text": text, "files": file("a.txt")})
    conversation, turn = begun(), begun().turns.get()
    message = turn.messages.get(role="user")
    index_turn(marked_turns()[0])
    copied = owners.get(f"/conversations/{conversation.pk}/messages/{message.pk}/").content.decode()
    assert copied == (text or message.text)
    exported = "".join(markdown_pieces(conversation))
    assert "Uploaded" not in exported
    assert "- `uploads/a.txt`" in exported
    found = owners.get("/conversations/", {"q": "uploads"}).content.decode()
    assert "search-result" in found
    assert "Uploaded" not in found
    [began] = [entry for entry in timeline_of(conversation) if isinstance(entry, TurnBegan)]
    assert began.text == on_plan


def test_files_alone_are_a_message(owners: Client) -> None:
    assert owners.post("/", {"files": file()}).status_code == 302
    assert begun().title == "a.txt"


@pytest.mark.parametrize("text", ["Read", ""])
def test_the_same_form_twice_brings_them_once(owners: Client, workspaces: Path, text: str) -> None:
    client_id = str(uuid.uuid4())
    for _ in range(2):
        form = {"text": text, "client_id": client_id, "files": file()}
        assert owners.post("/", form).status_code == 302
    assert Turn.objects.count() == 1
    assert [path.name for path in workspaces.iterdir()] == [str(begun().pk)]
    assert len(list((workspaces / str(begun().pk) / "uploads").iterdir())) == 1


@pytest.mark.parametrize(
    "form",
    [{"text": "x" * 70_000}, {"text": "Read", "client_id": "?"}, {"text": "Read", "workspace": "/etc"}],
)
def test_a_refused_first_message_leaves_nothing(
    owners: Client, workspaces: Path, form: dict[str, Any]
) -> None:
    response = owners.post("/", {**form, "files": file()})
    assert response.status_code == 400
    assert not Conversation.objects.exists()
    assert list(workspaces.rglob("*")) == []


def test_too_much_is_refused_with_a_sentence(owners: Client, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 3
    page = owners.post("/", {"text": "Read", "files": file()}).content.decode()
    assert 'role="alert">These files are too large' in page
    assert ">Read</textarea>" in page


@pytest.mark.parametrize("text", ["And this", ""])
def test_a_later_message_brings_files(
    owners: Client, conversation: Conversation, failed: Turn, workspaces: Path, text: str
) -> None:
    where = f"/conversations/{conversation.pk}/messages/"
    client_id = str(uuid.uuid4())
    for _ in range(2):
        form = {"text": text, "client_id": client_id, "files": file()}
        assert owners.post(where, form).status_code == 302
    last = conversation.turns.order_by("pk").last()
    assert last is not None
    assert last.user_text == f"{text}\n\nUploaded: uploads/a.txt".strip()
    assert [path.name for path in (workspaces / str(conversation.pk) / "uploads").iterdir()] == ["a.txt"]


def test_a_quotation_mark_in_a_name_is_not_shown_as_browsers_send_it(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    form = {"text": "Read", "files": file("my%22notes%22.txt")}
    owners.post(f"/conversations/{conversation.pk}/messages/", form)
    [attached] = conversation.path.latest("pk").attachments
    assert attached.path == "uploads/my_notes_.txt"


def test_of_a_deleted_picture_messages_have_only_the_name(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    here = f"/conversations/{conversation.pk}/"
    sent = [file("a.png", png()), file("same.png", png()), file("b.png", png(9))]
    owners.post(f"{here}messages/", {"text": "Look", "files": sent})
    first = Turn.claim("worker", conversation.path.latest("pk").pk)
    assert first
    seen = [each.about() for each in first.attachments]
    step = first.steps.create(number=1)
    detail = {"pictures": [seen[2]]}
    call = first.tool_calls.create(
        step=step, index=0, call_id="a", name="read_file", status="succeeded", detail=detail
    )
    first.end(Turn.Status.COMPLETED)
    both, only = [f"{here}pictures/{seen[at]['digest']}/" for at in (0, 2)]

    for name in ("b.png", "a.png"):
        owners.post(f"{here}files/delete/", {"path": f"uploads/{name}"})
    assert owners.get(only).status_code == 404
    assert owners.get(both).status_code == 200, "another file is the same"
    digests = {each.name: each.digest for each in Turn.objects.get(pk=first.pk).attachments}
    assert digests == {"a.png": "", "same.png": seen[1]["digest"], "b.png": ""}
    call.refresh_from_db()
    assert call.detail["pictures"] == [{**seen[2], "digest": ""}]
    page = owners.get(here).content.decode()
    assert only not in page
    assert page.count("attachment__picture") == 1
    assert page.count('<span class="attachment__file">uploads/b.png</span>') == 1
    assert [page.count(f"path=uploads/{name}") for name in ("a.png", "b.png")] == [0, 0]
    assert owners.get(f"{here}export.json").status_code == 200

    owners.post(f"{here}files/rename/", {"path": "uploads/same.png", "name": "other.png"})
    assert owners.get(both).status_code == 200
    owners.post(f"{here}files/delete/", {"path": "uploads/other.png"})
    assert owners.get(both).status_code == 404
    assert not any(each.digest for each in Turn.objects.get(pk=first.pk).attachments)


def test_the_model_reads_of_a_renamed_file_as_it_did_before(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    here = f"/conversations/{conversation.pk}/"
    owners.post("/", {"text": "Elsewhere", "files": file("a.png", png())})
    elsewhere = Attachment.objects.get()
    owners.post(f"{here}messages/", {"text": "Look", "files": [file("a.png", png()), file("b.txt")]})
    first = conversation.path.latest("pk")
    before = transcript(first)
    Turn.objects.filter(pk=first.pk).update(status="completed")
    renames = [("b.txt", "c.txt"), ("a.png", "b.txt"), ("b.txt", "d.png"), ("d.png", "a.png")]
    names = [["a.png", "c.txt"], ["b.txt", "c.txt"], ["d.png", "c.txt"], ["a.png", "c.txt"]]
    for (old, new), shown in zip(renames, names, strict=True):
        owners.post(f"{here}files/rename/", {"path": f"uploads/{old}", "name": new})
        assert [each.name for each in Turn.objects.get(pk=first.pk).attachments] == shown
        assert transcript(Turn.objects.get(pk=first.pk)) == before
    page = owners.get(here).content.decode()
    assert "Uploaded:" not in page
    assert 'files/file/?path=uploads/c.txt">c.txt</a>' in page
    elsewhere.refresh_from_db()
    assert (elsewhere.path, elsewhere.sent_path) == ("uploads/a.png", "")
    owners.post(f"{here}files/delete/", {"path": "uploads/c.txt"})
    assert '<span class="attachment__file">c.txt</span>' in " ".join(
        owners.get(here).content.decode().split()
    )


def test_a_file_that_was_renamed_after_its_message_was_unsent_is_sent_under_its_new_name(
    owners: Client, conversation: Conversation, turn: Turn
) -> None:
    here = f"/conversations/{conversation.pk}/"
    owners.post(f"{here}messages/", {"text": "Read", "files": [file("a.txt"), file("b.txt")]})
    conversation.stop(then_send=False)
    Turn.objects.filter(pk=turn.pk).update(status="stopped", ended_at=timezone.now())
    for old, new in [("a.txt", "c.txt"), ("b.txt", "d.txt")]:
        owners.post(f"{here}files/rename/", {"path": f"uploads/{old}", "name": new})
    unsent = "Read\n\nUploaded: uploads/a.txt"
    owners.post(f"{here}messages/", {"text": unsent, "files": file("b.txt")})
    sent = conversation.path.latest("pk")
    assert sent.user_text == "Read\n\nUploaded: uploads/c.txt\n\nUploaded: uploads/b.txt"
    assert [each.path for each in sent.attachments] == ["uploads/b.txt", "uploads/c.txt"]


def test_an_earlier_message_that_is_sent_again_brings_its_files(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    here = f"/conversations/{conversation.pk}/"
    owners.post(f"{here}messages/", {"text": "Look", "files": [file("a.png", png()), file("b.txt")]})
    first = conversation.path.latest("pk")
    Turn.objects.filter(pk=first.pk).update(status="failed", ended_at=timezone.now())
    owners.post(f"{here}messages/", {"text": "And now?"})
    Turn.objects.exclude(pk=first.pk).update(status="completed", ended_at=timezone.now())
    owners.post(f"{here}files/rename/", {"path": "uploads/b.txt", "name": "c.txt"})
    owners.post(f"{here}turns/{first.pk}/retry/")
    sent = conversation.path.latest("pk")
    assert sent.user_text == "Look\n\nUploaded: uploads/a.png\nUploaded: uploads/c.txt"
    assert [(each.path, bool(each.digest)) for each in sent.attachments] == [
        ("uploads/a.png", True),
        ("uploads/c.txt", False),
    ]


def test_an_edited_message_brings_files_beside_those_it_keeps(
    owners: Client, conversation: Conversation, failed: Turn, workspaces: Path
) -> None:
    owners.post(f"/conversations/{conversation.pk}/messages/", {"text": "Read", "files": file()})
    first = Turn.claim("worker", conversation.path.latest("pk").pk)
    assert first
    first.end(Turn.Status.COMPLETED)
    [kept] = first.attachments
    form = {"text": "Read both", "attached": kept.pk, "act": str(uuid.uuid4())}
    for _ in range(2):
        owners.post(
            f"/conversations/{conversation.pk}/turns/{first.pk}/again/", form | {"files": file("b.txt")}
        )
    again = conversation.path.latest("pk")
    assert conversation.turns.count() == 3
    assert again.user_text == "Read both\n\nUploaded: uploads/b.txt\nUploaded: uploads/a.txt"
    assert {each.path for each in again.attachments} == {"uploads/a.txt", "uploads/b.txt"}
    folder = workspaces / str(conversation.pk) / "uploads"
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("most_bytes", [3, 1000])
def test_a_refused_edit_leaves_no_files(
    owners: Client, conversation: Conversation, turn: Turn, workspaces: Path, settings: Any, most_bytes: int
) -> None:
    settings.MAX_UPLOAD_BYTES = most_bytes  # too few, or the turn still runs
    where = f"/conversations/{conversation.pk}/turns/{turn.pk}/again/"
    response = owners.post(where, {"text": "Read", "files": file()}, headers={"HX-Request": "true"})
    assert response.status_code == 409
    assert response.content.decode().startswith("These files are too large") == (most_bytes == 3)
    assert conversation.turns.count() == 1
    assert not [path for path in workspaces.rglob("*") if path.is_file()]


def test_the_pages_script_gets_a_sentence(
    owners: Client, conversation: Conversation, failed: Turn, settings: Any
) -> None:
    where = f"/conversations/{conversation.pk}/messages/"
    headers = {"HX-Request": "true"}
    assert owners.post(where, {"text": "x", "files": file()}, headers=headers).status_code == 204
    settings.MAX_UPLOAD_BYTES = 3
    response = owners.post(where, {"text": "x", "files": file()}, headers=headers)
    assert (response.status_code, response["Content-Type"]) == (400, "text/plain")
    assert response.content.decode().startswith("These files are too large")


def test_a_full_workspace_takes_no_more(
    owners: Client, conversation: Conversation, failed: Turn, settings: Any
) -> None:
    settings.MAX_WORKSPACE_BYTES = 100
    where = f"/conversations/{conversation.pk}/messages/"
    page = owners.post(where, {"text": "x", "files": file(content=b"x" * 200)})
    assert page.status_code == 400
    assert "do not fit" in page.content.decode()
    assert conversation.turns.count() == 1


def test_a_conversation_begins_on_a_folder_beneath_a_root(
    owners: Client, settings: Any, tmp_path: Path, workspaces: Path
) -> None:
    (tmp_path / "code" / "project").mkdir(parents=True)
    settings.WORKSPACE_ROOTS = [tmp_path / "code"]
    folder = f"{tmp_path}/code/project"
    page = owners.get("/").content.decode()
    assert f'<option value="{folder}">' in page
    assert owners.post("/", {"text": "Look", "workspace": folder}).status_code == 302
    assert begun().workspace == folder
    page = owners.get(f"/conversations/{begun().pk}/").content.decode()
    assert f"The folder {folder} is not touched." in page
    assert f'">{folder}</span>' in page, "its header names it"
    owners.post(f"/conversations/{begun().pk}/delete/")
    assert (tmp_path / "code" / "project").is_dir()


def test_a_refused_folder_says_why_and_stays_in_the_form(
    owners: Client, settings: Any, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "out").symlink_to("/etc")
    settings.WORKSPACE_ROOTS = [tmp_path / "code"]
    folder = f"{tmp_path}/code/out"
    page = owners.post("/", {"text": "Look", "workspace": folder}).content.decode()
    assert "out is outside the folders available to conversations." in page
    assert f'value="{folder}"' in page
    assert ">Look</textarea>" in page
    assert not Conversation.objects.exists()


def test_where_there_are_no_roots_there_is_no_choice(owners: Client, settings: Any) -> None:
    settings.WORKSPACE_ROOTS = []
    assert 'name="workspace"' not in owners.get("/").content.decode()


def test_a_workspace_of_its_own_is_deleted_and_the_page_says_so(
    owners: Client, conversation: Conversation
) -> None:
    page = owners.get(f"/conversations/{conversation.pk}/").content.decode()
    assert "Delete this conversation, its plan and all files in its workspace?" in page
