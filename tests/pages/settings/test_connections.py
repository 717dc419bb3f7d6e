"""Connections in the settings: ownership, validation, and secrets that are never shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Connection, Conversation, ModelSettings, Preferences, Profile
from chat.models.connection import Secrets
from chat.models.secrets import SecretUnreadableError
from tests.pages.settings.fields import fields_of

KEY = "sk-c4n4ry-0123456789"
ADD = "/settings/connections/add/"
LIST = "/settings/connections/"
# Addresses by number: no test asks the network for a name.
PUBLIC = "https://93.184.216.34/v1"
ELSEWHERE = "https://93.184.216.35/v1"
GIVEN = {"name": "Mine", "base_url": PUBLIC, "key": KEY, "headers": "X-Org: acme-c4n4ry"}


@pytest.fixture
def staff(db: Any) -> User:
    return User.objects.create_user("staff", is_staff=True)


@pytest.fixture
def staffs(staff: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(staff)


@pytest.fixture
def mine(owner: User) -> Connection:
    """The owner's, with a key and a header."""
    row = Connection(owner=owner, name="Mine", base_url=PUBLIC)
    row.seal_secrets(Secrets(KEY, {"X-Org": "acme-c4n4ry"}))
    row.save()
    return row


def page(client: Client, where: str) -> str:
    answer = client.get(where)
    assert answer.status_code == 200
    return answer.content.decode()


def change(client: Client, row: Connection, **given: str) -> Any:
    kept = {"name": row.name, "base_url": row.base_url, "headers": "X-Org: ••••••"}
    return client.post(f"{LIST}{row.pk}/", {**kept, **given}, follow=True)


def refused(client: Client, **given: str) -> str:
    """The page with the form's errors; nothing was created."""
    answer = client.post(ADD, {**GIVEN, **given})
    assert answer.status_code == 400
    assert not Connection.objects.exists()
    return answer.content.decode()


def test_a_connection_is_its_makers_and_leads_to_its_test(owners: Client, owner: User) -> None:
    answer = owners.post(ADD, GIVEN)
    row = Connection.objects.get()
    assert answer.url == f"{LIST}{row.pk}/test/"
    assert (row.owner, row.name, row.base_url, row.inside) == (owner, "Mine", PUBLIC, False)
    assert row.unsealed_secrets == Secrets(KEY, {"X-Org": "acme-c4n4ry"})


def test_the_row_says_nothing_to_who_has_not_the_sites_key(mine: Connection) -> None:
    assert KEY not in mine.secrets
    assert "acme" not in mine.secrets
    assert KEY not in repr(mine.unsealed_secrets)


def test_secrets_are_on_no_page(owners: Client, mine: Connection) -> None:
    for where in (LIST, f"{LIST}{mine.pk}/", f"{LIST}{mine.pk}/test/"):
        shown = page(owners, where)
        assert "c4n4ry" not in shown
        assert mine.secrets not in shown
    assert "A key is set" in page(owners, f"{LIST}{mine.pk}/")
    assert "X-Org: ••••••" in page(owners, f"{LIST}{mine.pk}/")


def test_a_refused_form_keeps_all_but_the_key(owners: Client) -> None:
    shown = refused(owners, base_url="ftp://nowhere")
    assert 'value="ftp://nowhere"' in shown
    assert 'value="Mine"' in shown
    assert KEY not in shown
    assert "Enter the key again if this field is empty." in shown


def test_an_empty_key_keeps_the_one_that_is_set(owners: Client, mine: Connection) -> None:
    change(owners, mine, name="Renamed")
    mine.refresh_from_db()
    assert mine.name == "Renamed"
    assert mine.unsealed_secrets == Secrets(KEY, {"X-Org": "acme-c4n4ry"})


