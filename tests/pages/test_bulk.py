"""What is done to several conversations from the list, and taken back there."""

from __future__ import annotations

import re
import uuid
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import BulkAct, Conversation, FollowUp, Tag, Turn
from chat.models.bulk import NOTICE_TIME, UNDO_TIME
from tests.models.test_bulk import list_todos
from tests.pages.routes import address, routes

TITLE = re.compile(r'__title">(?:<span.*?</span></span>)?([^<]*)<')
UNDO = re.compile(
    r'<form class="undo-note" method="post" data-undo="[0-9a-f-]+" data-kind="[a-z_]+" action="([^"]+)"'
)


@pytest.fixture
def rows(owner: User) -> list[Conversation]:
    return [Conversation.objects.create(owner=owner, title=title) for title in ("Third", "Second", "First")]


def main_of(browser: Client, query: str = "") -> str:
    page = browser.get(f"/conversations/{query}").content.decode()
    return unescape(page[page.index("<main") : page.index("</main>")])


def titles(browser: Client, query: str = "") -> list[str]:
    return TITLE.findall(main_of(browser, query))


def press(browser: Client, kind: str, chosen: list[Conversation], **more: Any) -> str:
    """Choose the rows, press the button, and read the list that follows."""
    form = {"kind": kind, "c": [row.pk.hex for row in chosen], **more}
    response = browser.post("/conversations/bulk/", form, follow=True)
    assert response.status_code == 200
    page = response.content.decode()
    return unescape(page[page.index("<main") : page.index("</main>")])


def undo(browser: Client, page: str) -> str:
    """Press the page's Undo, and read the list that follows."""
    found = UNDO.search(page)
    assert found
    response = browser.post(found[1], follow=True)
    assert response.status_code == 200
    return unescape(response.content.decode())


@pytest.mark.parametrize(
    ("kind", "more", "said", "undone"),
    [
        ("archive", {}, "2 conversations archived.", "2 conversations restored."),
        ("pin", {}, "2 conversations pinned.", "Undone for 2 conversations."),
        ("tag", {"word": "周报"}, "2 conversations tagged “周报”.", "Undone for 2 conversations."),
        ("tag", {"word": "# Work"}, "2 conversations tagged “Work”.", "Undone for 2 conversations."),
        ("dismiss", {}, "Plans of 2 conversations dismissed.", "Undone for 2 conversations."),
        ("delete", {}, "2 conversations deleted.", "2 conversations restored."),
    ],
)
def test_each_act_says_what_was_done_and_is_undone(
    owners: Client, rows: list[Conversation], kind: str, more: dict[str, str], said: str, undone: str
) -> None:
    for row in rows:
        list_todos(row, 1)
    before = main_of(owners)
    page = press(owners, kind, rows[:2], **more)
    assert said in page
    assert said in main_of(owners), "after a reload too"
    assert undone in undo(owners, page)
    assert without_tokens(main_of(owners)) == without_tokens(before)


def without_tokens(page: str) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page)


def test_archived_ones_are_found_in_the_archive(owners: Client, rows: list[Conversation]) -> None:
    press(owners, "archive", rows[:1])
    assert titles(owners) == ["First", "Second"]
    assert titles(owners, "?archived=1") == ["Third"]
    page = press(owners, "bring_back", rows[:1], listing="archived=1")
    assert "“Third” unarchived." in page
    assert "No archived conversations." in page, "it leads back to the archive"
    assert titles(owners) == ["First", "Second", "Third"]


def test_pinned_ones_stand_first_under_a_heading(owners: Client, rows: list[Conversation]) -> None:
    assert "<h2" not in main_of(owners)
    press(owners, "pin", rows[:1])
    assert titles(owners) == ["Third", "First", "Second"]
    assert re.findall(r'<h2 class="record__heading">(\w+)', main_of(owners)) == ["Pinned", "Others"]
    sidebar = owners.get("/").content.decode()
    assert TITLE.findall(sidebar)[:1] == ["Third"]
    assert re.findall(r'<h2 class="sidebar__heading">(\w+)', sidebar) == ["Pinned", "Others"]
    press(owners, "unpin", rows[:1])
    assert titles(owners) == ["First", "Second", "Third"]


