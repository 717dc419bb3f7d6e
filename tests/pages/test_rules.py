"""A profile's rules for tools, in the administration."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Profile

GIVEN = {
    "title": "Careful",
    "colour": "blue",
    "language": "en",
    "position": "1",
    "todo_policy": "focused",
    "max_todos": "20",
    "rule_bash": "ask",
    "rule_read_file": "run",
    "rule_write_file": "never",
    "rule_edit_file": "run",
    "rule_others": "ask",
    "single_rules": "files__list = run\r\n\r\n files__* = NEVER \r\n",
}
KEPT = {
    "bash": "ask",
    "read_file": "run",
    "write_file": "never",
    "edit_file": "run",
    "*": "ask",
    "files__list": "run",
    "files__*": "never",
}


@pytest.fixture
def administrator(owner: User, browser_of: Callable[[User], Client]) -> Client:
    owner.is_staff = owner.is_superuser = True
    owner.save()
    return browser_of(owner)


def test_each_tool_has_a_choice_that_is_kept_and_shown_again(administrator: Client) -> None:
    assert administrator.post("/admin/chat/profile/add/", GIVEN).status_code == 302
    profile = Profile.objects.get(title="Careful")
    assert profile.rules == KEPT
    page = administrator.get(f"/admin/chat/profile/{profile.pk}/change/").content.decode()
    assert "Shell commands (bash)" in page
    assert '<option value="ask" selected>Ask: wait for an answer first</option>' in page
    assert "files__list = run\nfiles__* = never" in page


def test_a_new_profile_is_shown_with_what_holds_without_a_choice(administrator: Client) -> None:
    page = administrator.get("/admin/chat/profile/add/").content.decode()
    assert page.count('<option value="run" selected>') == 4
    assert page.count('<option value="ask" selected>') == 1


def test_what_is_not_sent_stays_as_it_is(administrator: Client) -> None:
    profile = Profile.objects.create(title="Asks", rules={"bash": "ask", "write_file": "ask"})
    kept = {name: value for name, value in GIVEN.items() if not name.startswith("rule_")}
    assert administrator.post(f"/admin/chat/profile/{profile.pk}/change/", kept).status_code == 302
    profile.refresh_from_db()
    assert [profile.rule_for(tool) for tool in ("bash", "write_file", "read_file")] == ["ask", "ask", "run"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("files__list", "A line has no =."),
        ("bash = run", "bash has its own field."),
        ("* = run", "* has its own field."),
        ("files list = run", "files list is not a tool name."),
        ("files__list = maybe", "The rule of files__list must be run, ask or never, not maybe."),
    ],
)
def test_a_line_that_is_no_rule_says_why(administrator: Client, line: str, said: str) -> None:
    answer = administrator.post("/admin/chat/profile/add/", {**GIVEN, "single_rules": line})
    assert answer.status_code == 200
    assert said.replace("’", "&#x27;") in answer.content.decode()
    assert not Profile.objects.filter(title="Careful").exists()
