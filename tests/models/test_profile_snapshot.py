"""Profile snapshots of turns, and their use when a turn is resumed."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.connections.model_clients import UnavailableModel, model_for
from chat.models import Connection, Conversation, MessageRefused, ModelSettings, Profile, Turn
from chat.models.profile import bare_address


@pytest.fixture
def profile(owner: User) -> Profile:
    return Profile.objects.create(
        title="Careful",
        name="Ada",
        colour="violet",
        instructions="Be brief.",
        model="large",
        temperature=0.2,
        max_steps=7,
        rules={"bash": "ask"},
        owner=owner,
    )


@pytest.fixture
def conversation(owner: User, profile: Profile) -> Conversation:
    return Conversation.objects.create(owner=owner, title="Test", profile=profile)


def begun(conversation: Conversation) -> Turn:
    """A new turn, claimed."""
    turn = Turn.claim("worker", conversation.start_turn("Do it", uuid.uuid4()).pk)
    assert turn is not None
    return turn


def again(turn: Turn) -> Turn:
    """The same turn, given back and claimed by another worker."""
    turn.release()
    taken = Turn.claim("another", turn.pk)
    assert taken is not None
    return taken


def following(turn: Turn) -> Turn:
    """The turn after it."""
    turn.end(Turn.Status.COMPLETED)
    return begun(Conversation.objects.get())


def test_a_turn_that_waits_has_no_profile_yet(conversation: Conversation) -> None:
    assert conversation.start_turn("Do it", uuid.uuid4()).profile_snapshot == {}


def test_the_profile_is_written_down_as_a_turn_begins(conversation: Conversation, profile: Profile) -> None:
    turn = begun(conversation)
    kept = Turn.objects.get().profile_snapshot
    assert kept == turn.profile_snapshot
    told = {name: kept[name] for name in ("id", "title", "name", "colour", "instructions", "model")}
    assert told == {
        "id": profile.pk,
        "title": "Careful",
        "name": "Ada",
        "colour": "violet",
        "instructions": "Be brief.",
        "model": "large",
    }
    assert (kept["temperature"], kept["max_steps"], kept["rules"]) == (0.2, 7, {"bash": "ask"})
    assert (kept["since"], kept["changed"]) == (turn.pk, [])


def test_a_connection_is_named_without_its_secrets(
    conversation: Conversation, profile: Profile, owner: User
) -> None:
    address = "https://me:word@api.example/v1?key=hidden"
    profile.connection = Connection.objects.create(
        owner=owner, name="Mine", base_url=address, secrets="sealed"
    )
    profile.save()
    kept = begun(conversation).profile_snapshot
    assert kept["connection"] == {
        "id": profile.connection.pk,
        "name": "Mine",
        "address": "https://api.example/v1",
    }
    assert not [word for word in ("word", "hidden", "sealed") if word in json.dumps(kept)]


def test_the_environments_endpoint_is_written_down_too(
    conversation: Conversation, profile: Profile, settings: Any
) -> None:
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://127.0.0.1:1/v1", "small"
    Profile.objects.update(model="")
    conversation.refresh_from_db()
    kept = begun(conversation).profile_snapshot
    assert kept["connection"] == {"id": None, "name": "", "address": "http://127.0.0.1:1/v1"}
    assert (kept["model"], kept["asked"]) == ("", "small")


def test_a_deleted_profile_stays_in_the_record(conversation: Conversation, profile: Profile) -> None:
    turn = begun(conversation)
    profile.delete()
    assert Turn.objects.get(pk=turn.pk).profile_snapshot["title"] == "Careful"


def test_what_changed_between_turns_is_known(conversation: Conversation, profile: Profile) -> None:
    first = begun(conversation)
    second = following(first)
    assert (second.profile_snapshot["since"], second.profile_snapshot["changed"]) == (first.pk, [])
    Profile.objects.filter(pk=profile.pk).update(temperature=1, instructions="Be thorough.")
    third = following(second)
    assert third.profile_snapshot["since"] == third.pk
    assert third.profile_snapshot["changed"] == ["instructions", "temperature"]
    fourth = following(third)
    assert (fourth.profile_snapshot["since"], fourth.profile_snapshot["changed"]) == (third.pk, [])
    Conversation.objects.update(profile=Profile.objects.create(title="Other"))
    assert {"id", "title"} <= set(following(fourth).profile_snapshot["changed"])


def test_a_turn_that_never_began_is_passed_over(conversation: Conversation) -> None:
    first = begun(conversation)
    first.end(Turn.Status.COMPLETED)
    conversation.start_turn("Never mind", uuid.uuid4()).request_stop()
    assert begun(conversation).profile_snapshot["since"] == first.pk


def test_a_turn_goes_on_with_what_it_began_with(conversation: Conversation, profile: Profile) -> None:
    turn = begun(conversation)
    Profile.objects.update(instructions="Other", temperature=2, todo_policy="lean", model="other")
    Conversation.objects.update(profile=None)
    taken = again(turn)
    assert taken.profile_snapshot == turn.profile_snapshot
    told = taken.profile
    assert (told.instructions, told.temperature, told.todo_policy) == ("Be brief.", 0.2, "focused")
    assert (told.model, told.max_steps) == ("large", 7)


@pytest.mark.parametrize(
    ("began", "since", "holds"),
    [
        ({"bash": "run"}, {"bash": "ask"}, "ask"),
        ({"bash": "ask"}, {"bash": "never"}, "never"),
        ({"bash": "never"}, {"bash": "run"}, "never"),
        ({"bash": "ask"}, {}, "ask"),
    ],
)
def test_rules_that_became_stricter_win(
    conversation: Conversation, began: dict[str, str], since: dict[str, str], holds: str
) -> None:
    Profile.objects.update(rules=began)
    conversation.refresh_from_db()
    turn = begun(conversation)
    Profile.objects.update(rules=since)
    assert again(turn).profile.rule_for("bash") == holds


def test_stricter_rules_win_however_they_are_written(conversation: Conversation) -> None:
    Profile.objects.update(rules={"github__list": "run", "*": "run"})
    conversation.refresh_from_db()
    turn = begun(conversation)
    Profile.objects.update(rules={"github__*": "never", "*": "ask"})
    profile = again(turn).profile
    assert [profile.rule_for(tool) for tool in ("github__list", "files__list")] == ["never", "ask"]


def test_a_deleted_profile_lets_no_server_run_unasked(conversation: Conversation, profile: Profile) -> None:
    Profile.objects.update(rules={"*": "run"})
    conversation.refresh_from_db()
    turn = begun(conversation)
    profile.delete()
    assert again(turn).profile.rule_for("github__list") == "ask"


def test_where_a_connection_is_gone_todays_is_asked(
    conversation: Conversation, profile: Profile, owner: User
) -> None:
    old, new = (
        Connection.objects.create(owner=owner, name=name, base_url=f"https://{name}.example/v1")
        for name in ("old", "new")
    )
    profile.connection = old
    profile.save()
    conversation.refresh_from_db()
    turn = begun(conversation)
    assert again(turn).profile.connection == old
    Profile.objects.update(connection=new, model="new-model")
    assert turn.profile.connection == old
    old.delete()
    taken = again(Turn.objects.get()).profile
    assert (taken.connection, taken.model) == (new, "new-model")


def test_a_model_chosen_apart_from_the_profile_is_written_down(
    conversation: Conversation, profile: Profile, owner: User
) -> None:
    """The profile stays as it is; a turn that goes on keeps the model that it began with."""
    connection = Connection.objects.create(owner=owner, name="Mine", base_url="https://mine.example/v1")
    first = begun(conversation)
    conversation.choose_model(ModelSettings.objects.create(connection=connection, model="huge"))
    second = following(first)
    kept = second.profile_snapshot
    assert (kept["id"], kept["model"], kept["asked"], kept["chosen"]) == (profile.pk, "huge", "huge", True)
    assert kept["connection"]["name"] == "Mine"
    assert set(kept["changed"]) == {"model", "asked", "connection", "chosen"}
    conversation.choose_model(None)
    taken = again(second).profile
    assert (taken.title, taken.model, taken.connection, taken.temperature) == (
        "Careful",
        "huge",
        connection,
        0.2,
    )
    third = following(Turn.objects.get(pk=second.pk))
    assert (third.profile_snapshot["model"], "chosen" in third.profile_snapshot) == ("large", False)
    profile.refresh_from_db()
    assert (profile.model, profile.connection) == ("large", None)


def is_lost(profile: Profile) -> bool:
    model = model_for(profile)
    return isinstance(model, UnavailableModel) and (model.kind, model.values) == ("lost", {"name": "huge"})


def test_no_other_model_takes_the_place_of_a_chosen_one(
    conversation: Conversation, profile: Profile, owner: User, stranger: User
) -> None:
    """What was meant for one provider goes to no other, until the user has chosen one."""
    connection = Connection.objects.create(owner=owner, name="Mine", base_url="https://mine.example/v1")
    conversation.choose_model(ModelSettings.objects.create(connection=connection, model="huge"))
    queued = conversation.start_turn("now", uuid.uuid4())
    Connection.objects.update(owner=stranger)
    assert is_lost(Conversation.objects.get().profile_in_use()), "it is somebody else's"
    Connection.objects.update(owner=owner)
    connection.delete()
    taken = Turn.claim("worker", queued.pk)
    assert taken is not None
    assert is_lost(again(taken).profile), "the turn that was sent before"
    Turn.objects.get().conversation.turns.update(status=Turn.Status.FAILED)
    conversation = Conversation.objects.get()
    assert (conversation.model, conversation.missing_model) == (None, "huge")
    with pytest.raises(MessageRefused, match="chosen model huge is no longer"):
        conversation.send("and now", uuid.uuid4())
    with pytest.raises(MessageRefused, match="chosen model huge is no longer"):
        conversation.run_again(queued.pk, uuid.uuid4())
    assert conversation.turns.count() == 1
    conversation.choose_model(None)
    assert Turn.objects.get(pk=conversation.send("and now", uuid.uuid4()).pk).conversation.missing_model == ""


def test_a_turn_that_goes_on_after_its_chosen_model_went_says_so(
    conversation: Conversation, owner: User
) -> None:
    connection = Connection.objects.create(owner=owner, name="Mine", base_url="https://mine.example/v1")
    conversation.choose_model(ModelSettings.objects.create(connection=connection, model="huge"))
    turn = begun(conversation)
    connection.delete()
    assert is_lost(again(turn).profile)


def test_choosing_a_profile_leaves_the_model_that_another_tab_has_just_chosen(
    conversation: Conversation, profile: Profile
) -> None:
    Conversation.objects.get().choose_model(ModelSettings.objects.create(model="huge"))
    conversation.choose(profile)
    assert Conversation.objects.get().profile_in_use().model == "huge"


def test_a_chosen_profile_comes_with_its_model_if_the_chosen_one_is_gone(
    conversation: Conversation, profile: Profile, owner: User
) -> None:
    connection = Connection.objects.create(owner=owner, name="Mine", base_url="https://mine.example/v1")
    conversation.choose_model(ModelSettings.objects.create(connection=connection, model="huge"))
    connection.delete()
    conversation = Conversation.objects.get()
    conversation.choose(profile)
    assert (conversation.missing_model, conversation.profile_in_use().model) == ("", "large")


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://me:word@api.example:8443/v1?key=hidden#more", "https://api.example:8443/v1"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("", ""),
    ],
)
def test_an_address_is_told_without_what_may_be_secret(url: str, bare: str) -> None:
    assert bare_address(url) == bare
