"""Invalid files: each is refused with a message that names the place, and creates nothing."""

from __future__ import annotations

import base64
import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from chat.export.importer import import_steps
from chat.export.validation import MAX_ROWS, FileRefused, check, parse
from chat.models import Conversation, Turn
from chat.models.bulk import UNDO_TIME
from chat.turns.deleted import overdue, remove
from tests.export.conftest import exported, imported
from tests.export.rich import Rich

File = dict[str, Any]


@pytest.fixture
def file(owner: User) -> File:
    """A good one, with turns that have all parts; the conversation itself is gone."""
    conversation = Rich(owner, 7, turns=8, calls=6).conversation
    found = exported(conversation)
    assert found["revisions"]
    conversation.delete()
    return found


def set_at(*path: str | int) -> Callable[[Any], Callable[[File], None]]:
    """Puts a value at a place of the file."""

    def put(value: Any) -> Callable[[File], None]:
        def change(file: File) -> None:
            place: Any = file
            for part in path[:-1]:
                place = place[part]
            place[path[-1]] = value

        return change

    return put


def call_of(file: File) -> tuple[int, dict[str, Any]]:
    """A tool call, with the place of its turn."""
    return next((n, t["tool_calls"][0]) for n, t in enumerate(file["turns"]) if t["tool_calls"])


def repeat(part: str) -> Callable[[File], None]:
    def change(file: File) -> None:
        rows = next(turn[part] for turn in file["turns"] if turn[part])
        rows.append(copy.deepcopy(rows[0]))

    return change


def lose_question(file: File) -> None:
    file["turns"][0]["messages"].pop(0)


def decide_at_no_time(file: File) -> None:
    _place, call = call_of(file)
    call.update(decision="once", decided_at=None)


def repeat_an_item(file: File) -> None:
    items = file["revisions"][0]["items"]
    items.append(dict(items[0]))


def strange_picture(file: File) -> None:
    _place, call = call_of(file)
    call["detail"] = {"pictures": [{"digest": "../../secret_key", "size": "x"}]}


def other_picture(file: File) -> None:
    file["pictures"][0]["data"] = base64.b64encode(b"<svg onload=alert(1)>").decode()


