"""Unfinished lists: shown, filtered, continued, dismissed."""

from __future__ import annotations

import importlib
import uuid
from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from chat.models import Conversation, Profile, Turn
from tests.plan.conftest import Work, work

__all__ = ["work"]

LEFT = '<span class="unfinished__text">1 of 2 done</span>'


@pytest.fixture
def left(work: Work) -> Work:
    """One of two items is open, and the agent has stopped to ask."""
    return work.write("a x", "b >").end()


def page_of(client: Client, work: Work) -> str:
    return client.get(f"/conversations/{work.conversation.pk}/").content.decode()


def act(client: Client, work: Work, action: str) -> Any:
    return client.post(f"/conversations/{work.conversation.pk}/{action}/")


def listed(client: Client, query: str = "?todos=unfinished") -> bool:
    return 'class="conversation-row"' in main_of(client.get(f"/conversations/{query}").content.decode())


def panel_line_of(client: Client, work: Work) -> str:
    """What the panel's line says beside its counts."""
    page = page_of(client, work)
    start = page.index(">", page.index('class="todo-panel__current"')) + 1
    return page[start : page.index("<", start)]


def main_of(page: str) -> str:
    return page[page.index("<main") : page.index("</main>")]


def test_it_is_said_at_the_end_and_in_the_list(left: Work, owners: Client) -> None:
    assert LEFT in page_of(owners, left)
    rows = main_of(owners.get("/conversations/").content.decode())
    assert '<span class="conversation-row__left">Unfinished</span>' in rows
    assert listed(owners)


@pytest.mark.parametrize(
    ("items", "status"),
    [
        (["a x", "b x"], Turn.Status.COMPLETED),
        ([], Turn.Status.COMPLETED),
        (["a x", "b >"], Turn.Status.FAILED),  # the turn itself offers to go on
        (["a x", "b >"], Turn.Status.INTERRUPTED),
    ],
)
def test_where_nothing_is_said(work: Work, owners: Client, items: list[str], status: Turn.Status) -> None:
    work.write(*items).end(status)
    assert "unfinished__text" not in page_of(owners, work)
    assert listed(owners) == ("b >" in items)


def test_nothing_is_said_while_the_agent_works(left: Work, owners: Client) -> None:
    left.go_on()
    assert "unfinished__text" not in page_of(owners, left)


def test_continue(left: Work, owners: Client) -> None:
    for _ in range(2):
        assert act(owners, left, "continue").status_code == 302
    first, second = left.conversation.turns.order_by("pk")
    assert second.follows == first
    assert "Continue with the remaining to-dos" in second.user_text


def test_a_dismissed_plan_is_continued(left: Work, owners: Client) -> None:
    act(owners, left, "dismiss")
    for _ in range(2):
        assert act(owners, left, "continue").status_code == 302
    assert left.conversation.turns.count() == 2


def test_it_is_continued_with_the_profile_that_answered_its_turn_alone(left: Work, owners: Client) -> None:
    """It may be one that asks first."""
    careful, free = (Profile.objects.create(title=title) for title in ("Careful", "Free"))
    conversation = left.conversation
    left.turn = conversation.run_again(left.turn.pk, uuid.uuid4(), profile=careful)
    left.write("a x", "b >").end()
    for action, status in [("continue", "completed"), ("continue", "failed"), ("retry", "completed")]:
        place = f"turns/{left.turn.pk}/retry" if action == "retry" else action
        assert act(owners, left, place).status_code == 302
        left.turn = conversation.turns.latest("pk")
        left.write("a x", "b >").end(Turn.Status(status))
        assert left.turn.profile_snapshot["title"] == "Careful"
    lost = left.turn.profile_snapshot | {"lost": True}  # its model is gone
    conversation.turns.filter(pk=left.turn.pk).update(profile_snapshot=lost)
    act(owners, left, "continue")
    left.turn = conversation.turns.latest("pk")
    left.write("a x", "b >").end()
    assert left.turn.profile_snapshot["title"] == "Careful"
    assert left.turn.profile_snapshot["lost"]
    Conversation.objects.filter(pk=conversation.pk).update(profile=free)  # the user's choice since
    act(owners, left, "continue")
    left.turn = conversation.turns.latest("pk")
    left.write("a x", "b x").end()
    left.turn.refresh_from_db()
    assert left.turn.profile_snapshot["title"] == "Free"


def test_there_is_nothing_to_continue(work: Work, owners: Client) -> None:
    work.write("a x").end()
    act(owners, work, "continue")
    assert work.conversation.turns.count() == 1


def test_dismiss_until_it_is_written_again(left: Work, owners: Client) -> None:
    assert act(owners, left, "dismiss").status_code == 302
    assert "unfinished__text" not in page_of(owners, left)
    assert panel_line_of(owners, left) == "Dismissed"
    assert not listed(owners)
    assert listed(owners, "")
    assert '"conversation-row__left">Dismissed</span>' in owners.get("/conversations/").content.decode()
    assert "/continue/" in page_of(owners, left), "in the list, which is folded"
    left.go_on().write("a x", "b >").end()
    assert LEFT in page_of(owners, left)


def test_what_is_found_is_ones_own(left: Work, strangers: Client) -> None:
    assert not listed(strangers)


def test_pages_keep_the_filter(work: Work, owners: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.pages.conversations.ROWS_PER_PAGE", 1)
    work.write("a >").end()
    Work(work.conversation.owner).write("b >").end()
    page = main_of(owners.get("/conversations/?todos=unfinished").content.decode())
    assert 'href="?todos=unfinished&amp;page=2"' in page


def test_older_conversations_are_counted(left: Work) -> None:
    Conversation.objects.update(todos_left=0)
    importlib.import_module("chat.migrations.0013_unfinished_lists").count(apps, None)
    left.conversation.refresh_from_db()
    assert left.conversation.todos_left == 1
