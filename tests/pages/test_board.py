"""The board: running, waiting, unread and unfinished conversations, and the actions on them."""

from __future__ import annotations

import datetime
import re
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.live import board
from chat.models import Conversation, ToolCall, Turn
from tests.plan.conftest import Work

FOUND_NOTHING = {
    "running": "Nothing running.",
    "unseen": "all caught up",
    "unfinished": "No plans here",
}
ROW = re.compile(r'<li class="board-row".*?</li>', re.DOTALL)


def shown(client: Client) -> str:
    return client.get("/board/").content.decode()


def section(page: str, name: str) -> str:
    return page.partition(f'<section id="board-{name}"')[2].partition("</section>")[0]


def rows(page: str, name: str) -> list[str]:
    return ROW.findall(section(page, name))


def only_row(client: Client, name: str) -> str:
    """The one row in that section, and on the board."""
    page = shown(client)
    (row,) = ROW.findall(page)
    assert row in section(page, name)
    return row


def claim(work: Work) -> Turn:
    turn = Turn.claim("worker", work.turn.pk)
    assert turn is not None
    return turn


def ask(work: Work, command: str = "make") -> ToolCall:
    """The agent waits for an answer about a command."""
    turn = claim(work)
    arguments = f'{{"command": "{command}"}}'
    call = work.call("bash", "waiting", arguments=arguments, asked_at=timezone.now())
    turn.wait()
    return call


def test_it_shows_the_plan_of_the_version_that_is_shown(owners: Client, owner: User) -> None:
    work = Work(owner).write("a x", "b -", "c -").end(Turn.Status.STOPPED)
    conversation, first = work.conversation, work.turn.pk
    other = Turn.claim("worker", conversation.run_again(first, uuid.uuid4()).pk)
    assert other is not None
    conversation.revisions.create(turn=other, items=[{"id": "z", "content": "Other", "status": "pending"}])
    other.end(Turn.Status.FAILED)
    conversation.show_version(first)
    row = only_row(owners, "unfinished")
    assert "1/3" in row
    assert "Other" not in row
    assert 'data-status="stopped"' in row


def times(page: str, kind: str, identity: str) -> list[tuple[str, str]]:
    """The key and the time of each row, in order."""
    row = rf'<li class="{kind}-row"[^>]* {identity}([\w-]+)".*?<time class="[^"]*" datetime="([^"]+)"'
    return re.findall(row, page, re.DOTALL)


def test_a_row_has_the_time_that_the_sidebar_shows(owners: Client, owner: User) -> None:
    """When something was last done, whichever version is shown; the latest come first."""
    now = timezone.now().replace(microsecond=0)
    first, second = Work(owner).write("a -").end(), Work(owner).write("b -").end()
    version = first.turn
    first.turn = first.conversation.run_again(version.pk, uuid.uuid4())
    first.write("c -").end()
    for work, minutes in ((first, 10), (second, 15)):
        updated_at = now - datetime.timedelta(minutes=minutes)
        Conversation.objects.filter(pk=work.conversation.pk).update(updated_at=updated_at)
    expected = [
        (str(work.conversation.pk), f"{now - datetime.timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}")
        for work, minutes in ((first, 10), (second, 15))
    ]

    def agrees(name: str) -> None:
        page = shown(owners)
        assert times(section(page, name), "board", 'id="board-') == expected
        assert times(page, "conversation", 'data-conversation="') == expected

    agrees("unseen")
    owners.post("/board/seen/")
    agrees("unfinished")
    first.conversation.show_version(version.pk)
    agrees("unfinished")


def test_a_turn_that_left_items_open_has_ended_rather_than_completed(owners: Client, owner: User) -> None:
    Work(owner).write("a x", "b -").end()
    row = only_row(owners, "unseen")
    assert '<span class="board-row__status">Ended</span>' in row
    assert " data-open>" in row, "its mark is not that of a finished one"


def test_an_empty_board_says_what_will_stand_there(owners: Client) -> None:
    page = shown(owners)
    for name, text in FOUND_NOTHING.items():
        assert text in section(page, name)
    assert "<title>Board</title>" in page
    assert 'class="count"' not in page


def test_what_works(owners: Client, owner: User) -> None:
    work = Work(owner)
    claim(work)
    work.write("a x", "b > Write", "c -")
    row = only_row(owners, "running")
    assert 'data-status="running"' in row
    assert "1/3" in row
    assert ">Write</p>" in row
    assert re.search(r'class="board-row__time elapsed" datetime="[^"]+">0:0\d<', row)
    assert "1 running" in shown(owners)