WRONG: list[tuple[Callable[[File], None], str]] = [
    (set_at("format")("agent-profile"), "its “format” is not"),
    (set_at("version")(2), "has version 2; this site reads version 1"),
    (set_at("version")(True), "has version True"),
    (set_at("owner")("root"), "unknown fields: owner"),
    (set_at("turns", 1, "worker")("me"), "turns[1] has unknown fields: worker"),
    (set_at("turns", 0, "status")("winning"), "turns[0].status is “winning”; it must be one of: queued"),
    (set_at("turns", 2, "created_at")(17), "turns[2].created_at has the wrong type"),
    (set_at("turns", 2, "created_at")("2025-13-01T00:00:00Z"), "turns[2].created_at is not a valid time"),
    (set_at("turns", 2, "created_at")("9999-01-01T00:00:00Z"), "turns[2].created_at is not a valid time"),
    (set_at("turns", 0, "deaths")(-1), "turns[0].deaths is “-1”, which is not valid"),
    (set_at("turns", 0, "deaths")(10**9), "turns[0].deaths"),
    (set_at("turns", 1, "follows")(2), "turns[1].follows names turn 2"),
    (set_at("turns", 1, "follows")(99), "turns[1].follows names turn 99"),
    (set_at("turns", 0, "profile_then", "todo_policy")("x"), "turns[0].profile_then.todo_policy is “x”"),
    (set_at("turns", 0, "profile_then", "rules")({"bash": "yes"}), "turns[0].profile_then.rules.bash"),
    (set_at("turns", 0, "profile_then")({"title": "x"}), "turns[0].profile_then"),
    (set_at("turns", 0, "steps")({}), "turns[0].steps has the wrong type; it must be one of: array"),
    (set_at("turns", 0, "messages", 0, "step")(77), "turns[0].messages[0].step names a step"),
    (set_at("turns", 0, "messages", 0, "role")("system"), "turns[0].messages[0].role is “system”"),
    (set_at("conversation", "title")(" "), "conversation.title is empty"),
    (set_at("conversation", "tags")(["a" * 41]), "conversation.tags[0]"),
    (
        set_at("conversation", "tags")(["\u200b"]),
        "conversation.tags[0] is not a valid tag here: Enter a name",
    ),
    (set_at("conversation", "title")("x" * 201), "conversation.title"),
    (set_at("conversation", "todos_left")(19), "conversation.todos_left does not match its last list"),
    (set_at("revisions", 0, "items", 0, "status")("done"), "revisions[0].items[0].status is “done”"),
    (set_at("revisions", 0, "turn")(50), "revisions[0].turn names turn 50"),
    (set_at("revisions", 0, "tool_call")({"step": 9, "index": 9}), "revisions[0].tool_call names a call"),
    (set_at("revisions", 0, "after")({"step": 9, "index": 9}), "revisions[0].after names a call"),
    (set_at("revisions", 0, "told_in")({"turn": 1, "step": 9}), "revisions[0].told_in names a step"),
    (set_at("revisions", 0, "author")("person"), "revisions[0].tool_call names a call, though"),
    (set_at("follow_ups", 0, "turn")(1), "follow_ups[0].turn must name a turn if"),
    (set_at("pictures", 0, "data")("%"), "pictures[0].data is not base64"),
    (lambda file: file["turns"][0].pop("messages"), "turns[0] is missing “messages”"),
    (lambda file: file.pop("turns"), "the file is missing “turns”"),
    (lambda file: file["pictures"].append(file["pictures"][0]), "pictures.digest has"),
    (lambda file: file["revisions"].insert(0, file["revisions"][0]), "revisions has"),
    (repeat("steps"), ".steps has 1 twice"),
    (repeat("tool_calls"), ", 0) twice"),
    (lose_question, "turns[0].messages must start with exactly one message"),
    (decide_at_no_time, "decided_at must be present if"),
    (repeat_an_item, "revisions[0].items has"),
    (strange_picture, "detail.pictures[0].size has the wrong type"),
    (other_picture, "pictures[0] is not an image, or does not match its digest"),
]


def test_what_is_wrong_is_said(file: File, owner: User, workspaces: Path) -> None:
    before = sorted(workspaces.parent.rglob("*"))
    for spoil, said in WRONG:
        spoiled = copy.deepcopy(file)
        spoil(spoiled)
        with pytest.raises(FileRefused) as refusal:
            imported(spoiled, owner)
        assert said in str(refusal.value)
        assert not Conversation.with_deleted.exists(), said
        assert sorted(workspaces.parent.rglob("*")) == before, said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cannot be read as JSON"),
        (b"\xff\xfe{", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b'{"format":' + b'{"a":' * 60 + b"1" + b"}" * 61, "nested more than 48 levels"),
        (b'{"a": 1, "a": 2}', "contains “a” twice"),
        (b'{"a": NaN}', "contains NaN"),
        (b'{"a": ' + b"9" * 5000 + b"}", "cannot be read as JSON"),
        (b"[]", "its “format” is not"),
        (b'"agent-conversation"', "its “format” is not"),
        (b'{"format": ["agent-conversation"]}', "its “format” is not"),
    ],
)
def test_what_is_no_conversation(data: bytes, said: str) -> None:
    with pytest.raises(FileRefused, match=said):
        parse(data)


def test_text_that_no_database_takes(file: File, owner: User) -> None:
    file["turns"][0]["messages"][0]["text"] = "a\0b\ud800c"
    made = imported(file, owner)
    assert exported(made)["turns"][0]["messages"][0]["text"] == "a\ufffdb\ufffdc"


