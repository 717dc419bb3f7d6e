"""The list of past conversations, and the sidebar."""

from __future__ import annotations

import gzip
import re
import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import Conversation, Turn

ROW = re.compile(r'<li class="conversation-row"([^>]*)>.*?__title">([^<]*)<.*?</li>', re.DOTALL)


@pytest.fixture
def many(owner: User) -> list[str]:
    """Titles of 120 conversations, the newest first."""
    now = timezone.now()
    titles = [f"Conversation {number}" for number in range(120)]
    rows = [
        Conversation(owner=owner, title=title, updated_at=now - timedelta(minutes=number))
        for number, title in enumerate(titles)
    ]
    Conversation.objects.bulk_create(rows[::-1])
    return titles


def listed(browser: Client, page: str = "") -> list[tuple[str, str]]:
    """Attributes and title of each row of a page's list."""
    html = browser.get("/conversations/", {"page": page} if page else {}).content.decode()
    return ROW.findall(html[html.index("<main") :])


def titles(browser: Client, page: str = "") -> list[str]:
    return [title for _attributes, title in listed(browser, page)]


def test_an_empty_list_invites_to_begin(owners: Client) -> None:
    page = owners.get("/conversations/").content.decode()
    assert "No conversations." in page
    assert "Start a conversation" in page


def test_thirty_a_page_the_newest_first(owners: Client, many: list[str]) -> None:
    assert titles(owners) == many[:30]
    assert titles(owners, "2") == many[30:60]
    assert titles(owners, "4") == many[90:]


def test_every_conversation_is_reached_by_the_links(owners: Client, many: list[str]) -> None:
    seen, where = [], "/conversations/"
    while where:
        page = owners.get(where).content.decode()
        seen += [title for _attributes, title in ROW.findall(page[page.index("<main") :])]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        where = f"/conversations/{older[1]}" if older else ""
    assert seen == many


@pytest.mark.parametrize(
    ("page", "first"),
    [("0", 90), ("-1", 90), ("5", 90), ("9" * 30, 90), ("x", 0), ("", 0), ("1.5", 0), ("\x00", 0)],
)
def test_a_page_that_does_not_exist_is_the_nearest(
    owners: Client, many: list[str], page: str, first: int
) -> None:
    assert titles(owners, page)[0] == many[first]


def test_each_row_has_its_final_counts(owners: Client, conversation: Conversation, turn: Turn) -> None:
    assert listed(owners) == [("", "Look around")]
    for states in (["completed"], ["completed", "completed", "pending"]):
        conversation.revisions.create(turn=turn, items=[{"status": state} for state in states])
    page = owners.get("/conversations/").content.decode()
    main = page[page.index("<main") :]
    assert 'value="2" max="3"' in main
    assert "<span>2/3</span>" in main
    conversation.revisions.create(turn=turn, items=[])
    page = owners.get("/conversations/").content.decode()
    assert "<progress" not in page[page.index("<main") :]


def test_the_sidebar_has_the_newest_thirty_and_marks_this_one(
    owners: Client, many: list[str], owner: User
) -> None:
    fifth = Conversation.objects.get(title=many[4])
    page = owners.get(f"/conversations/{fifth.pk}/").content.decode()
    sidebar = page[page.index('<nav id="sidebar"') : page.index("</nav>")]
    assert [title for _attributes, title in ROW.findall(sidebar)] == many[:30]
    assert re.findall(r'href="([^"]+)" aria-current="page"', page) == [f"/conversations/{fifth.pk}/"]


def test_a_full_page_takes_as_many_queries_as_one_row(owners: Client, owner: User, many: list[str]) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as context:
            owners.get("/conversations/")
        return len(context)

    for conversation in Conversation.objects.all():
        turn = Turn.objects.create(conversation=conversation, client_id=uuid.uuid4(), status="completed")
        conversation.revisions.create(turn=turn, items=[{"status": "pending"}])
    full = queries()
    kept = Conversation.objects.values_list("pk", flat=True)[:1]
    Conversation.objects.exclude(pk=kept[0]).delete()
    assert queries() == full < 17