def test_what_waits_for_its_place(owners: Client, owner: User, stranger: User) -> None:
    Work(stranger)
    works = [Work(owner), Work(owner)]
    first, second = rows(shown(owners), "running")
    assert "Queued, 1 turn ahead" in first
    assert "Queued, 2 turns ahead" in second
    claim(works[0])
    first, second = rows(shown(owners), "running")
    assert 'data-status="running"' in first
    assert "Queued, 1 turn ahead" in second


@pytest.mark.parametrize(
    ("decision", "status"), [("once", ToolCall.Status.PENDING), ("denied", ToolCall.Status.PENDING)]
)
def test_what_waits_for_an_answer_gets_it_there(
    owners: Client, owner: User, decision: str, status: ToolCall.Status
) -> None:
    Work(owner)
    other = ask(Work(owner), "ls")
    call = ask(Work(owner), "rm -r build")
    _first, second, _queued = rows(shown(owners), "running")  # whoever waits for the user comes first
    assert "rm -r build" in second
    assert re.search(r'Waiting for your answer</strong> · <time\s+class="board-row__waited elapsed"', second)
    assert "board-row__time" not in second, "a clock that stood for the whole turn would jump"
    assert "<title>(2) Board</title>" in shown(owners)
    where = f"/conversations/{call.turn.conversation_id}/tool-calls/{call.pk}/decide/"
    assert where in second
    reasons = {f"reason-{call.pk}": "Not that", f"reason-{other.pk}": "Nor this"}
    assert f'name="reason-{call.pk}"' in second
    answer = owners.post(where, {"decision": decision, "back": "board", **reasons})
    assert (answer.status_code, answer["Location"]) == (302, "/board/")
    call.refresh_from_db()
    assert (call.decision, call.status) == (decision, status)
    assert call.reason == ("Not that" if decision == "denied" else "")
    other.refresh_from_db()
    assert not other.decision


def test_a_running_turn_has_the_clock_of_its_own_page(owners: Client, owner: User) -> None:
    """It stands still while the user is waited for."""
    call = ask(Work(owner))
    Turn.objects.update(started_at=timezone.now() - datetime.timedelta(minutes=5))
    ToolCall.objects.update(asked_at=timezone.now() - datetime.timedelta(minutes=4))
    call.decide("once")
    assert Turn.claim("worker", call.turn_id)
    row = only_row(owners, "running")
    [since] = re.findall(r'class="board-row__time elapsed" (datetime="[^"]+")>1:0\d<', row)
    page = owners.get(f"/conversations/{call.turn.conversation_id}/").content.decode()
    assert re.search(rf'class="turn__spent"[^>]*><time\s+class="elapsed" {re.escape(since)}', page)


def test_who_answers_second_is_told_on_the_board(owners: Client, owner: User) -> None:
    call = ask(Work(owner))
    where = f"/conversations/{call.turn.conversation_id}/tool-calls/{call.pk}/decide/"
    for decision in ("once", "denied"):
        page = owners.post(where, {"decision": decision, "back": "board"}, follow=True).content.decode()
    assert "Already answered: Allowed by you." in page
    assert 'id="board"' in page


@pytest.mark.parametrize(
    ("status", "said", "act"),
    [
        (Turn.Status.COMPLETED, "Completed", None),
        (Turn.Status.FAILED, "Failed", "Retry"),
        (Turn.Status.STOPPED, "Stopped", "Continue"),
        (Turn.Status.INTERRUPTED, "Interrupted", "Continue"),
    ],
)
def test_what_has_ended_unseen_says_how(
    owners: Client, owner: User, status: Turn.Status, said: str, act: str | None
) -> None:
    Work(owner).end(status, "For some reason.")
    row = only_row(owners, "unseen")
    # The reasons of those that were stopped begin with that word.
    assert (f'<span class="board-row__status">{said}</span>' in row) == (status != Turn.Status.STOPPED)
    assert "For some reason." in row
    assert (f">{act}</button>" in row) == bool(act)
    assert ("/retry/" in row) == bool(act)
    assert "(1) Board" in shown(owners)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Turn.Status.COMPLETED, "Unread:"),
        (Turn.Status.FAILED, "Failed:"),
        (Turn.Status.STOPPED, "Unread:"),
        (Turn.Status.INTERRUPTED, "Interrupted:"),
    ],
)
def test_it_is_marked_in_the_sidebar_and_in_the_list(
    owners: Client, owner: User, status: Turn.Status, said: str
) -> None:
    work = Work(owner).end(status)
    for address, times in {"/": 1, "/conversations/": 2, "/board/": 1}.items():
        page = owners.get(address).content.decode()
        assert page.count(said) == times
        assert "1 needs your attention" in page
    own = owners.get(f"/conversations/{work.conversation.pk}/").content.decode()
    assert said not in own