def test_a_form_left_open_undoes_nothing(owners: Client, mine: Connection) -> None:
    """Nor does a key that was typed for the former address go to another one."""
    address = f"{LIST}{mine.pk}/"
    old = fields_of(owners.get(address))
    assert owners.post(address, {**old, "base_url": ELSEWHERE, "headers": ""}).status_code == 302
    answer = owners.post(address, {**old, "name": "Renamed", "key": "sk-new"})
    assert "while the form was open: Address, Extra headers." in answer.content.decode()
    mine.refresh_from_db()
    assert (mine.base_url, mine.unsealed_secrets) == (ELSEWHERE, Secrets())
    assert owners.post(address, {**fields_of(answer), "key": ""}).status_code == 302
    mine.refresh_from_db()
    assert (mine.name, mine.base_url) == ("Renamed", ELSEWHERE)


def test_a_key_is_forgotten_when_that_is_ticked(owners: Client, mine: Connection) -> None:
    change(owners, mine, forget_key="on", headers="")
    mine.refresh_from_db()
    assert mine.unsealed_secrets == Secrets()
    assert mine.secrets == ""


@pytest.mark.parametrize("url", ["https://93.184.216.35/v1", "https://93.184.216.34:8443/v1"])
def test_another_origin_lets_the_secrets_go_and_says_so(owners: Client, mine: Connection, url: str) -> None:
    answer = change(owners, mine, base_url=url)
    assert "were removed" in answer.content.decode()
    mine.refresh_from_db()
    assert (mine.base_url, mine.unsealed_secrets) == (url, Secrets())


def test_another_path_or_another_spelling_is_the_same_origin(owners: Client, mine: Connection) -> None:
    change(owners, mine, base_url="https://93.184.216.34:443/v2/")
    mine.refresh_from_db()
    assert mine.unsealed_secrets.key == KEY


def test_a_new_key_goes_with_another_origin_but_no_old_header(owners: Client, mine: Connection) -> None:
    change(owners, mine, base_url="https://93.184.216.35/v1", key="sk-new", headers="X-Org: ••••••\nX-New: 1")
    mine.refresh_from_db()
    assert mine.unsealed_secrets == Secrets("sk-new", {"X-New": "1"})


def test_an_address_that_was_changed_behind_our_back_gets_no_key(owners: Client, mine: Connection) -> None:
    Connection.objects.update(base_url="https://93.184.216.99/v1")
    mine.refresh_from_db()
    with pytest.raises(SecretUnreadableError):
        _ = mine.unsealed_secrets
    assert "can no longer be read" in page(owners, f"{LIST}{mine.pk}/")
    assert "Enter the key again" in page(owners, f"{LIST}{mine.pk}/test/")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://93.184.216.34/v1", "Use https"),
        ("https://localhost:11434/v1", "which only staff can set up"),
        ("https://127.1/v1", "which only staff can set up"),
        ("https://2130706433/v1", "which only staff can set up"),
        ("https://[::ffff:10.0.0.1]/v1", "which only staff can set up"),
        ("https://192.168.1.1/v1", "which only staff can set up"),
        ("https://169.254.169.254/latest", "This address cannot be used"),
        ("https://[::ffff:a9fe:a9fe]/", "This address cannot be used"),
        ("https://name:word@93.184.216.34/", "belong in a header"),
        ("https://", "Enter an http or https address"),
        ("https://93.184.216.34:99999/", "Enter an http or https address"),
        ("", "This field is required"),
    ],
)
def test_where_a_person_may_not_lead(owners: Client, url: str, said: str) -> None:
    assert said in refused(owners, base_url=url, inside="on")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("key", "two words", "without spaces"),
        ("key", "schlüssel", "without spaces"),
        ("headers", "no colon", "has no colon"),
        ("headers", "Host: evil", "Host cannot be set as a header"),
        ("headers", "X-Org: ••••••", "X-Org has no value"),
        ("headers", "X-Org: grün", "must be plain text"),
    ],
)
def test_what_is_no_key_and_no_header(owners: Client, name: str, value: str, said: str) -> None:
    assert said in refused(owners, **{name: value})


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("localhost:1234/v1", "http://localhost:1234/v1"),
        ("93.184.216.34/v1", "https://93.184.216.34/v1"),
    ],
)
def test_without_a_scheme_this_network_is_asked_over_http(staffs: Client, typed: str, kept: str) -> None:
    assert staffs.post(ADD, {"name": "", "base_url": typed, "inside": "on"}).status_code == 302
    assert Connection.objects.get().base_url == kept