def test_an_undo_leads_back_to_its_page_of_the_list(
    owners: Client, rows: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.pages.conversations.ROWS_PER_PAGE", 1)
    page = press(owners, "pin", rows[1:2], listing="&page=2")
    assert titles(owners, "?page=2") == ["First"]
    listing = re.search(r'class="undo-note".*?name="listing"\s+value="([^"]*)"', page, re.DOTALL)
    found = UNDO.search(page)
    assert listing
    assert found
    response = owners.post(found[1], {"listing": listing[1]})
    assert response["Location"] == "/conversations/?page=2"


def test_all_that_match_are_more_than_the_page_shows(
    owners: Client, rows: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.pages.conversations.ROWS_PER_PAGE", 1)
    press(owners, "tag", rows[:2], word="Work")
    page = press(owners, "archive", [], all="1", listing="tag=work")
    assert "2 conversations archived." in page
    assert titles(owners) == ["First"]


def test_tags_on_rows_lead_to_what_has_them(owners: Client, rows: list[Conversation]) -> None:
    press(owners, "tag", rows[:2], word="数据 & 报告")
    page = main_of(owners)
    assert page.count(">数据 & 报告</a>") == 2
    link = re.search(r'class="tag conversation-row__tag" href="([^"]+)"', page)
    assert link
    assert titles(owners, link[1]) == ["Second", "Third"]
    assert titles(owners, "?tag=nothing") == []
    assert "No conversations have this tag." in main_of(owners, "?tag=nothing")
    for more in ("todos=unfinished", "archived=1", "status=failed"):
        assert "No matches." in main_of(owners, f"?tag=nothing&{more}"), more


def test_the_list_of_a_tag_has_archived_ones_last(owners: Client, rows: list[Conversation]) -> None:
    press(owners, "tag", rows, word="work")
    press(owners, "pin", rows[:2])
    press(owners, "archive", rows[1:2])
    assert titles(owners, "?tag=work") == ["Third", "First", "Second"]
    page = main_of(owners, "?tag=work")
    assert re.findall(r'<h2 class="record__heading">(\w+)', page) == ["Pinned", "Others", "Archived"]
    press(owners, "archive", rows)
    page = press(owners, "pin", [], listing="tag=work")
    assert re.findall(r'<h2 class="record__heading">(\w+)', page) == ["Archived"]
    page = press(owners, "bring_back", [], all="1", listing="tag=work")
    assert "3 conversations unarchived." in page
    assert titles(owners) == ["Second", "Third", "First"]


def test_a_tag_is_typed_as_it_is_shown(owners: Client, rows: list[Conversation]) -> None:
    press(owners, "tag", rows[:1], word="work")
    assert "“Second” tagged" in press(owners, "tag", rows[1:2], word="# Work")
    press(owners, "tag", rows[2:], word="＃home")
    assert list(Tag.objects.values_list("word", flat=True)) == ["home", "work"]
    for typed in ("%23work", "%20%EF%BC%83WORK"):
        assert titles(owners, f"?q={typed}") == ["Second", "Third"]
        assert "Tagged" in main_of(owners, f"?q={typed}")
    assert "removed from “Second”." in press(owners, "untag", rows[1:2], word="#work")
    assert titles(owners, "?q=%23work") == ["Third"]
    assert "No results." in main_of(owners, "?q=%23unknown")
    assert "Enter a name for the tag." in press(owners, "tag", rows[:1], word="#")


def test_the_tabs_keep_the_tag(owners: Client, rows: list[Conversation]) -> None:
    press(owners, "tag", rows[:2], word="my work")
    press(owners, "archive", rows[:1])
    tabs = re.findall(r'href="([^"]+)"', main_of(owners, "?tag=my%20work&status=failed").split("</nav>")[0])
    list_page = "/conversations/"
    assert [each for each in tabs if each.startswith(list_page)][:3] == [
        f"{list_page}?tag=my%20work",
        f"{list_page}?todos=unfinished&tag=my%20work",
        f"{list_page}?archived=1&tag=my%20work",
    ]
    archive = main_of(owners, "?archived=1&tag=my%20work")
    assert titles(owners, "?archived=1&tag=my%20work") == ["Third"]
    assert re.search(r'class="tag-filter__clear"\s+href="/conversations/\?archived=1"', archive)


def test_who_deletes_several_is_told_that_turns_stop(owners: Client, rows: list[Conversation]) -> None:
    assert "Turns that are running are stopped, and stay so if you undo." in main_of(owners)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"kind": "archive"}, "Select conversations first."),
        ({"kind": "archive", "c": ["x", ""]}, "Select conversations first."),
        ({"kind": "archive", "c": [str(uuid.uuid4())]}, "Nothing to change."),
        ({"kind": "tag", "word": " "}, "Enter a name for the tag."),
        ({"kind": "tag", "word": "报" * 41}, "at most 40 characters"),
        ({"kind": "untag", "word": "unknown"}, "Nothing to change."),
    ],
)
def test_what_cannot_be_done_is_said(
    owners: Client, rows: list[Conversation], form: dict[str, Any], said: str
) -> None:
    chosen = {} if form["kind"] == "archive" else {"c": rows[0].pk.hex}
    assert said in owners.post("/conversations/bulk/", form | chosen, follow=True).content.decode()
    assert "undo-note" not in main_of(owners)


