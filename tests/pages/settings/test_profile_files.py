"""Profiles as files: no secrets are exported, invalid files are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from chat.models import Connection, McpServer, Profile
from chat.models.profile import FIELDS

IMPORT = "/settings/profiles/import/"
RULES = {"bash": "ask", "*": "never", "github__*": "never", "files__list": "run"}


@pytest.fixture
def profile(owner: User) -> Profile:
    connection = Connection.objects.create(
        owner=owner, name="Lab", base_url="https://me:word@api.example/v1?key=hidden", secrets="sealed"
    )
    return Profile.objects.create(
        title="Careful “one”",
        name="阿达",
        colour="violet",
        instructions="Be brief.\nAlways.",
        language="zh",
        connection=connection,
        model="large",
        temperature=0,
        max_output_tokens=500,
        todo_policy="lean",
        max_todos=5,
        max_seconds=60,
        rules=RULES,
        owner=owner,
    )


def exported(browser: Client, profile: Profile) -> Any:
    return browser.get(f"/settings/profiles/{profile.pk}/export.json")


def bring(browser: Client, content: object, **more: Any) -> Any:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return browser.post(IMPORT, {"file": SimpleUploadedFile("profile.json", raw)}, **more)


def file_of(**fields: Any) -> dict[str, Any]:
    return {"format": "agent-profile", "version": 1, "profile": {"title": "Brought", **fields}}


def test_a_file_holds_all_but_secrets(owners: Client, profile: Profile) -> None:
    answer = exported(owners, profile)
    assert answer.headers["Content-Disposition"].startswith("attachment; filename")
    text = answer.content.decode()
    assert not [secret for secret in ("word", "hidden", "sealed") if secret in text]
    told = json.loads(text)
    assert (told["format"], told["version"]) == ("agent-profile", 1)
    assert told["profile"]["connection"] == {"name": "Lab", "address": "https://api.example/v1"}
    assert {name: told["profile"][name] for name in FIELDS} == {
        name: getattr(profile, name) for name in FIELDS
    }


def test_what_was_taken_out_comes_in_again(owners: Client, owner: User, profile: Profile) -> None:
    McpServer.objects.create(name="github", command=["serve"])
    answer = bring(owners, exported(owners, profile).content)
    row = Profile.objects.get(pk__gt=profile.pk)
    assert answer.headers["Location"] == f"/settings/profiles/{row.pk}/"
    assert row.owner == owner
    assert row.title == f"{profile.title} (copy)", "beside the first, which the menu has too"
    kept = {name: getattr(profile, name) for name in FIELDS if name not in ("rules", "title")}
    assert {name: getattr(row, name) for name in kept} == kept
    assert {name: row.rules[name] for name in RULES} == RULES
    assert row.connection == profile.connection


def test_each_import_has_a_name_of_its_own(owners: Client, stranger: User, profile: Profile) -> None:
    Profile.objects.create(owner=stranger, title=f"{profile.title} (copy)")
    for _time in range(3):
        bring(owners, exported(owners, profile).content)
    made = Profile.objects.filter(pk__gt=profile.pk, owner=profile.owner).order_by("pk")
    copies = [f"{profile.title} (copy{number})" for number in ("", " 2", " 3")]
    assert [row.title for row in made] == copies


def test_another_person_gets_a_connection_of_their_own_or_none(
    owners: Client, strangers: Client, stranger: User, profile: Profile
) -> None:
    content = exported(owners, profile).content
    page = bring(strangers, content, follow=True).content.decode()
    row = Profile.objects.get(owner=stranger)
    assert (row.connection, row.model) == (None, "large")
    assert "You have no connection to https://api.example/v1" in page
    own = Connection.objects.create(owner=stranger, name="Other", base_url="https://api.example/v1")
    bring(strangers, content)
    assert Profile.objects.filter(owner=stranger, connection=own).count() == 1


def test_of_several_connections_the_one_of_the_same_name_is_taken(
    owners: Client, strangers: Client, stranger: User, profile: Profile
) -> None:
    for name in ("A", "Lab"):
        Connection.objects.create(owner=stranger, name=name, base_url="https://api.example/v1")
    bring(strangers, exported(owners, profile).content)
    row = Profile.objects.get(owner=stranger)
    assert row.connection
    assert row.connection.name == "Lab"


def test_a_file_with_only_a_title_will_do(owners: Client, owner: User) -> None:
    assert bring(owners, file_of()).status_code == 302
    row = Profile.objects.get(owner=owner)
    assert (row.title, row.todo_policy, row.rule_for("bash")) == ("Brought", "focused", "run")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "The submitted file is empty|read as JSON|Choose a file"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b" " * (256 * 1024 + 1), "larger than 256 KiB"),
        ([1], "not a profile: its “format” is not “agent-profile”"),
        ({"format": "other", "version": 1}, "not a profile: its “format”"),
        (
            {"format": "agent-profile", "version": 2, "profile": {}},
            "has version 2; this site reads version 1",
        ),
        ({"format": "agent-profile", "version": True, "profile": {}}, "has version True"),
        ({"format": "agent-profile", "profile": {}}, "has version None"),
        ({"format": "agent-profile", "version": 1}, "has no “profile”"),
        (file_of(api_key="x", owner=1), "unknown fields: api_key, owner"),
        (file_of(temperature="hot"), "“temperature” has the wrong type"),
        (file_of(temperature=True), "“temperature” has the wrong type"),
        (file_of(title=None), "“title” has the wrong type"),
        (file_of(instructions=["x"]), "“instructions” has the wrong type"),
        (file_of(connection="mine"), "“connection” has the wrong type"),
        (file_of(rules=[]), "“rules” has the wrong type"),
        (file_of(rules={"bash": "maybe"}), "must be run, ask or never, not maybe"),
        (file_of(rules={"x\nbash = run": "run"}), "is not a tool name"),
        (file_of(rules={"bash": ["run"]}), "must be run, ask or never"),
    ],
)
def test_what_is_no_profile_says_why(owners: Client, owner: User, content: object, said: str) -> None:
    answer = bring(owners, content)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert any(each in page for each in said.split("|"))
    assert not Profile.objects.filter(owner=owner).exists()


def test_no_file_is_no_profile(owners: Client) -> None:
    assert "Choose a file first." in owners.post(IMPORT).content.decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"temperature": 5}, "less than or equal to 2"),
        ({"todo_policy": "loose"}, "not one of the available choices"),
        ({"max_todos": 1.5}, "Enter a whole number."),
        ({"title": "x" * 100}, "at most 80 characters"),
        ({"temperature": float("nan")}, "Enter a number."),
        ({"max_steps": 10**400}, "less than or equal to 1000"),
    ],
)
def test_values_that_do_not_fit_are_shown_in_the_form(
    owners: Client, owner: User, fields: dict[str, Any], said: str
) -> None:
    answer = bring(owners, file_of(instructions="Kept.", **fields))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert said in page
    assert "Kept." in page
    assert 'action="/settings/profiles/add/"' in page
    assert not Profile.objects.filter(owner=owner).exists()


def test_a_file_opens_nothing_to_everyone(owners: Client, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    bring(owners, file_of())
    assert Profile.objects.get(title="Brought").owner == owner