def test_a_failure_that_was_read_keeps_a_quiet_mark(
    owners: Client, conversation: Conversation, failed: Turn
) -> None:
    mark = 'title="Last turn failed"'

    def marks() -> int:
        return owners.get("/conversations/").content.decode().count(mark)

    conversation.mark_unseen(failed)
    assert marks() == 0, "it has the mark of an unread one"
    conversation.mark_seen(failed.pk)
    assert marks() == 2, "in the sidebar and in the list"
    page = owners.get("/conversations/").content.decode()
    assert page.count('<span class="conversation-row__failure">Failed</span>') == 1, (
        "in the list in words, too"
    )
    later = conversation.start_turn("Again", uuid.uuid4())
    assert marks() == 0
    Turn.objects.filter(pk=later.pk).update(status="completed")
    assert marks() == 0


def test_a_full_page_is_light(owners: Client, owner: User, many: list[str]) -> None:
    items = [{"status": "completed"}, {"status": "pending"}]
    for conversation in Conversation.objects.all():
        turn = Turn.objects.create(conversation=conversation, client_id=uuid.uuid4(), status="completed")
        conversation.revisions.create(turn=turn, items=items)
    Conversation.objects.update(title="A title of forty characters, as many are")
    page = owners.get("/conversations/").content
    _sidebar, _, content = page.partition(b'id="content"')
    assert 10_000 < len(content) < 30_000
    assert len(gzip.compress(page)) < 8_000


def test_a_rows_menu_is_named_after_it(owners: Client, conversation: Conversation) -> None:
    assert 'aria-label="Actions for Look around"' in owners.get("/").content.decode()


def test_the_sidebar_searches_on_every_page(owners: Client) -> None:
    for page in ("/", "/conversations/", "/conversations/?q=word", "/settings/usage/"):
        sidebar, _, _content = owners.get(page).content.decode().partition('id="content"')
        assert 'type="search"' in sidebar, page


def test_only_filters_that_were_set_are_unfolded(owners: Client) -> None:
    unfolded = 'id="search-filters" open'
    assert unfolded not in owners.get("/conversations/?todos=unfinished").content.decode()
    assert unfolded in owners.get("/conversations/?todos=unfinished&status=failed").content.decode()
    assert unfolded in owners.get("/conversations/?status=failed").content.decode()


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("", "All"),
        ("?q=word", "All"),
        ("?tag=work", "All"),
        ("?q=word&status=failed", "All"),
        ("?todos=unfinished", "Unfinished"),
        ("?q=word&todos=unfinished", "Unfinished"),
        ("?archived=1", "Archive"),
        ("?q=word&archived=1", "Archive"),
        ("?q=word&archived=1&todos=unfinished", "Archive"),
    ],
)
def test_the_filter_that_applies_is_marked(owners: Client, query: str, marked: str) -> None:
    page = owners.get(f"/conversations/{query}").content.decode()
    tabs = page[page.index('aria-label="Filter conversations"') :].partition("</nav>")[0]
    assert re.findall(r'aria-current="page">([^<]+)<', tabs) == [marked]


def test_a_filter_keeps_the_words_of_the_search(owners: Client) -> None:
    page = owners.get("/conversations/?q=two+words%26&status=failed").content.decode()
    tabs = page[page.index('aria-label="Filter conversations"') :].partition("</nav>")[0]
    assert "A conversation must contain every word and match the filters." in page
    words = "q=two%20words%26"
    assert re.findall(r'href="([^"]+)"', tabs) == [
        f"/conversations/?{words}",
        f"/conversations/?todos=unfinished&amp;{words}",
        f"/conversations/?archived=1&amp;{words}",
    ]


@pytest.mark.parametrize("headers", [{}, {"HX-Target": "div#found"}])
def test_what_is_wrong_with_a_search_is_said_where_its_results_are(
    owners: Client, many: list[str], headers: dict[str, str]
) -> None:
    """Also while one types, where only the results are drawn."""
    page = owners.get("/conversations/?from=2020-01-02&to=2020-01-01", headers=headers).content.decode()
    assert page.count("“To” is before “From”, so it is ignored.") == 1
    assert "Conversation 29" in page
    page = owners.get("/conversations/?q=%22", headers=headers).content.decode()
    assert page.count('class="search__problem"') == 1