@pytest.mark.parametrize("kind", ["", "explode", "\x00"])
def test_an_act_that_there_is_none_of(owners: Client, rows: list[Conversation], kind: str) -> None:
    assert owners.post("/conversations/bulk/", {"kind": kind, "c": rows[0].pk.hex}).status_code == 404


def test_an_undo_that_comes_twice_or_late_says_so(owners: Client, rows: list[Conversation]) -> None:
    page = press(owners, "archive", rows[:1])
    assert "1 conversation restored." in undo(owners, page)
    assert "already undone, or it is too late to undo it" in undo(owners, page)
    page = press(owners, "archive", rows[:1])
    BulkAct.objects.update(at=timezone.now() - UNDO_TIME)
    assert "it is too late to undo it" in undo(owners, page)
    assert titles(owners, "?archived=1") == ["Third"]


def test_the_notice_of_a_deletion_stays_longer(owners: Client, rows: list[Conversation]) -> None:
    for kind, stays in (("archive", False), ("delete", True)):
        assert "undo-note" in press(owners, kind, rows[:1])
        BulkAct.objects.update(at=timezone.now() - NOTICE_TIME)
        assert ("undo-note" in main_of(owners)) == stays


def test_more_notices_take_no_more_queries(
    owners: Client, rows: list[Conversation], django_assert_num_queries: Any
) -> None:
    press(owners, "delete", rows[:1])
    with CaptureQueriesContext(connection) as few:
        main_of(owners)
    number = len(few)
    press(owners, "delete", rows[1:2])
    with django_assert_num_queries(number):
        page = main_of(owners)
    assert re.findall(r"“(\w+)” deleted\.", page) == ["Second", "Third"]


def test_an_undo_says_what_stays(owners: Client, rows: list[Conversation]) -> None:
    page = press(owners, "archive", rows[:2])
    press(owners, "bring_back", rows[:1])
    said = undo(owners, page)
    assert "1 conversation restored. 1 has changed since and was left as it is." in said