def test_what_was_going_on_is_interrupted(file: File, owner: User) -> None:
    place, call = call_of(file)
    for turn in file["turns"]:
        turn.update(status="running", ended_at=None)
    call["status"] = "running"
    file["turns"][place]["messages"][-1]["complete"] = False
    made = exported(imported(file, owner))
    assert {turn["status"] for turn in made["turns"]} == {"interrupted"}
    assert {turn["ended_at"] for turn in made["turns"]} == {file["exported_at"]}
    assert made["turns"][place]["tool_calls"][0]["status"] == "unknown"
    assert made["turns"][place]["messages"][-1]["cut_off"] is True


def sent(browser: Client, data: bytes) -> Any:
    return browser.post("/conversations/import/", {"file": SimpleUploadedFile("c.json", data)})


def test_the_page_takes_a_file(
    owners: Client, owner: User, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.pages.import_views.PROGRESS_AFTER", 60)
    answer = sent(owners, json.dumps(file).encode())
    made = Conversation.objects.get()
    assert answer.url == f"/conversations/{made.pk}/"
    assert made.owner == owner


def test_the_page_says_what_is_wrong(owners: Client, settings: Any) -> None:
    assert "cannot be read as JSON" in sent(owners, b"<html>").content.decode()
    assert "Choose a file first." in owners.post("/conversations/import/").content.decode()
    settings.MAX_UPLOAD_BYTES = 2**20
    assert "larger than 1.0" in sent(owners, b" " * (2**20 + 1)).content.decode()
    assert not Conversation.objects.exists()


def test_what_a_crash_leaves_is_never_seen_and_goes(file: File, owner: User, owners: Client) -> None:
    data = json.dumps(file).encode()
    steps = import_steps(data, owner)
    next(steps)
    hidden = Conversation.with_deleted.get()
    assert hidden.turns.exists()
    assert not Conversation.objects.exists()
    assert owners.get(f"/conversations/{hidden.pk}/").status_code == 404
    with pytest.raises(FileRefused, match="You already have an import running"):
        imported(file, owner)
    # The process dies here. After the lease its rows are removed like any deleted conversation.
    Conversation.with_deleted.update(deleted_at=timezone.now() - UNDO_TIME)
    assert overdue() == [hidden.pk]
    made = imported(file, owner)
    remove(hidden.pk)
    assert list(Conversation.with_deleted.all()) == [made]
    with pytest.raises(FileRefused, match="The import was interrupted"):
        list(steps)


def test_a_closed_import_leaves_nothing(file: File, owner: User, workspaces: Path) -> None:
    before = sorted(workspaces.parent.rglob("*"))
    steps = import_steps(json.dumps(file).encode(), owner)
    next(steps)
    steps.close()
    assert not Conversation.with_deleted.exists()
    assert not Turn.objects.exists()
    assert sorted(workspaces.parent.rglob("*")) == before


def test_a_file_of_too_many_parts_is_refused(file: File) -> None:
    file["revisions"] = []
    turn = {name: [] for name in ("steps", "side_calls", "messages", "tool_calls", "summaries")}
    file["turns"] = [turn] * (MAX_ROWS + 1)
    with pytest.raises(FileRefused, match="more than 50000 messages"):
        check(file)


def test_references_are_looked_for_in_one_pass(file: File, owner: User) -> None:
    """20,000 calls, and 2,000 lists that each name one of them: once, each was compared with each."""
    at = "2026-01-01T00:00:00Z"
    place, call = call_of(file)
    turn = file["turns"][place]
    turn["tool_calls"] = [{**call, "step": turn["steps"][0]["number"], "index": n} for n in range(20_000)]
    named = [{"step": turn["steps"][0]["number"], "index": n} for n in range(18_000, 20_000)]
    file["revisions"] = [
        {
            "turn": place + 1,
            "policy": "lean",
            "created_at": at,
            "tool_call": each,
            "after": None,
            "told_in": None,
        }
        for each in named
    ]
    file["conversation"]["todos_left"] = 0
    began = time.thread_time()
    check(file)
    assert time.thread_time() - began < 1.0