def test_staff_may_lead_inside_and_open_it_to_everyone(staffs: Client) -> None:
    local = {"name": "", "base_url": "http://127.0.0.1:11434", "inside": "on", "everyones": "on"}
    assert staffs.post(ADD, local).status_code == 302
    row = Connection.objects.get()
    assert (row.owner, row.inside) == (None, True)
    assert (row.name, row.base_url) == ("127.0.0.1:11434", "http://127.0.0.1:11434/v1")


def test_staff_is_told_what_to_tick(staffs: Client) -> None:
    assert "Tick “Allow a local address”" in refused(staffs, base_url="http://127.0.0.1:11434/v1")


def test_nobody_may_lead_to_where_clouds_keep_credentials(staffs: Client) -> None:
    assert "This address cannot be used" in refused(staffs, base_url="http://169.254.169.254/", inside="on")


def test_who_is_staff_no_more_leads_inside_no_more(staff: User, staffs: Client) -> None:
    row = Connection.objects.create(owner=staff, name="L", base_url="http://127.0.0.1:1/v1", inside=True)
    assert row.may_reach_inside
    staff.is_staff = False
    staff.save()
    assert not Connection.objects.get().may_reach_inside


def test_the_sites_connection_is_offered_to_all_and_changed_by_staff(owners: Client, staffs: Client) -> None:
    row = Connection.objects.create(name="Everybody’s", base_url=PUBLIC)
    assert "Everybody’s" in page(owners, LIST)
    for where in (f"{LIST}{row.pk}/", f"{LIST}{row.pk}/test/"):
        assert owners.get(where).status_code == 404
        assert staffs.get(where).status_code == 200
    assert owners.post(f"{LIST}{row.pk}/delete/").status_code == 404
    assert Connection.objects.exists()


def test_a_strangers_connection_is_on_no_page(strangers: Client, staffs: Client, mine: Connection) -> None:
    for client in (strangers, staffs):
        assert not re.search(r"\bMine\b", page(client, LIST))  # a token may have these letters in it
        for what in ("", "test/", "delete/", "use/"):
            assert client.post(f"{LIST}{mine.pk}/{what}", GIVEN).status_code == 404
    mine.refresh_from_db()
    assert mine.unsealed_secrets.key == KEY


def test_deleting(owners: Client, mine: Connection) -> None:
    answer = owners.post(f"{LIST}{mine.pk}/delete/", follow=True)
    assert "“Mine” deleted." in answer.content.decode()
    assert not Connection.objects.exists()


def test_the_question_names_the_conversations_that_chose_its_models(
    owners: Client, owner: User, stranger: User, mine: Connection
) -> None:
    model = ModelSettings.objects.create(connection=mine, model="m")
    assert "for another model" not in page(owners, f"{LIST}{mine.pk}/")
    for user, title in ((owner, "About owls"), (owner, "About elks"), (stranger, "Of a stranger")):
        Conversation.objects.create(owner=user, title=title, model=model)
    shown = page(owners, f"{LIST}{mine.pk}/")
    assert "3 conversations use it and will ask for another model" in shown
    assert re.search("message: “About (elks”, “About owls|owls”, “About elks)”.", shown)
    assert "Of a stranger" not in shown
    owners.post(f"{LIST}{mine.pk}/delete/")
    assert {each.missing_model for each in Conversation.objects.all()} == {"m"}


def test_what_profiles_use_is_not_deleted(owners: Client, owner: User, mine: Connection) -> None:
    Profile.objects.create(title="Coder", owner=owner, connection=mine, model="m")
    answer = owners.post(f"{LIST}{mine.pk}/delete/", follow=True)
    assert "Used by these profiles: Coder." in answer.content.decode()
    assert Connection.objects.exists()