def test_strangers_neither_act_nor_undo(owners: Client, strangers: Client, rows: list[Conversation]) -> None:
    press(strangers, "delete", rows)
    press(strangers, "delete", [], all="1")
    assert titles(owners) == ["First", "Second", "Third"]
    page = press(owners, "archive", rows)
    assert "undo-note" not in main_of(strangers)
    found = UNDO.search(page)
    assert found
    assert strangers.post(found[1]).status_code == 404
    assert titles(owners) == []


def test_deleting_one_leads_to_the_list_with_an_undo(
    owners: Client, conversation: Conversation, turn: Turn
) -> None:
    page = owners.post(f"/conversations/{conversation.pk}/delete/", follow=True).content.decode()
    assert f"“{conversation.title}” deleted." in page
    assert "Undo until" in page
    turn.refresh_from_db()
    assert turn.status == "stopped"
    undo(owners, page)
    assert owners.get(f"/conversations/{conversation.pk}/").status_code == 200


def test_a_deleted_conversation_is_on_no_page(
    owners: Client, conversation: Conversation, rows: list[Conversation]
) -> None:
    press(owners, "tag", [conversation, *rows], word="work")
    press(owners, "delete", [conversation])
    note = "“Look around” deleted."
    for query in ("", "?archived=1", "?todos=unfinished", "?tag=work", "?q=Look"):
        assert "Look around" not in main_of(owners, query).replace(note, "")
    for where in ("/", "/board/", "/conversations/tags/"):
        page = owners.get(where).content.decode().replace(note, "")
        assert "Look around" not in page
        assert str(conversation.pk) not in page
    assert "3 conversations" in page, "the page of tags does not count it"


def test_no_address_of_a_deleted_conversation_is_found(
    owners: Client, conversation: Conversation, failed: Turn, held: FollowUp
) -> None:
    BulkAct.carry_out(conversation.owner, "delete", [conversation.pk])
    parts = {"conversation_id": conversation.pk, "turn_id": failed.pk, "follow_up_id": held.pk}
    for name, (_name, names, _view) in routes().items():
        if "conversation_id" in names:
            where = address(name, **parts)
            method = "get" if "GET" in owners.patch(where).headers["Allow"] else "post"
            assert getattr(owners, method)(where).status_code == 404, name


def test_its_own_page_says_so_and_offers_an_undo(
    owners: Client, strangers: Client, conversation: Conversation
) -> None:
    where = f"/conversations/{conversation.pk}/"
    act = BulkAct.carry_out(conversation.owner, "delete", [conversation.pk])
    assert "Look around" not in strangers.get(where).content.decode()
    page = owners.get(where).content.decode()
    assert "This conversation was deleted" in page
    assert f'action="/conversations/undo/{act.pk}/"' in page
    assert f'name="conversation" value="{conversation.pk}"' in page
    back = owners.post(f"/conversations/undo/{act.pk}/", {"conversation": str(conversation.pk)})
    assert back.headers["Location"] == where
    assert owners.get(where).status_code == 200
    again = owners.post(f"/conversations/undo/{act.pk}/", {"conversation": str(conversation.pk)})
    assert again.headers["Location"] == "/conversations/"
    act = BulkAct.carry_out(conversation.owner, "delete", [conversation.pk])
    BulkAct.objects.update(at=act.at - UNDO_TIME)
    Conversation.with_deleted.update(deleted_at=act.at - UNDO_TIME)
    page = owners.get(where).content.decode()
    assert "This conversation was deleted" in page
    assert "Undo" not in page


def test_organising_one_from_its_menu(owners: Client, conversation: Conversation) -> None:
    where = f"/conversations/{conversation.pk}/"

    def organise(**form: str) -> str:
        assert owners.post(f"{where}organise/", form).status_code == 302
        return owners.get(where).content.decode()

    assert 'value="unpin"' in organise(kind="pin")
    assert "Archived. Sending a message moves it back to your conversations." in organise(kind="archive")
    assert "Archived." not in organise(kind="bring_back")
    assert "Remove 周报" in organise(kind="tag", word="周报")
    assert "Remove 周报" not in organise(untag="周报")
    owners.post(f"{where}organise/", {"kind": "archive"})
    owners.post(f"{where}messages/", {"text": "Go on", "client_id": str(uuid.uuid4())})
    assert "Archived." not in owners.get(where).content.decode()