def test_mark_as_seen(owners: Client, owner: User) -> None:
    work = Work(owner).end()
    where = f"/conversations/{work.conversation.pk}/seen/"
    owners.get(f"/conversations/{work.conversation.pk}/")
    assert rows(shown(owners), "unseen"), "a GET changes nothing: the page's script says what is looked at"
    for turn in ("", "0", "nothing", str(work.turn.pk - 1)):
        owners.post(where, {"turn": turn, "back": "board"})
        assert rows(shown(owners), "unseen")
    answer = owners.post(where, {"turn": str(work.turn.pk), "back": "board"})
    assert answer["Location"] == "/board/"
    assert not rows(shown(owners), "unseen")


def test_mark_all_as_seen_is_about_ones_own(owners: Client, owner: User, stranger: User) -> None:
    theirs = Work(stranger).end()
    for _ in range(3):
        Work(owner).end()
    assert len(rows(shown(owners), "unseen")) == 3
    assert owners.post("/board/seen/", {"back": "board"})["Location"] == "/board/"
    assert not rows(shown(owners), "unseen")
    assert Conversation.objects.unseen().get() == theirs.conversation


def test_what_was_left_unfinished(owners: Client, owner: User) -> None:
    work = Work(owner).write("a x", "b > Write").end()
    row = only_row(owners, "unseen")
    assert "1/2" in row
    assert "Ended · Next: Write" in re.sub(r"<[^>]+>", "", row)
    assert f"/conversations/{work.conversation.pk}/continue/" in row
    work.conversation.mark_seen(work.turn.pk)
    row = only_row(owners, "unfinished")
    assert "Ended" not in row
    assert "Next: Write" in row
    assert "Mark as read" not in row
    answer = owners.post(f"/conversations/{work.conversation.pk}/dismiss/", {"back": "board"})
    assert answer["Location"] == "/board/"
    assert not ROW.findall(shown(owners))


def test_continue_from_the_board(owners: Client, owner: User) -> None:
    work = Work(owner).write("a x", "b >").end()
    answer = owners.post(f"/conversations/{work.conversation.pk}/continue/", {"back": "board"})
    assert answer["Location"] == "/board/"
    assert "1/2" in only_row(owners, "running")


def test_a_refusal_on_the_board_names_the_conversation(owners: Client, owner: User) -> None:
    work = Work(owner).write("a x", "b >").end()
    where = f"/conversations/{work.conversation.pk}/"
    Conversation.objects.filter(pk=work.conversation.pk).update(title="<b>bold</b>", lost_model="<i>tiny</i>")
    said = (
        f'<a href="{where}" dir="auto">&lt;b&gt;bold&lt;/b&gt;</a>: The chosen model &lt;i&gt;tiny&lt;/i&gt;'
        " is no longer available. Choose another one, then send again."
    )
    page = owners.post(f"{where}continue/", {"back": "board"}, follow=True).content.decode()
    assert f'data-level="error">{said}</li>' in page
    answer = owners.post(f"{where}continue/", {"back": "board"}, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content.decode()) == (409, said)


def test_retry_from_the_board(owners: Client, owner: User) -> None:
    work = Work(owner).write("a x", "b >").end(Turn.Status.FAILED)
    row = only_row(owners, "unseen")
    (where,) = re.findall(r'formaction="([^"]+/retry/)"', row)
    assert "/continue/" not in row
    assert owners.post(where, {"back": "board"})["Location"] == "/board/"
    assert 'data-status="queued"' in only_row(owners, "running")
    assert work.conversation.turns.count() == 2


def test_nobody_sees_anothers_board(strangers: Client, owner: User) -> None:
    claim(Work(owner))
    ask(Work(owner))
    Work(owner).write("a >").end()
    page = shown(strangers)
    assert not ROW.findall(page)
    assert "<title>Board</title>" in page
    assert "at work</span>" not in page


