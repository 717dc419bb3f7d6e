"""The user's edits of the todo list, as forms send them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from chat.models import Conversation, Profile, TodoRevision, Turn
from chat.plan.history import plans_of
from tests.bodies import body
from tests.plan.conftest import Work, work

__all__ = ["work"]

ITEMS = ["a > Read", "b - Write", "c - Test"]


@pytest.fixture
def planned(work: Work) -> Work:
    """A turn that ended with three items, of which one was in progress."""
    return work.write(*ITEMS).end()


def send(client: Client, work: Work, do: str | list[str] = "save", script: bool = True, **more: Any) -> Any:
    """Post the form, by default for the latest revision."""
    revision = work.conversation.revision()
    data = {"do": do, "revision": revision.pk if revision else "", **more}
    headers = {"HX-Request": "true"} if script else {}
    return client.post(f"/conversations/{work.conversation.pk}/todos/", data, headers=headers)


def page_of(client: Client, work: Work) -> str:
    return client.get(f"/conversations/{work.conversation.pk}/").content.decode()


def listed(work: Work) -> list[str]:
    """The latest list: each item as its id, state and words."""
    revision = work.conversation.revision()
    assert revision is not None
    marks = {"pending": "-", "in_progress": ">", "completed": "x"}
    return [f"{item['id']} {marks[item['status']]} {item['content']}" for item in revision.items]


@pytest.mark.parametrize(
    ("do", "more", "left"),
    [
        ("tick a", {}, ["a x Read", "b - Write", "c - Test"]),
        ("skip b", {}, ["a > Read", "c - Test"]),
        ("up c", {}, ["a > Read", "c - Test", "b - Write"]),
        ("down a", {}, ["b - Write", "a > Read", "c - Test"]),
        ("move c", {"place": "0"}, ["c - Test", "a > Read", "b - Write"]),
        ("reword b", {"text-b": "  Write \n it  "}, ["a > Read", "b - Write it", "c - Test"]),
    ],
)
def test_each_change(planned: Work, owners: Client, do: str, more: dict[str, str], left: list[str]) -> None:
    assert send(owners, planned, do, **more).status_code == 204
    assert listed(planned) == left
    revision = planned.conversation.revision()
    assert revision is not None
    assert (revision.author, revision.afterwards) == ("person", True)
    assert revision.skipped == (["b"] if do == "skip b" else [])
    planned.conversation.refresh_from_db()
    assert planned.conversation.todos_left == revision.total - revision.done


def test_what_is_skipped_can_be_restored(planned: Work, owners: Client) -> None:
    send(owners, planned, "skip b")
    send(owners, planned, "tick c")
    assert 'value="restore b"' in page_of(owners, planned)
    for _ in range(2):
        assert send(owners, planned, "restore b").status_code == 204
        assert listed(planned) == ["a > Read", "b - Write", "c x Test"]
    assert 'value="restore b"' not in page_of(owners, planned)
    assert send(owners, planned, "restore z").status_code == 409


def test_a_repeated_skip_changes_nothing(planned: Work, owners: Client) -> None:
    seen = planned.conversation.revision()
    assert seen
    for _ in range(2):
        assert send(owners, planned, "skip b", revision=seen.pk).status_code == 204
    assert listed(planned) == ["a > Read", "c - Test"]
    assert planned.conversation.revisions.filter(author="person").count() == 1


def test_what_is_skipped_again_under_the_same_text_is_shown_once(planned: Work, owners: Client) -> None:
    send(owners, planned, "skip b")
    planned.go_on().write("a x Read", "z - Write", "c - Test").end()
    assert 'value="restore' not in page_of(owners, planned), "the agent has listed it again"
    send(owners, planned, "skip z")
    page = page_of(owners, planned)
    assert ('value="restore z"' in page, 'value="restore b"' in page) == (True, False)


def offered(client: Client, work: Work) -> list[str]:
    """The ids of the skipped items that the page offers to restore."""
    return re.findall(r'value="restore (\w+)"', page_of(client, work))


def test_items_with_the_same_text_are_skipped_and_restored_each_for_itself(
    work: Work, owners: Client
) -> None:
    work.write("a - Write", "b - Meet", "c - Write").end()
    send(owners, work, "skip a")
    assert offered(owners, work) == ["a"]
    send(owners, work, "skip c")
    assert offered(owners, work) == ["a", "c"]
    send(owners, work, "restore a")
    assert (offered(owners, work), listed(work)) == (["c"], ["a - Write", "b - Meet"])
    send(owners, work, "restore c")
    assert (offered(owners, work), sorted(listed(work))) == ([], ["a - Write", "b - Meet", "c - Write"])


def test_a_removed_item_comes_back_beside_one_with_the_same_text(work: Work, owners: Client) -> None:
    work.write("a - Buy", "b - Call", "c - Buy").end()
    send(owners, work, "remove a")
    assert listed(work) == ["b - Call", "c - Buy"]
    send(owners, work, "restore a")
    assert listed(work) == ["a - Buy", "b - Call", "c - Buy"]


def test_a_skipped_item_makes_way_for_one_that_the_agent_lists_and_none_that_the_user_adds(
    work: Work, owners: Client
) -> None:
    work.write("a - Write", "b - Meet", "c - Write").end()
    send(owners, work, ["skip a", "skip c"])
    send(owners, work, "add", **{"text-new": "Write"})
    assert offered(owners, work) == ["a", "c"]
    [_, mine] = listed(work)
    work.go_on().write("b x Meet", mine.replace("-", "x", 1), "z - Write").end()
    assert offered(owners, work) == ["c"]


def test_a_list_of_which_everything_is_skipped_can_be_restored(planned: Work, owners: Client) -> None:
    for item in "abc":
        send(owners, planned, f"skip {item}")
    page = page_of(owners, planned)
    assert all(f'value="restore {item}"' in page for item in "abc")
    send(owners, planned, "restore a")
    assert listed(planned) == ["a - Read"]


def test_what_is_skipped_stays_beside_what_is_added(planned: Work, owners: Client) -> None:
    for item in "abc":
        send(owners, planned, f"skip {item}")
    send(owners, planned, "add", **{"text-new": "Ask"})
    page = page_of(owners, planned)
    assert all(f'value="restore {item}"' in page for item in "abc")
    assert [plan.number for plan in plans_of(planned.conversation)] == [1]
    send(owners, planned, "restore b")
    assert {item.partition(" ")[2] for item in listed(planned)} == {"- Write", "- Ask"}


def test_what_is_skipped_stays_as_the_last_other_item_is_removed(planned: Work, owners: Client) -> None:
    for item in "bc":
        send(owners, planned, f"remove {item}")
    send(owners, planned, "add", **{"text-new": "Ask"})
    send(owners, planned, "skip a")
    revision = planned.conversation.revision()
    assert revision is not None
    send(owners, planned, f"remove {revision.items[0]['id']}")
    assert listed(planned) == []
    assert 'value="restore a"' in page_of(owners, planned)
    send(owners, planned, "restore a")
    assert listed(planned) == ["a - Read"]
    send(owners, planned, "remove a")
    assert 'id="todo-panel"' not in page_of(owners, planned)


def test_what_is_added_is_filled_in(planned: Work, owners: Client) -> None:
    assert send(owners, planned, "add", **{"text-new": "Tell <everybody>"}).status_code == 204
    revision = planned.conversation.revision()
    assert revision is not None
    added = revision.items[-1]
    assert added.pop("id") not in ("", "a", "b", "c")
    assert added == {
        "content": "Tell <everybody>", "status": "pending", "active_form": "Tell <everybody>", "key": ""
    }  # fmt: skip


@pytest.mark.parametrize("do", ["up a", "down c", "untick b", "reword b", "save", "nothing b", "", "tick"])
def test_what_changes_nothing_is_no_revision(planned: Work, owners: Client, do: str) -> None:
    assert send(owners, planned, do, **{"text-b": "Write"}).status_code == 204
    assert planned.conversation.revisions.count() == 1


def test_without_script_all_words_are_saved_and_it_leads_back(planned: Work, owners: Client) -> None:
    more = {"text-a": "Read", "text-b": "Write it", "text-c": "Test it"}
    # Of the two lines for a new item one is in hiding.
    response = send(owners, planned, "tick c", script=False, **more, **{"text-new": ["Rest", ""]})
    assert response.status_code == 302
    assert response["Location"] == f"/conversations/{planned.conversation.pk}/#todo-add"
    assert [line[2:] for line in listed(planned)[:3]] == ["> Read", "- Write it", "x Test it"]
    assert listed(planned)[3].endswith("- Rest")
    assert planned.conversation.revisions.count() == 2


def test_a_plan_of_ones_own_before_there_was_any(work: Work, owners: Client) -> None:
    work.look("a").end()
    page = owners.get(f"/conversations/{work.conversation.pk}/").content.decode()
    assert 'id="todo-panel"' not in page
    assert "Write your own plan" in page
    assert send(owners, work, "add", **{"text-new": "First"}).status_code == 204
    page = owners.get(f"/conversations/{work.conversation.pk}/").content.decode()
    assert 'id="todo-panel"' in page
    assert "0 of 1 done" in page


def test_of_two_tabs_both_changes_are_made(planned: Work, owners: Client) -> None:
    seen = str(planned.conversation.revision().pk)  # type: ignore[union-attr]
    assert send(owners, planned, "reword a", revision=seen, **{"text-a": "Read all"}).status_code == 204
    assert send(owners, planned, "skip b", revision=seen).status_code == 204
    assert send(owners, planned, "tick c", revision=seen).status_code == 204
    assert listed(planned) == ["a > Read all", "c x Test"]


def conflict(response: Any) -> str:
    assert response.status_code == 409
    return re.sub(r"\s+", " ", response.content.decode())


def test_words_that_somebody_else_has_changed(planned: Work, owners: Client) -> None:
    seen = str(planned.conversation.revision().pk)  # type: ignore[union-attr]
    send(owners, planned, "reword b", **{"text-b": "Write less"})
    said = conflict(send(owners, planned, "reword b", revision=seen, **{"text-b": "Write more"}))
    assert "This item has changed in the meantime. Current text: <q>Write less</q>" in said
    assert 'name="text-b" value="Write more"' in said
    assert listed(planned)[1] == "b - Write less"
    now = re.search(r'name="revision" value="(\d+)"', said)
    assert now is not None
    again = send(owners, planned, "reword b", revision=now[1], **{"text-b": "Write more"})
    assert again.status_code == 204
    assert listed(planned)[1] == "b - Write more"


@pytest.mark.parametrize(("do", "button"), [("skip b", "Skip anyway"), ("tick b", "Check off anyway")])
def test_an_item_that_reads_otherwise_is_not_skipped(
    planned: Work, owners: Client, do: str, button: str
) -> None:
    """The agent may have put something else into its place."""
    seen = str(planned.conversation.revision().pk)  # type: ignore[union-attr]
    planned.go_on().write("a x Read", "b > Buy a boat", "c - Test")
    assert button in conflict(send(owners, planned, do, revision=seen))
    assert listed(planned)[1] == "b > Buy a boat"


def test_words_for_an_item_that_is_gone_may_be_a_new_one(planned: Work, owners: Client) -> None:
    seen = str(planned.conversation.revision().pk)  # type: ignore[union-attr]
    send(owners, planned, "skip b")
    said = conflict(send(owners, planned, "reword b", revision=seen, **{"text-b": "Write more"}))
    assert "This item is no longer on the list." in said
    assert 'name="text-new" value="Write more"' in said


def test_without_script_a_conflict_is_on_the_page(planned: Work, owners: Client) -> None:
    seen = str(planned.conversation.revision().pk)  # type: ignore[union-attr]
    send(owners, planned, "skip b")
    more = {"text-b": "Write more", "text-c": "Test all"}
    said = conflict(send(owners, planned, script=False, revision=seen, **more))
    assert "This item is no longer on the list." in said
    assert 'value="Write more"' in said
    assert '<main id="conversation"' in said
    assert listed(planned) == ["a > Read", "c - Test all"], "what applies is done all the same"


@pytest.mark.parametrize(
    ("do", "more", "sentence"),
    [
        ("reword b", {"text-b": " \n "}, "Enter some text."),
        ("add", {"text-new": "  "}, "Enter some text."),
        ("add", {"text-new": "x" * 501}, "An item can have at most 500 characters."),
    ],
)
def test_what_no_list_takes(
    planned: Work, owners: Client, do: str, more: dict[str, str], sentence: str
) -> None:
    assert sentence in conflict(send(owners, planned, do, **more))
    assert listed(planned) == ITEMS


def test_a_full_list_takes_no_more(planned: Work, owners: Client, owner: Any) -> None:
    profile = Profile.objects.create(owner=owner, title="Small", max_todos=3)
    planned.conversation.choose(profile)
    said = conflict(send(owners, planned, "add", **{"text-new": "Fourth"}))
    assert "The list is full: at most 3 items." in said
    assert 'value="Fourth"' in said
    assert send(owners, planned, "skip a").status_code == 204
    assert send(owners, planned, "add", **{"text-new": "Fourth"}).status_code == 204
    profile.max_todos = 5
    profile.save()
    refused = send(owners, planned, "add", **{"text-new": "Tickets\nHotel\nMap"})
    assert refused.status_code == 409
    assert len(refused["Added"].split(" ")) == 2, "which can be taken back"
    assert "Map</textarea>" in refused.content.decode() or 'value="Map"' in refused.content.decode()


@pytest.mark.parametrize("policy", ["lean", "checklist"])
def test_the_list_is_the_next_policys(planned: Work, owners: Client, owner: Any, policy: str) -> None:
    planned.conversation.choose(Profile.objects.create(owner=owner, title="Other", todo_policy=policy))
    assert send(owners, planned, "add", **{"text-new": "More"}).status_code == 204
    revision = planned.conversation.revision()
    assert revision is not None
    assert revision.policy == policy
    assert {item["active_form"] for item in revision.items} == {""}
    keys = ["1", "2", "3", "4"] if policy == "checklist" else [""] * 4
    assert [item["key"] for item in revision.items] == keys
    assert revision.items[0]["status"] == ("pending" if policy == "lean" else "in_progress")


def test_a_change_during_a_turn_is_the_turns(work: Work, owners: Client) -> None:
    work.write(*ITEMS)
    assert send(owners, work, "tick b").status_code == 204
    revision = work.conversation.revision()
    assert revision is not None
    assert (revision.turn, revision.afterwards, revision.delivered_in_step) == (work.turn, False, None)


def test_the_panel_stays_where_it_was(planned: Work, owners: Client) -> None:
    """After turns that wrote no list, a change leaves the panel with the turn that did: a fold is kept."""
    turn = planned.turn.pk
    planned.go_on().end(Turn.Status.COMPLETED)
    assert send(owners, planned, "tick b").status_code == 204
    page = owners.get(f"/conversations/{planned.conversation.pk}/").content.decode()
    assert f'id="todo-panel" class="todo-panel" data-turn="{turn}" data-phase="ended"' in page


def test_a_pasted_list_has_its_markers_taken_off(planned: Work, owners: Client) -> None:
    lines = ["- One", "  * [ ] Two", "3. Three", "4) Four", "5、Five", "6）Six", "（7）Seven", "⑧ Eight"]
    lines += ["☐ Nine", "10.5 km", "-5 degrees", "", "One", "- [x] Done", "☑Extra"]
    assert send(owners, planned, "add", **{"text-new": "\n".join(lines)}).status_code == 204
    added = [line.split(" ", 1)[1] for line in listed(planned)[len(ITEMS) :]]
    numbers = ["- One", "- Two", "- Three", "- Four", "- Five", "- Six", "- Seven", "- Eight", "- Nine"]
    assert added == [*numbers, "- 10.5 km", "- -5 degrees", "- One", "x Done", "x Extra"]
    assert planned.conversation.revisions.filter(author="person").count() == 1
    assert send(owners, planned, "add", **{"text-new": "- a single line"}).status_code == 204
    assert listed(planned)[-1].endswith(" - a single line"), "as it was typed"


def test_a_pasted_list_is_taken_back_at_once(planned: Work, owners: Client) -> None:
    before = listed(planned)
    added = send(owners, planned, "add", **{"text-new": "Tickets\nHotel\nMap"}).headers["Added"].split(" ")
    assert len(listed(planned)) == len(before) + 3
    undone = [f"remove {item}" for item in added]
    assert send(owners, planned, undone).status_code == 204
    assert listed(planned) == before
    assert planned.conversation.revisions.filter(author="person").count() == 2


@pytest.mark.parametrize(
    "marker", ["一、", "十二．", "（三）", "四）", "(5)", "6．", "(7) ", "8\t", "·", "• ", "– ", "□", "⑨"]
)
def test_other_markers_of_a_pasted_list(planned: Work, owners: Client, marker: str) -> None:
    assert send(owners, planned, "add", **{"text-new": f"{marker}买票\n一天两次"}).status_code == 204
    assert [line.split(" ", 2)[2] for line in listed(planned)[len(ITEMS) :]] == ["买票", "一天两次"]


def test_a_pasted_list_may_have_a_heading_and_ticks(planned: Work, owners: Client) -> None:
    text = "# Trip\n\n✅ Tickets\n✔\ufe0f Hotel\n✓Map\n□ Visa\n## Later"
    assert send(owners, planned, "add", **{"text-new": text}).status_code == 204
    assert [line.split(" ", 1)[1] for line in listed(planned)[len(ITEMS) :]] == [
        "x Tickets",
        "x Hotel",
        "x Map",
        "- Visa",
    ]
    assert send(owners, planned, "add", **{"text-new": "# one\n# two"}).status_code == 204
    assert [line.split(" ", 2)[2] for line in listed(planned)[-2:]] == ["# one", "# two"], (
        "no headings of others"
    )


@pytest.mark.parametrize("ending", ["html", "md"])
def test_a_file_tells_what_was_kept_from_what_was_changed(planned: Work, owners: Client, ending: str) -> None:
    assert send(owners, planned, "add", **{"text-new": "Call Bob"}).status_code == 204
    address = f"/conversations/{planned.conversation.pk}/export.{ending}"
    changed = {"html": "Changed by the user", "md": "by the user"}[ending]
    kept = "The user's changes were kept"
    file = body(owners.get(address)).decode()
    assert changed in file
    assert kept not in file
    planned.conversation.revisions.filter(author="person").update(kept=True)
    file = body(owners.get(address)).decode()
    assert changed not in file
    assert kept in file


def test_what_is_sent_again_is_added_once(planned: Work, owners: Client) -> None:
    for text in ("Call Bob\nCall Ann", "Call Bob\nCall Ann", "Call Bob"):
        assert send(owners, planned, "add", **{"text-new": text, "new": "0123abcd"}).status_code == 204
    before = listed(planned)
    assert len(before) == len(ITEMS) + 2
    revision = planned.conversation.revision()
    assert revision
    assert [item["id"] for item in revision.items[-2:]] == ["0123abcd", "0123abcd1"]
    assert send(owners, planned, "add", **{"text-new": "Call Bob", "new": "<b>"}).status_code == 204
    assert len(listed(planned)) == len(before) + 1


def test_what_was_added_outlives_the_turn_after_which_it_was(planned: Work, owners: Client) -> None:
    planned.go_on().end(Turn.Status.COMPLETED)
    talk = planned.conversation.path.last()
    assert talk
    assert send(owners, planned, "add", **{"text-new": "Call the plumber"}).status_code == 204
    page = f"/conversations/{planned.conversation.pk}/"
    assert "to-dos that you added" in owners.get(f"{page}turns/{talk.pk}/delete/").content.decode()
    assert owners.post(f"{page}turns/{talk.pk}/delete/", headers={"HX-Request": "true"}).status_code == 204
    assert "Call the plumber" in owners.get(page).content.decode()
    assert "Call the <mark>plumber</mark>" in owners.get("/conversations/?q=plumber").content.decode()


def test_nobody_else_changes_it(planned: Work, strangers: Client, client: Client) -> None:
    assert send(strangers, planned, "skip a").status_code == 404
    assert send(client, planned, "skip a").status_code in (302, 403)
    assert listed(planned) == ITEMS
    assert TodoRevision.objects.filter(author="person").count() == 0
    assert Conversation.objects.count() == 1


def test_an_item_is_refused_and_given_back_where_no_turn_is_left(planned: Work, owners: Client) -> None:
    for turn in planned.conversation.path.order_by("-pk"):
        planned.conversation.delete_turn(turn.pk)
    answer = send(owners, planned, "add", **{"text-new": "Call Bob"})
    assert answer.status_code == 409
    assert 'value="Call Bob"' in answer.content.decode()
    assert "Send a message first." in answer.content.decode()