@pytest.mark.parametrize("kind", ["", "delete", "dismiss", "x"])
def test_the_menu_does_nothing_else(owners: Client, conversation: Conversation, kind: str) -> None:
    where = f"/conversations/{conversation.pk}/organise/"
    assert owners.post(where, {"kind": kind}).status_code == 404
    assert Conversation.objects.filter(pk=conversation.pk).exists()


def test_what_is_no_tag_is_said_to_the_pages_script(owners: Client, conversation: Conversation) -> None:
    where = f"/conversations/{conversation.pk}/organise/"
    for number in range(20):
        owners.post(where, {"kind": "tag", "word": str(number)})
    for word, said in ((" ", "Enter a name for the tag."), ("more", "Remove one first.")):
        answer = owners.post(where, {"kind": "tag", "word": word}, headers={"HX-Request": "true"})
        assert answer.status_code == 409
        assert said in answer.content.decode()
    answer = owners.post(where, {"kind": "tag", "word": "7"}, headers={"HX-Request": "true"})
    assert answer.status_code == 204, "it has that one"


def test_ten_thousand_take_no_more_queries_and_an_index(owners: Client, owner: User) -> None:
    Conversation.objects.bulk_create([Conversation(owner=owner, title=str(n)) for n in range(100)])
    main_of(owners)
    with CaptureQueriesContext(connection) as few:
        main_of(owners)
    Conversation.objects.bulk_create([Conversation(owner=owner, title=str(n)) for n in range(9900)])
    with CaptureQueriesContext(connection) as many:
        main_of(owners)
    assert len(many) == len(few)
    current = Conversation.objects.visible_to(owner).current().pinned_first()
    assert "conversation_current" in current[:50].explain()
    assert "TEMP B-TREE" not in current[:50].explain(), "rows come in their order"
    archived = Conversation.objects.visible_to(owner).archived()
    assert "conversation_archived" in archived[:50].explain()


def test_the_page_of_tags(owners: Client, strangers: Client, rows: list[Conversation]) -> None:
    press(owners, "tag", rows, word="bug")
    press(owners, "tag", rows[:1], word="错误")
    page = owners.get("/conversations/tags/").content.decode()
    assert "3 conversations" in page
    press(owners, "archive", rows[:2])
    page = owners.get("/conversations/tags/").content.decode()
    assert ">1 conversation<" in page
    assert ">2 archived<" in page
    assert "?archived=1&amp;tag=bug" in page
    assert 'href="?archived=1&amp;tag=bug"' in owners.get("/conversations/?archived=1").content.decode()
    assert 'href="?tag=bug"' in owners.get("/conversations/").content.decode()
    tag = Tag.objects.get(word="bug")
    for act in ("rename", "delete"):
        assert strangers.post(f"/conversations/tags/{tag.pk}/{act}/", {"word": "x"}).status_code == 404
    page = owners.post(
        f"/conversations/tags/{tag.pk}/rename/", {"word": "错误"}, follow=True
    ).content.decode()
    assert "“bug” and “错误” were merged." in page
    assert Tag.objects.get().conversations.count() == 3
    page = owners.post(f"/conversations/tags/{Tag.objects.get().pk}/delete/", follow=True).content.decode()
    assert "Tag “错误” removed from 3 conversations." in page
    assert not Tag.objects.exists()
    undo(owners, page)
    assert Tag.objects.get().conversations.count() == 3
    wrong = owners.post(f"/conversations/tags/{Tag.objects.get().pk}/rename/", {"word": " "}, follow=True)
    assert "Enter a name for the tag." in wrong.content.decode()
