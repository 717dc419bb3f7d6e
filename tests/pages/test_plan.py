"""The plan page without scripts."""

from __future__ import annotations

import datetime
import re

import pytest
from django.test import Client
from django.utils import timezone

from chat.models import Conversation, Turn
from tests.plan.conftest import Work, work

__all__ = ["work"]


def page_of(client: Client, work: Work, query: str = "", **headers: str) -> str:
    response = client.get(f"/conversations/{work.conversation.pk}/plan/{query}", headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def stage(page: str) -> str:
    return page[page.index('<section id="plan-stage"') : page.index("</section>")]


def story(page: str) -> str:
    return page[page.index('<div class="plan__story">') :]


def shown(page: str) -> list[tuple[str, str]]:
    """The items on the stage, with their attributes."""
    found = re.findall(r'<li class="todo plan-line" id="item-(\w+)" data-status="(\w+)"([^>]*)>', stage(page))
    return [(id_, " ".join([status, *re.findall(r"data-([\w-]+)", more)])) for id_, status, more in found]


@pytest.fixture
def told(work: Work) -> Work:
    """Three items; one is done, one is dropped on the way, and the third is cut off."""
    work.write("a >", "b -", "c -").look("one", "two").write("a x", "b >", "c -").look("three")
    return work.write("a x", "c > Carry on").end(Turn.Status.INTERRUPTED, "The server stopped.")


def test_the_latest_list_with_all_that_was_removed(told: Work, owners: Client) -> None:
    page = page_of(owners, told)
    assert shown(page) == [
        ("a", "completed"),
        ("b", "in_progress removed removed"),
        ("c", "in_progress reworded status interrupted"),
    ]
    assert "Revision 3 of 3" in stage(page)
    assert '<del class="plan-line__before">c</del>' in stage(page)


def test_an_earlier_revision(told: Work, owners: Client) -> None:
    page = page_of(owners, told, "?revision=2")
    assert shown(page) == [("a", "completed status"), ("b", "in_progress status"), ("c", "pending")]
    assert 'rel="prev" href="?revision=1"' in page
    assert 'rel="next" href="?revision=3"' in page


@pytest.mark.parametrize(
    ("asked", "given"), [("0", 1), ("99", 3), ("x", 3), ("", 3), ("9" * 30, 3), ("-1", 3), ("²", 3)]
)
def test_a_revision_that_there_is_not(told: Work, owners: Client, asked: str, given: int) -> None:
    assert f"Revision {given} of 3" in stage(page_of(owners, told, f"?revision={asked}"))


def test_the_story_leads_to_the_transcript(told: Work, owners: Client) -> None:
    page = page_of(owners, told)
    calls = [call.pk for call in told.turn.tool_calls.filter(name="read_file")]
    assert [int(pk) for pk in re.findall(r"/#tool-call-(\d+)", story(page))] == calls
    assert f"/conversations/{told.conversation.pk}/#turn-{told.turn.pk}" in page
    assert "Interrupted: The server stopped." in page


def test_the_transcript_leads_to_the_plan(told: Work, owners: Client) -> None:
    page = owners.get(f"/conversations/{told.conversation.pk}/").content.decode()
    plan = f"/conversations/{told.conversation.pk}/plan/"
    revisions = [revision.pk for revision in told.conversation.revisions.all()]
    linked = [int(pk) for pk in re.findall(f'href="{plan}#revision-(\\d+)"', page)]
    assert linked == [*revisions, revisions[-1]]  # the last also from the turn's end
    assert f'href="{plan}">' in page
    timeline = page_of(owners, told)
    assert [int(pk) for pk in re.findall(r'id="revision-(\d+)"', timeline)] == revisions


def test_the_script_gets_the_stage_alone(told: Work, owners: Client) -> None:
    page = page_of(owners, told, "?revision=1", hx_request="true")
    assert page.startswith('<section id="plan-stage"')
    assert "plan__story" not in page


def test_plans_in_order(work: Work, owners: Client) -> None:
    work.write("a x").end().go_on().write("n >").end()
    page = page_of(owners, work)
    assert page.index('id="plan-1"') < page.index('id="plan-2"')
    assert "Plan 2 · " in stage(page)
    assert shown(page) == [("n", "in_progress added")]


def test_while_the_agent_works_a_link_shows_how_far_it_is(work: Work, owners: Client) -> None:
    work.write("a >", "b -")
    latest = rf'<a\s+href="/conversations/{work.conversation.pk}/plan/">Show its progress</a>'
    assert re.search(latest, page_of(owners, work, "?revision=1"))
    work.end(Turn.Status.COMPLETED)
    assert not re.search(latest, page_of(owners, work))


def test_no_list_yet(work: Work, owners: Client) -> None:
    assert "Look again" in page_of(owners, work)
    work.end(Turn.Status.COMPLETED)
    assert "Look again" not in page_of(owners, work)
    assert "no plan in this conversation" in page_of(owners, work)


def test_what_the_model_wrote_is_text(work: Work, owners: Client) -> None:
    work.write("a - <script>alert(1)</script>").look('<img src=x onerror="alert(1)">').end()
    page = page_of(owners, work)
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_a_stranger_finds_nothing(told: Work, strangers: Client) -> None:
    assert strangers.get(f"/conversations/{told.conversation.pk}/plan/").status_code == 404


def test_what_the_person_changed_is_marked_as_theirs(work: Work, owners: Client) -> None:
    work.write("a >", "b -").edit("a >", "c - Mine", skipped="b").write("a x", "c >").end()
    page = page_of(owners, work, "?revision=2")
    assert shown(page) == [
        ("a", "in_progress"),
        ("b", "pending removed skipped removed"),
        ("c", "pending added"),
    ]
    assert "You changed the list" in stage(page)
    assert page.count('data-author="person"') == 1
    assert page.count("step ") == 2  # a change of the user's is of no step
    assert "skipped earlier" in stage(page_of(owners, work))


def test_a_change_of_a_later_day_has_its_date(work: Work, owners: Client) -> None:
    work.write("a >", "b -").end()
    work.edit("a >", "b -", "c - Mine")
    times = re.findall(
        r'class="timeline__when">(?:step \d+ · )?<time([^>]*)>([^<]*)</time>', page_of(owners, work)
    )
    assert len(times) > 2
    assert all(("data-clock" in attributes) for attributes, _text in times[1:])
    late = datetime.datetime(2031, 2, 3, 12, 4, 5, tzinfo=datetime.UTC)
    work.conversation.revisions.filter(author="person").update(created_at=late)
    page = page_of(owners, work)
    assert re.search(r'<time datetime="2031-02-03T12:04:05Z" [^>]*>3 Feb(ruary)? 2031[^<]*:04<', page)


def test_what_another_user_did_before_an_import_is_said_of_them(owners: Client, work: Work) -> None:
    work.write("a -").edit("a -", "b -").end()
    assert "You changed the list" in page_of(owners, work)
    Conversation.objects.filter(pk=work.conversation.pk).update(imported_at=timezone.now())
    page = page_of(owners, work)
    assert "You changed the list" not in page
    assert page.count("Changed by the user") == 2


def test_a_turn_that_continue_began_is_in_the_timeline(work: Work, owners: Client) -> None:
    where = f"/conversations/{work.conversation.pk}/"
    work.write("a >").end()
    owners.post(f"{where}continue/")
    work.turn = work.conversation.turns.latest("pk")
    work.look("one").end(Turn.Status.INTERRUPTED)
    owners.post(f"{where}turns/{work.turn.pk}/retry/")
    work.turn = work.conversation.turns.latest("pk")
    work.look("two").end()
    work.go_on().look("something else").end()
    work.edit("a >", "b -")
    timeline = story(page_of(owners, work))
    told = re.findall(r"Continue with the remaining to-dos|Continue where you left off|Message 4", timeline)
    assert told == ["Continue with the remaining to-dos", "Continue where you left off"]
    assert re.findall(r"<code>(\w+)</code>", timeline) == ["one", "two"]
