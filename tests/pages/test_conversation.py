"""The conversation's page and its actions without scripts."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import Conversation, LeaseLost, Message, TodoRevision, ToolCall, Turn
from chat.models.bulk import UNDO_TIME
from chat.turns.deleted import overdue, remove

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
HTMX = {"HX-Request": "true"}


def where(conversation: Conversation, action: str = "") -> str:
    return f"/conversations/{conversation.pk}/" + (f"{action}/" if action else "")


def leads_back(response: Any, conversation: Conversation) -> bool:
    return (response.status_code, response.get("Location")) == (302, where(conversation))


def test_the_page_shows_the_record(owners: Client, conversation: Conversation, turn: Turn) -> None:
    page = owners.get(where(conversation)).content.decode()
    assert '<main id="conversation" class="conversation" data-status="queued"' in page
    assert f'<article class="turn" id="turn-{turn.pk}" data-status="queued">' in page
    assert '<div class="message__body">Look around</div>' in page


def test_sending(owners: Client, conversation: Conversation, failed: Turn) -> None:
    client_id = uuid.uuid4()
    for _ in range(2):
        response = owners.post(where(conversation, "messages"), {"text": "More", "client_id": client_id})
        assert leads_back(response, conversation)
    assert [turn.user_text for turn in conversation.turns.all()] == ["Look around", "More"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"text": " "}, "The message is empty."),
        ({}, "The message is empty."),
        ({"text": "x" * 66_000}, "The message is longer than 64 KiB."),
        ({"text": "More", "client_id": "?"}, "This form is damaged."),
    ],
)
def test_what_is_refused_stays_in_the_composer(
    owners: Client, conversation: Conversation, failed: Turn, fields: dict[str, str], sentence: str
) -> None:
    response = owners.post(where(conversation, "messages"), fields)
    assert response.status_code == 400
    page = response.content.decode()
    assert f'role="alert">{sentence}' in page
    assert f">{fields.get('text', '')}</textarea>" in page
    assert "Look around" in page, "the record is still in view"
    assert conversation.turns.count() == 1


def test_stopping_a_turn_that_waits(owners: Client, conversation: Conversation, turn: Turn) -> None:
    assert leads_back(owners.post(where(conversation, "stop")), conversation)
    turn.refresh_from_db()
    assert turn.status == "stopped"
    page = owners.get(where(conversation)).content.decode()
    assert 'data-status="idle"' in page
    assert f'id="turn-{turn.pk}" data-status="stopped"' in page


def test_stopping_a_turn_that_runs_is_a_wish_on_record(
    owners: Client, conversation: Conversation, turn: Turn
) -> None:
    Turn.claim("worker", turn.pk)
    response = owners.post(where(conversation, "stop"), headers=HTMX)
    assert (response.status_code, response.content) == (204, b"")
    turn.refresh_from_db()
    assert turn.status == "running"
    assert turn.stop_requested_at is not None


def test_stopping_when_nothing_runs_changes_nothing(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    assert leads_back(owners.post(where(conversation, "stop")), conversation)
    assert Turn.objects.get().status == "failed"


def test_retrying_twice_is_one_retry(owners: Client, conversation: Conversation, failed: Turn) -> None:
    assert f"turns/{failed.pk}/retry/" in owners.get(where(conversation)).content.decode()
    for headers, status in (({}, 302), (HTMX, 204)):
        response = owners.post(where(conversation, f"turns/{failed.pk}/retry"), headers=headers)
        assert response.status_code == status
    again = conversation.turns.last()
    assert again is not None
    assert (again.user_text, again.status, conversation.turns.count()) == ("Look around", "queued", 2)


@pytest.mark.parametrize("status", ["completed", "stopped", "queued", "running"])
def test_only_what_came_to_nothing_is_retried(
    owners: Client, conversation: Conversation, turn: Turn, status: str
) -> None:
    Turn.objects.update(status=status)
    assert f"turns/{turn.pk}/retry/" not in owners.get(where(conversation)).content.decode()
    assert leads_back(owners.post(where(conversation, f"turns/{turn.pk}/retry")), conversation)
    assert conversation.turns.count() == 1


def test_retrying_while_another_turn_works_is_refused(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    conversation.start_turn("More", uuid.uuid4())
    response = owners.post(where(conversation, f"turns/{failed.pk}/retry"))
    assert response.status_code == 400
    assert "The agent is still working." in response.content.decode()
    assert conversation.turns.count() == 2


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("A better name", "A better name"),
        ("  ", "Look around"),
        ("x" * 300, "x" * 200),
        ("a\x00b", "a\ufffdb"),
    ],
)
def test_renaming(owners: Client, conversation: Conversation, given: str, title: str) -> None:
    assert leads_back(owners.post(where(conversation, "rename"), {"title": given}), conversation)
    assert Conversation.objects.get().title == title


def test_deleting_takes_rows_and_workspace_along(
    owners: Client, conversation: Conversation, failed: Turn, workspaces: Path
) -> None:
    own, others = workspaces / str(conversation.pk), workspaces / str(uuid.uuid4())
    for folder in (own, others):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "file").write_text("text")
    response = owners.post(where(conversation, "delete"))
    assert (response.status_code, response.url) == (302, "/conversations/")
    assert owners.get(where(conversation)).status_code == 404
    remove_for_good()
    assert not any(model.objects.exists() for model in (Conversation, Turn, Message))
    assert not own.exists()
    assert (others / "deep" / "file").exists()
    assert owners.get(where(conversation)).status_code == 404
    assert owners.post(where(conversation, "delete")).status_code == 404


def test_deleting_leaves_a_directory_that_somebody_named(
    owners: Client, conversation: Conversation, failed: Turn, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    conversation.workspace = str(tmp_path / "code")
    conversation.save()
    assert owners.post(where(conversation, "delete")).status_code == 302
    remove_for_good()
    assert (tmp_path / "code").is_dir()


def remove_for_good() -> None:
    """What the worker does once the time for an Undo is over."""
    Conversation.with_deleted.filter(deleted_at__isnull=False).update(deleted_at=timezone.now() - UNDO_TIME)
    for key in overdue():
        remove(key)
    assert not Conversation.with_deleted.exists()


def test_deleting_does_not_follow_links_out_of_the_workspace(
    owners: Client, conversation: Conversation, failed: Turn, workspaces: Path, tmp_path: Path
) -> None:
    (tmp_path / "precious").write_text("text")
    own = workspaces / str(conversation.pk)
    own.mkdir(parents=True)
    (own / "link").symlink_to(tmp_path)
    owners.post(where(conversation, "delete"))
    remove_for_good()
    assert not own.exists()
    assert (tmp_path / "precious").exists()


def test_deleting_stops_what_runs(owners: Client, conversation: Conversation, turn: Turn) -> None:
    running = Turn.claim("worker", turn.pk)
    assert running is not None
    assert owners.post(where(conversation, "delete")).status_code == 302
    running.update_leased()  # its worker hears of it and writes down the end
    assert running.stop_is_requested()
    running.end(Turn.Status.STOPPED)
    remove_for_good()
    with pytest.raises(LeaseLost):
        running.update_leased()


def test_nothing_that_anybody_writes_becomes_markup(
    owners: Client, conversation: Conversation, turn: Turn
) -> None:
    write_everywhere(conversation, turn, HOSTILE)
    for address in (where(conversation), "/conversations/", "/"):
        page = owners.get(address).content.decode()
        assert "alert(1)" in page
        assert "<script>alert" not in page
        assert "<img" not in page.replace("<noscript><img", "")
        assert 'onerror=alert(1)>"' not in page


def write_everywhere(conversation: Conversation, turn: Turn, text: str) -> None:
    """The text in every field that a user, model or tool can fill."""
    conversation.rename(text)
    Message.objects.update(text=text)
    step = turn.steps.create(number=1)
    turn.messages.create(step=step, role="assistant", text=text, reasoning=text)
    written = {"step": step, "name": text, "arguments": f'{{"{text[:8]}": "x"}}', "output": text}
    turn.tool_calls.create(index=0, call_id=text, status="succeeded", **written)
    todo = turn.tool_calls.create(index=1, call_id="b", status="failed", **{**written, "name": "TodoWrite"})
    item = {"id": text, "content": text, "status": "in_progress", "active_form": text, "key": text}
    TodoRevision.objects.create(conversation=conversation, turn=turn, tool_call=todo, items=[item])
    Turn.objects.update(status="failed", status_message=text)


def test_a_longer_record_takes_no_more_queries(
    owners: Client, conversation: Conversation, turn: Turn
) -> None:
    taken = []
    for turns in (1, 11):
        for number in range(turns):
            work_through(conversation, number)
        with CaptureQueriesContext(connection) as queries:
            page = owners.get(where(conversation)).content.decode()
        taken.append(len(queries))
    assert page.count('<article class="turn"') == 13
    assert taken[0] == taken[1] < 36


def work_through(conversation: Conversation, items: int) -> None:
    """A turn with a message, a tool call and a todo list."""
    turn = conversation.turns.create(client_id=uuid.uuid4(), status="completed", ended_at=timezone.now())
    turn.messages.create(role="user", text="More")
    step = turn.steps.create(number=1, input_tokens=10, output_tokens=1)
    turn.messages.create(step=step, role="assistant", text="Done")
    call = {"step": step, "status": ToolCall.Status.SUCCEEDED}
    turn.tool_calls.create(index=0, call_id="a", name="bash", **call)
    todo = turn.tool_calls.create(index=1, call_id="b", name="TodoWrite", **call)
    listed = [{"id": str(number), "content": "Do", "status": "pending"} for number in range(items + 1)]
    conversation.revisions.create(turn=turn, tool_call=todo, items=listed)


def test_a_retry_of_an_older_turn_keeps_what_followed(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    later = conversation.start_turn("Something else", uuid.uuid4())
    later.request_stop()
    owners.post(where(conversation, f"turns/{failed.pk}/retry"))
    again = conversation.turns.order_by("-pk")[0]
    assert [turn.pk for turn in conversation.path.order_by("pk")] == [failed.pk, later.pk, again.pk]
    assert again.user_text == failed.user_text


def test_a_retry_keeps_the_plan_that_the_user_wrote_since(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    owners.post(where(conversation, "todos"), {"do": "add", "text-new": "Look twice", "revision": "0"})
    owners.post(where(conversation, f"turns/{failed.pk}/retry"))
    again = conversation.path.get()
    assert again.pk > failed.pk
    assert again.user_text == failed.user_text
    assert [item["content"] for item in conversation.revision().items] == ["Look twice"]  # type: ignore[union-attr]


def test_a_retry_asks_again_where_the_users_plan_was_taken_over(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    owners.post(where(conversation, "todos"), {"do": "add", "text-new": "Look twice", "revision": "0"})
    edited = conversation.run_again(failed.pk, uuid.uuid4(), "In other words")
    Turn.claim("worker", edited.pk).end(Turn.Status.FAILED)  # type: ignore[union-attr]
    owners.post(where(conversation, f"turns/{edited.pk}/retry"))
    again = conversation.path.get()
    assert again.pk > edited.pk
    assert again.user_text == "In other words"
    assert [item["content"] for item in conversation.revision().items] == ["Look twice"]  # type: ignore[union-attr]


def test_the_page_is_of_one_moment_although_the_turn_ends_meanwhile(
    owners: Client, conversation: Conversation, turn: Turn
) -> None:
    running = [Turn.claim("worker", turn.pk)]

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        if running and sql.startswith('SELECT "chat_turn"."id"'):  # right before the turns are read
            running.pop().end(Turn.Status.COMPLETED)
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile):
        page = owners.get(where(conversation)).content.decode()
    assert not running
    assert f'id="turn-{turn.pk}" data-status="completed"' in page
    assert '<main id="conversation" class="conversation" data-status="idle"' in page