def test_what_others_profiles_use_stays_everyones(staffs: Client, owner: User) -> None:
    row = Connection.objects.create(name="Ours", base_url=PUBLIC)
    Profile.objects.create(title="Coder", owner=owner, connection=row, model="m")
    answer = staffs.post(f"{LIST}{row.pk}/", {"name": "Ours", "base_url": PUBLIC})
    assert "Other users&#x27; profiles use it." in answer.content.decode()
    row.refresh_from_db()
    assert row.owner is None


def test_the_environments_is_shown_without_its_secrets(owners: Client, settings: Any) -> None:
    settings.DEMO, settings.MODEL_NAME = False, "gpt-x"
    settings.MODEL_BASE_URL, settings.MODEL_API_KEY = f"https://me:{KEY}@models.example/v1?key={KEY}", KEY
    shown = page(owners, LIST)
    assert "https://models.example/v1" in shown
    assert "A key is set" in shown
    assert "gpt-x" in shown
    assert KEY not in shown


def test_the_environments_is_tested_by_staff_alone(owners: Client, staffs: Client, settings: Any) -> None:
    settings.MODEL_NAME = "gpt-x"
    where = f"{LIST}environment/test/"
    assert owners.get(where).status_code == 404
    assert owners.post(where).status_code == 404
    assert 'value="gpt-x"' in page(staffs, where)


def test_choosing_a_model_makes_a_profile_once(owners: Client, owner: User, mine: Connection) -> None:
    for _time in range(2):
        assert owners.post(f"{LIST}{mine.pk}/use/", {"model": "maker/large-1"}).url == "/"
    profile = Profile.objects.get(owner=owner)
    assert (profile.title, profile.model, profile.connection) == ("large-1", "maker/large-1", mine)
    assert owner.chat_preferences.default_profile == profile


def test_staff_can_have_everyone_use_a_model(
    staffs: Client, owners: Client, staff: User, mine: Connection
) -> None:
    Connection.objects.update(owner=staff)
    other = Connection.objects.create(name="Other", base_url=PUBLIC)
    apart = Profile.objects.create(title="Apart", connection=other, model="m")
    own = Profile.objects.create(title="Own", owner=staff)
    everyones = list(Profile.objects.filter(owner=None, connection=None))
    assert everyones
    assert staffs.post(f"{LIST}{mine.pk}/use/", {"model": "large", "everyone": "on"}).url == "/"
    for profile in everyones:
        profile.refresh_from_db()
        assert (profile.connection, profile.model) == (mine, "large")
    for profile, connection in ((apart, other), (own, None)):
        profile.refresh_from_db()
        assert profile.connection == connection
    mine.refresh_from_db()
    assert mine.owner is None
    assert Preferences.of(staff).default_profile in everyones
    assert list(Profile.objects.filter(owner=staff)) == [own]


def test_others_cannot_have_everyone_use_theirs(owners: Client, owner: User, mine: Connection) -> None:
    owners.post(f"{LIST}{mine.pk}/use/", {"model": "large", "everyone": "on"})
    assert Connection.objects.get().owner == owner
    assert not Profile.objects.filter(owner=None).exclude(connection=None).exists()


def test_connections_can_be_left_to_the_staff(
    owners: Client, staffs: Client, mine: Connection, settings: Any
) -> None:
    settings.USER_CONNECTIONS = False
    assert ADD not in page(owners, LIST)
    for where in (ADD, f"{LIST}{mine.pk}/"):
        assert owners.get(where).status_code == 404
        assert owners.post(where, GIVEN).status_code == 404
    assert staffs.get(ADD).status_code == 200


def test_every_model_of_the_environment_has_settings(owners: Client, staffs: Client, settings: Any) -> None:
    settings.DEMO, settings.MODEL_NAME = False, "gpt-x"
    ModelSettings.objects.create(model="gpt-y")
    assert "gpt-x</a>" not in page(owners, LIST), "for administrators only"
    shown = page(staffs, LIST)
    links = re.findall(rf'<a href="({LIST}environment/model/[^"]+)">', shown)
    assert links == [f"{LIST}environment/model/?name={name}" for name in ("gpt-x", "gpt-y")]
    assert f'action="{LIST}environment/model/"' in shown
    assert [staffs.get(link).status_code for link in links] == [200, 200]
