"""Profiles in the settings: ownership and validation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Connection, McpServer, Preferences, Profile
from chat.models.profile import FIELDS as PROFILE_FIELDS
from tests.model_server import ScriptedModel
from tests.pages.settings.fields import fields_of

GIVEN: dict[str, Any] = {
    "title": "Careful",
    "name": "Ada",
    "colour": "violet",
    "instructions": "Be brief.",
    "language": "zh",
    "connection": "",
    "model": "large",
    "temperature": "0.2",
    "top_p": "",
    "max_output_tokens": "500",
    "reasoning_effort": "high",
    "todo_policy": "lean",
    "max_todos": "",
    "remind_after": "4",
    "max_steps": "7",
    "max_tool_calls": "",
    "max_seconds": "60",
    "rule_bash": "ask",
    "rule_others": "never",
    "single_rules": "files__list = run",
}


@pytest.fixture
def mine(owner: User) -> Profile:
    return Profile.objects.create(title="Mine", owner=owner, rules={"bash": "ask", "files__list": "run"})


@pytest.fixture
def theirs(stranger: User) -> Profile:
    return Profile.objects.create(title="Theirs", owner=stranger, instructions="A secret of theirs.")


@pytest.fixture
def common(db: Any) -> Profile:
    return Profile.objects.create(title="Common", owner=None, position=1)


@pytest.fixture
def staff(owner: User, owners: Client) -> Client:
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    return owners


def test_a_new_profile_speaks_the_language_of_the_page(owners: Client) -> None:
    for accepted, chosen in (("zh-CN", "zh"), ("en", "en")):
        page = owners.get("/settings/profiles/add/", headers={"accept-language": accepted}).content.decode()
        assert f'<option value="{chosen}" selected>' in page


def test_the_list_says_what_tells_them_apart(owners: Client, mine: Profile, common: Profile) -> None:
    page = owners.get("/settings/profiles/").content.decode()
    assert "Asks before it runs commands. Shows the step it is on. · files__list: run" in page
    assert "Works on its own in its workspace. Shows the step it is on.</p>" in page


CHANGING = ("bash", "write_file", "edit_file")


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({}, "Works on its own in its workspace."),
        (dict.fromkeys(CHANGING, "ask"), "Asks before it runs commands or changes files."),
        (dict.fromkeys(CHANGING, "never"), "Cannot run commands or change files."),
        (dict.fromkeys(CHANGING[1:], "ask"), "Asks before it changes files."),
        (dict.fromkeys(CHANGING[1:], "never"), "Cannot change files."),
        ({"bash": "never", "edit_file": "ask"}, "Cannot run commands. Asks before it edits files."),
        ({"bash": "never", "edit_file": "never"}, "Cannot run commands. Cannot edit files."),
        ({"write_file": "ask", "edit_file": "never"}, "Asks before it writes files. Cannot edit files."),
        ({"bash": "ask", "write_file": "ask"}, "Asks before it runs commands. Asks before it writes files."),
        ({"bash": "never", "write_file": "never"}, "Cannot run commands. Cannot write files."),
    ],
)
def test_a_sentence_says_what_a_profile_may_do(
    owners: Client, owner: User, rules: dict[str, str], sentence: str
) -> None:
    Profile.objects.create(title="Mine", owner=owner, rules=rules, todo_policy="lean")
    page = owners.get("/settings/profiles/").content.decode()
    assert f"{sentence} Updates its plan less often, which saves tokens.</p>" in page


def where(profile: Profile, act: str = "") -> str:
    return f"/settings/profiles/{profile.pk}/{act}"


def test_what_is_filled_in_is_kept_and_shown_again(owners: Client, owner: User) -> None:
    assert owners.post("/settings/profiles/add/", GIVEN).status_code == 302
    row = Profile.objects.get(title="Careful")
    assert (row.owner, row.name, row.colour, row.language) == (owner, "Ada", "violet", "zh")
    assert (row.temperature, row.top_p, row.max_output_tokens, row.reasoning_effort) == (
        0.2,
        None,
        500,
        "high",
    )
    assert (row.todo_policy, row.max_todos, row.remind_after) == ("lean", 20, 4)
    assert (row.max_steps, row.max_tool_calls, row.max_seconds) == (7, None, 60)
    assert row.rules["bash"] == "ask"
    assert (row.rules["*"], row.rules["files__list"], row.rules["read_file"]) == ("never", "run", "run")
    page = owners.get(where(row)).content.decode()
    assert 'value="0.2"' in page
    assert "files__list = run" in page
    assert re.search(r'value="violet"[^>]*checked', page)


def test_a_new_profile_begins_with_what_is_usual(owners: Client) -> None:
    page = owners.get("/settings/profiles/add/").content.decode()
    assert re.search(r'value="blue"[^>]*checked', page)
    assert re.search(r'value="focused"[^>]*checked', page)
    assert "For everyone" not in page
    assert owners.post("/settings/profiles/add/", {"title": "Plain"}).status_code == 302
    row = Profile.objects.get(title="Plain")
    assert (row.colour, row.language, row.todo_policy, row.max_todos) == ("blue", "en", "focused", 20)
    assert (row.rule_for("bash"), row.rule_for("github__list")) == ("run", "ask")


def test_a_new_profile_begins_with_the_model_of_the_default_one(owners: Client, owner: User) -> None:
    row = Connection.objects.create(owner=owner, name="Mine", base_url="https://api.example/v1")
    usual = Profile.objects.create(owner=owner, title="Usual", connection=row, model="m-1")
    Preferences.choose(owner, usual)
    page = owners.get("/settings/profiles/add/").content.decode()
    assert re.search(rf'<option value="{row.pk}"\s+selected>', page)
    assert re.search(r'name="model" value="m-1"', page)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", "", "This field is required."),
        ("title", "x" * 81, "at most 80 characters"),
        ("instructions", "x" * 20_001, "at most 20000 characters"),
        ("temperature", "3", "less than or equal to 2"),
        ("temperature", "nan", "Enter a number."),
        ("top_p", "-1", "greater than or equal to 0"),
        ("max_output_tokens", "0", "greater than or equal to 1"),
        ("max_steps", "1001", "less than or equal to 1000"),
        ("max_seconds", "1.5", "Enter a whole number."),
        ("max_todos", "201", "less than or equal to 200"),
        ("reasoning_effort", "huge", "is not one of the available choices"),
        ("rule_bash", "maybe", "is not one of the available choices"),
        ("single_rules", "files__list", "A line has no =."),
        ("connection", "999", "not one of the available choices"),
    ],
)
def test_what_does_not_fit_says_why_and_nothing_typed_is_lost(
    owners: Client, field: str, value: str, said: str
) -> None:
    answer = owners.post("/settings/profiles/add/", {**GIVEN, field: value})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert said in page
    assert "Not saved yet" in page
    kept = {"title": 'value="Careful"', "instructions": "Be brief.", "single_rules": "files__list = run"}
    assert not [text for name, text in kept.items() if name != field and text not in page]
    assert not Profile.objects.filter(title="Careful").exists()


def test_a_connection_needs_a_model(owners: Client, owner: User) -> None:
    row = Connection.objects.create(owner=owner, name="Mine", base_url="https://api.example/v1")
    answer = owners.post("/settings/profiles/add/", {**GIVEN, "connection": row.pk, "model": ""})
    assert "Choose one of the connection&#x27;s models." in answer.content.decode()
    assert owners.post("/settings/profiles/add/", {**GIVEN, "connection": row.pk}).status_code == 302
    assert Profile.objects.get(title="Careful").connection == row


@pytest.mark.parametrize(("model", "is_warned"), [("demo", False), ("gpt-9", True)])
def test_a_model_that_the_endpoint_does_not_list_is_saved_with_a_warning(
    staff: Client, owner: User, model_server: ScriptedModel, model: str, is_warned: bool
) -> None:
    row = Connection.objects.create(owner=owner, name="L", base_url=model_server.base_url, inside=True)
    staff.get(f"/settings/connections/models/?connection={row.pk}")  # as the field does
    given = {**GIVEN, "connection": row.pk, "model": model}
    answer = staff.post("/settings/profiles/add/", given, follow=True).content.decode()
    assert "“Careful” saved." in answer
    assert (f"does not list the model {model}" in answer) == is_warned
    assert Profile.objects.get(title="Careful").model == model


def test_nobody_elses_connection_can_be_chosen(owners: Client, stranger: User, mine: Profile) -> None:
    row = Connection.objects.create(owner=stranger, name="Theirs", base_url="https://api.example/v1")
    assert "Theirs" not in owners.get("/settings/profiles/add/").content.decode()
    for address in ("/settings/profiles/add/", where(mine)):
        answer = owners.post(address, {**GIVEN, "connection": row.pk})
        assert answer.status_code == 400
        assert "not one of the available choices" in answer.content.decode()
    assert not Profile.objects.filter(connection=row).exists()


def test_everyones_profile_stands_on_no_ones_own_connection(staff: Client, owner: User) -> None:
    row = Connection.objects.create(owner=owner, name="Mine", base_url="https://api.example/v1")
    given = {**GIVEN, "connection": row.pk, "everyones": "on"}
    answer = staff.post("/settings/profiles/add/", given)
    assert "only their profiles can use it" in answer.content.decode()
    Connection.objects.update(owner=None)
    assert staff.post("/settings/profiles/add/", given).status_code == 302
    assert Profile.objects.get(title="Careful").owner is None


def test_only_staff_opens_a_profile_to_everyone(owners: Client, owner: User) -> None:
    owners.post("/settings/profiles/add/", {**GIVEN, "everyones": "on"})
    assert Profile.objects.get(title="Careful").owner == owner


def test_the_list_shows_ones_own_and_everyones(
    owners: Client, mine: Profile, theirs: Profile, common: Profile
) -> None:
    page = owners.get("/settings/profiles/").content.decode()
    assert "Mine" in page
    assert "Common" in page
    assert "Theirs" not in page
    assert where(mine) in page
    assert f'href="{where(common)}"' not in page, "it is not theirs to edit"
    assert where(common, "duplicate/") in page


@pytest.mark.parametrize("act", ["", "duplicate/", "prefer/", "delete/", "export.json"])
def test_a_strangers_profile_does_not_exist(owners: Client, theirs: Profile, act: str) -> None:
    before = list(Profile.objects.values())
    for ask in (owners.get, owners.post):
        assert ask(where(theirs, act), GIVEN).status_code in (404, 405)
    assert owners.post(where(theirs, act)).status_code == (405 if act == "export.json" else 404)
    assert list(Profile.objects.values()) == before
    assert not Preferences.objects.exists()


@pytest.mark.parametrize("act", ["", "delete/"])
def test_everyones_profile_is_the_staffs_to_change(owners: Client, common: Profile, act: str) -> None:
    assert owners.post(where(common, act), GIVEN).status_code == 404
    common.refresh_from_db()
    assert common.title == "Common"


def test_staff_changes_everyones_and_nobody_elses(staff: Client, common: Profile, theirs: Profile) -> None:
    assert staff.post(where(common), {**GIVEN, "everyones": "on"}).status_code == 302
    common.refresh_from_db()
    assert (common.title, common.owner) == ("Careful", None)
    assert staff.post(where(theirs), GIVEN).status_code == 404


def duplicated(browser: Client, profile: Profile) -> Profile:
    """The copy, saved as its form was filled in."""
    form = browser.get(where(profile, "duplicate/"))
    assert f'action="{where(profile, "duplicate/")}"' in form.content.decode()
    assert browser.post(where(profile, "duplicate/"), fields_of(form)).status_code == 302
    return Profile.objects.latest("pk")


@pytest.mark.parametrize("is_staff", [False, True])
def test_a_copy_is_ones_own(owners: Client, owner: User, is_staff: bool) -> None:
    User.objects.filter(pk=owner.pk).update(is_staff=is_staff)
    McpServer.objects.create(name="issues", command=["serve"])
    connection = Connection.objects.create(name="All's", base_url="https://api.example/v1")
    settings = {name: value for name, value in GIVEN.items() if hasattr(Profile, name) and value != ""}
    rules = {"bash": "ask", "*": "never", "issues__*": "run", "gone__*": "ask", "files__list": "run"}
    more = {"title": "Common", "connection": connection, "rules": rules, "top_p": 0.5, "max_todos": 7}
    common = Profile.objects.create(**{**settings, **more, "position": 1})
    copy = duplicated(owners, common)
    assert (copy.title, copy.owner, copy.connection) == ("Common (copy)", owner, connection)
    assert copy.rules.items() >= rules.items()
    common.refresh_from_db()
    kept = {name: getattr(common, name) for name in PROFILE_FIELDS if name not in ("rules", "title")}
    assert {name: getattr(copy, name) for name in kept} == kept
    assert (common.title, common.owner) == ("Common", None)


def test_a_copy_that_is_not_saved_is_not_there(owners: Client, common: Profile) -> None:
    assert 'value="Common (copy)"' in owners.get(where(common, "duplicate/")).content.decode()
    assert owners.post(where(common, "duplicate/"), {"title": "", "name": "Ada"}).status_code == 400
    assert not Profile.objects.exclude(pk=common.pk).filter(title__startswith="Common").exists()


def test_each_copy_has_a_name_of_its_own(
    owners: Client, owner: User, stranger: User, common: Profile
) -> None:
    Profile.objects.create(owner=stranger, title="Common (copy)")
    assert [duplicated(owners, common).title for _time in range(2)] == ["Common (copy)", "Common (copy 2)"]
    chinese = owners.get(where(common, "duplicate/"), headers={"accept-language": "zh-CN"}).content.decode()
    assert 'value="Common（副本）"' in chinese
    Profile.objects.create(owner=owner, title="Common（副本）")
    chinese = owners.get(where(common, "duplicate/"), headers={"accept-language": "zh-CN"}).content.decode()
    assert 'value="Common（副本 2）"' in chinese
    long = Profile.objects.create(owner=owner, title="x" * 80)
    assert duplicated(owners, long).title == "x" * 73 + " (copy)"


def test_profiles_that_one_can_choose_have_different_names(
    owners: Client, stranger: User, mine: Profile, common: Profile
) -> None:
    Profile.objects.create(owner=stranger, title="Theirs alone")
    for taken in ("Common", "common", mine.title):
        answer = owners.post("/settings/profiles/add/", {**GIVEN, "title": taken})
        assert answer.status_code == 400
        assert "This name is taken." in answer.content.decode()
    Profile.objects.filter(pk=mine.pk).update(title="Common")  # as two could be called before
    assert owners.post(where(mine), {**GIVEN, "title": "Common"}).status_code == 302
    assert owners.post("/settings/profiles/add/", {**GIVEN, "title": "Theirs alone"}).status_code == 302


def test_a_copy_is_not_given_the_servers_of_its_original(
    owners: Client, owner: User, common: Profile
) -> None:
    server = McpServer.objects.create(name="files", command=["serve"])
    server.profiles.add(common)
    assert not McpServer.offered_to(duplicated(owners, common)).exists()


def test_the_default_is_ones_own_choice(
    owners: Client, owner: User, stranger: User, mine: Profile, common: Profile
) -> None:
    assert owners.post(where(mine, "prefer/")).status_code == 302
    assert (Preferences.profile_of(owner), Preferences.profile_of(stranger)) == (mine, common)
    page = owners.get("/settings/profiles/").content.decode()
    assert page.count("profile-row__mark") == 1


def test_deleting_the_default_leaves_the_first_one(
    owners: Client, owner: User, mine: Profile, common: Profile
) -> None:
    Preferences.choose(owner, mine)
    assert owners.post(where(mine, "delete/")).status_code == 302
    assert Preferences.profile_of(owner) == common


def test_each_server_has_a_rule_of_its_own(owners: Client, mine: Profile) -> None:
    McpServer.objects.create(name="issues", command=["serve"])
    secluded = McpServer.objects.create(name="secluded", command=["serve"])
    secluded.profiles.add(Profile.objects.create(title="Other"))
    page = owners.get(where(mine)).content.decode()
    assert "server_issues" in page
    assert "secluded" not in page
    assert owners.post(where(mine), {**GIVEN, "server_issues": "never"}).status_code == 302
    mine.refresh_from_db()
    assert (mine.rules["issues__*"], mine.rules["files__list"]) == ("never", "run")
    page = owners.get(where(mine)).content.decode()
    assert re.search(r'name="server_issues".*?value="never" selected', page, re.DOTALL)
    assert "issues__* = never" not in page
    assert owners.post(where(mine), {**GIVEN, "server_issues": ""}).status_code == 302
    mine.refresh_from_db()
    assert "issues__*" not in mine.rules


def test_a_form_left_open_undoes_nothing(staff: Client, common: Profile) -> None:
    """It comes back with what was saved meanwhile and what was typed in it; saved again it is kept."""
    Profile.objects.filter(pk=common.pk).update(rules={"bash": "ask", "files__a": "ask", "files__b": "ask"})
    old = fields_of(staff.get(where(common)))
    restricted = {"rule_bash": "never", "single_rules": "files__a = never\r\nfiles__b = never"}
    assert staff.post(where(common), {**old, **restricted, "instructions": "Be brief."}).status_code == 302
    answer = staff.post(where(common), {**old, "colour": "violet", "name": "Ada"})
    assert answer.status_code == 400
    page = answer.content.decode()
    changed = "Instructions, Shell commands (bash), Individual tools of MCP servers"
    assert f"This was changed elsewhere while the form was open: {changed}." in page
    common.refresh_from_db()
    assert (common.colour, common.rules["bash"]) == ("blue", "never")
    shown = fields_of(answer)
    assert (shown["name"], shown["instructions"], shown["rule_bash"]) == ("Ada", "Be brief.", "never")
    assert staff.post(where(common), shown).status_code == 302
    common.refresh_from_db()
    assert (common.colour, common.name, common.instructions) == ("violet", "Ada", "Be brief.")
    assert {common.rule_for(tool) for tool in ("bash", "files__a", "files__b")} == {"never"}


def test_of_two_changes_of_a_field_the_user_decides(owners: Client, mine: Profile) -> None:
    old = fields_of(owners.get(where(mine)))
    owners.post(where(mine), {**old, "instructions": "Be brief."})
    answer = owners.post(where(mine), {**old, "instructions": "Be thorough."})
    assert "while the form was open: Instructions." in answer.content.decode()
    mine.refresh_from_db()
    assert mine.instructions == "Be brief."
    assert owners.post(where(mine), fields_of(answer)).status_code == 302
    mine.refresh_from_db()
    assert mine.instructions == "Be thorough."


def test_a_form_that_is_sent_twice_is_saved(owners: Client, mine: Profile) -> None:
    given = {**fields_of(owners.get(where(mine))), "instructions": "Be brief.", "temperature": "0.2"}
    for _time in range(2):
        assert owners.post(where(mine), given).status_code == 302


def test_the_rule_of_a_server_that_the_form_did_not_have_yet_stays(owners: Client, mine: Profile) -> None:
    old = fields_of(owners.get(where(mine)))
    McpServer.objects.create(name="issues", command=["serve"])
    newer = fields_of(owners.get(where(mine)))
    assert owners.post(where(mine), {**newer, "server_issues": "never"}).status_code == 302
    answer = owners.post(where(mine), {**old, "colour": "violet"})
    assert "while the form was open: issues." in answer.content.decode()
    assert owners.post(where(mine), fields_of(answer)).status_code == 302
    mine.refresh_from_db()
    assert (mine.colour, mine.rule_for("issues__list")) == ("violet", "never")


def test_a_server_is_not_ruled_twice(owners: Client, mine: Profile) -> None:
    McpServer.objects.create(name="github", command=["serve"])
    answer = owners.post(where(mine), {**GIVEN, "single_rules": "github__* = run"})
    assert "github__* has its own field." in answer.content.decode()


def test_preferences_are_kept(owners: Client, owner: User, mine: Profile, theirs: Profile) -> None:
    page = owners.get("/settings/preferences/").content.decode()
    assert 'name="name_conversations" id="id_name_conversations" checked' in page or "checked" in page
    assert "Theirs" not in page
    assert not Preferences.objects.exists(), "looking changes nothing"
    assert owners.post("/settings/preferences/", {"default_profile": mine.pk}).status_code == 302
    row = Preferences.objects.get()
    assert (row.user, row.default_profile, row.name_conversations) == (owner, mine, False)
    answer = owners.post("/settings/preferences/", {"default_profile": theirs.pk})
    assert answer.status_code == 400
    assert Preferences.objects.get().default_profile == mine