def test_beyond_the_newest_there_is_a_way_to_the_others(
    owners: Client, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "LISTED", 2)
    works = [Work(owner).write("a >").end() for _ in range(5)]
    page = shown(owners)
    assert len(rows(page, "unseen")) == 2
    assert '<span class="board__count">5</span>' in section(page, "unseen")
    assert f"board-{works[-1].conversation.pk}" in rows(page, "unseen")[0]
    owners.post("/board/seen/")
    page = shown(owners)
    assert len(rows(page, "unfinished")) == 2
    assert 'href="/conversations/?todos=unfinished"' in section(page, "unfinished")


def fill(owner: User, count: int) -> None:
    for number in range(count):
        work = Work(owner)
        ask(work, f"echo {number}")
        Work(owner)
        Work(owner).write("a x", "b >").end()
        seen = Work(owner).write("a x", "b >").end()
        seen.conversation.mark_seen(seen.turn.pk)


def test_a_turn_that_waits_for_its_users_share_says_so(
    owners: Client, owner: User, stranger: User, settings: Any
) -> None:
    settings.MAX_TURNS_PER_USER = 1
    first, second = (Conversation.begin(owner, text, uuid.uuid4(), None) for text in ("One", "Two"))
    assert "Queued, 1 turn ahead" in owners.get(f"/conversations/{second.pk}/").content.decode()
    assert Turn.claim("worker", first.turns.get().pk)
    sentence = "Queued: your other conversations are using all your slots"
    assert sentence in owners.get(f"/conversations/{second.pk}/").content.decode()
    assert sentence in rows(shown(owners), "running")[1]
    User.objects.filter(pk=stranger.pk).update(is_active=False)
    assert sentence not in owners.get(f"/conversations/{second.pk}/").content.decode() + shown(owners)


def test_a_fuller_board_takes_no_more_queries(
    owners: Client, owner: User, django_assert_num_queries: Any
) -> None:
    fill(owner, 1)
    with CaptureQueriesContext(connection) as few:
        shown(owners)
    fill(owner, 4)
    with django_assert_num_queries(len(few)):
        assert len(ROW.findall(shown(owners))) == 20


@pytest.mark.usefixtures("owners")
def test_a_look_reads_no_conversation_that_is_over_and_seen(owner: User) -> None:
    """Each query uses an index that has only the rows on the board."""
    fill(owner, 1)
    with CaptureQueriesContext(connection) as queries:
        board.outline_of(owner.pk)
    for query in queries.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            steps = [step for *_ids, step in cursor.fetchall()]
        assert not [step for step in steps if step.startswith("SCAN")], query["sql"]
        assert "conversation_newest_first" not in "".join(steps), query["sql"]
        assert not [step for step in steps if "(owner_id=?)" in step and "unfinished" not in step], query[
            "sql"
        ]


def test_a_deleted_conversation_is_gone_from_it(owners: Client, owner: User) -> None:
    work = Work(owner).end()
    owners.post(f"/conversations/{work.conversation.pk}/delete/")
    assert not ROW.findall(shown(owners))


def test_an_archived_conversation_is_gone_from_it(owners: Client, owner: User) -> None:
    conversation = Work(owner).end().conversation
    assert "1" in section(shown(owners), "unseen")
    conversation.archived_at = timezone.now()
    conversation.save()
    page = shown(owners)
    assert not rows(page, "unseen")
    assert "<title>Board" in page, "and not counted"


def test_words_of_anybody_become_no_markup(owners: Client, owner: User) -> None:
    work = Work(owner)
    Conversation.objects.filter(pk=work.conversation.pk).update(title="<b>bold</b>")
    ask(work, "<script>")
    page = shown(owners)
    assert "<b>bold" not in page
    assert "<script>" not in page.partition('<main id="board"')[2]


def test_a_repeated_continue_is_one_turn(owners: Client, owner: User) -> None:
    work = Work(owner).write("a >").end()
    for _ in range(2):
        owners.post(f"/conversations/{work.conversation.pk}/continue/", {"back": "board"})
    assert work.conversation.turns.count() == 2


def test_an_address_that_is_no_turns_is_harmless(owners: Client, owner: User) -> None:
    work = Work(owner).end()
    for turn in (2**63, 10**30, -1, "", "x", "²"):
        answer = owners.post(f"/conversations/{work.conversation.pk}/seen/", {"turn": turn, "back": "board"})
        assert answer.status_code == 302
