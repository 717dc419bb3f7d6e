"""The choice of a profile: for a new conversation, and for the next turn of one that is there."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, Preferences, Profile, Turn
from tests.pages.routes import address


@pytest.fixture
def profiles(db: Any) -> list[Profile]:
    """The only ones there are: two for everybody."""
    Profile.objects.all().delete()
    return [Profile.objects.create(title=title, position=n) for n, title in enumerate(["First", "Second"])]


@pytest.fixture
def theirs(stranger: User) -> Profile:
    return Profile.objects.create(title="Theirs", owner=stranger)


def choose(browser: Client, conversation: Conversation, profile: object, **more: Any) -> Any:
    return browser.post(
        address("choose_profile", conversation_id=conversation.pk), {"profile": profile}, **more
    )


def offered_first(browser: Client) -> str:
    """What the first page has chosen."""
    return chosen_on(browser.get("/"))


def chosen_on(page: Any) -> str:
    html = page.content.decode()
    title = re.search(r'profile-choice__title">(\w+)<', html)
    key = re.search(r'name="profile" value="(\d+)"', html)
    assert title
    assert key
    assert Profile.objects.get(pk=key[1]).title == title[1]
    return title[1]


def test_a_choice_for_one_conversation_is_no_default(
    owners: Client, owner: User, stranger: User, profiles: list[Profile]
) -> None:
    assert offered_first(owners) == "First"
    owners.post("/", {"text": "Hello", "profile": profiles[1].pk})
    assert Conversation.objects.get().profile == profiles[1]
    assert offered_first(owners) == "First"
    owners.post("/", {"text": "A script that names none"})
    assert Conversation.objects.latest("created_at").profile == profiles[0]
    Preferences.choose(owner, profiles[1])
    assert offered_first(owners) == "Second"
    assert (Preferences.profile_of(owner), Preferences.profile_of(stranger)) == (profiles[1], profiles[0])


def test_a_refused_message_keeps_what_was_chosen(owners: Client, profiles: list[Profile]) -> None:
    page = owners.post("/", {"text": "", "profile": profiles[1].pk, "model": ":small"})
    assert page.status_code == 400
    assert chosen_on(page) == "Second"
    assert 'value=":small"' in page.content.decode()


def test_nobody_elses_profile_begins_a_conversation(
    owners: Client, profiles: list[Profile], theirs: Profile
) -> None:
    owners.post("/", {"text": "Hello", "profile": theirs.pk})
    assert Conversation.objects.get().profile == profiles[0]
    assert not Preferences.objects.exists()


def test_another_profile_can_be_chosen(
    owners: Client, conversation: Conversation, profiles: list[Profile]
) -> None:
    answer = choose(owners, conversation, profiles[1].pk)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/conversations/{conversation.pk}/")
    conversation.refresh_from_db()
    assert conversation.profile == profiles[1]
    assert not Preferences.objects.exists(), "a choice for one conversation is no default"
    page = owners.get(f"/conversations/{conversation.pk}/").content.decode()
    assert re.search(rf'value="{profiles[1].pk}" data-act aria-current="true"', page)


def test_the_pages_script_is_answered_without_a_page(
    owners: Client, conversation: Conversation, profiles: list[Profile]
) -> None:
    answer = choose(owners, conversation, profiles[1].pk, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("given", ["", "0", "nobody's", "9" * 30, "\x00"])
def test_what_is_no_profile_says_so(
    owners: Client, conversation: Conversation, profiles: list[Profile], given: str
) -> None:
    answer = choose(owners, conversation, given)
    assert answer.status_code == 400
    assert "This profile no longer exists. Choose another one." in answer.content.decode()
    assert Conversation.objects.get().profile is None


def test_nobody_elses_profile_can_be_chosen(
    owners: Client, conversation: Conversation, profiles: list[Profile], theirs: Profile
) -> None:
    assert choose(owners, conversation, theirs.pk).status_code == 400
    assert Conversation.objects.get().profile is None
    assert "Theirs" not in owners.get(f"/conversations/{conversation.pk}/").content.decode()


def test_a_turn_that_has_begun_keeps_its_profile(
    owners: Client, conversation: Conversation, profiles: list[Profile], turn: Turn
) -> None:
    running = Turn.claim("worker", turn.pk)
    assert running
    assert choose(owners, conversation, profiles[1].pk).status_code == 302
    running.release()
    again = Turn.claim("another", turn.pk)
    assert again
    assert again.profile.title == "First"


def answered(conversation: Conversation, text: str) -> Turn:
    """The next turn, completed with an answer."""
    waiting = conversation.turns.filter(status="queued").first()
    turn = Turn.claim("worker", (waiting or conversation.start_turn("Go on", uuid.uuid4())).pk)
    assert turn
    turn.messages.create(step=turn.steps.create(number=1), role="assistant", text=text)
    turn.end(Turn.Status.COMPLETED)
    return turn


def test_the_page_tells_who_answered_and_where_that_changed(
    owners: Client, conversation: Conversation, profiles: list[Profile]
) -> None:
    Profile.objects.filter(pk=profiles[1].pk).update(
        name="Ada <b>", colour="violet", instructions="Be <brief>.", temperature=0, rules={"bash": "ask"}
    )
    first = answered(conversation, "One.")
    choose(owners, conversation, profiles[1].pk)
    conversation.refresh_from_db()
    second, third = (answered(conversation, text) for text in ("Two.", "Three."))
    page = owners.get(f"/conversations/{conversation.pk}/").content.decode()
    one, two, three = page.split('<article class="turn"')[1:]
    assert "profile-change" not in one
    assert "Switched to Second" in two
    assert "profile-change" not in three
    assert f'id="turn-{first.pk}-profile"' in one
    assert f'id="turn-{second.pk}-profile"' in two
    for told in ("Ada &lt;b&gt;", "Be &lt;brief&gt;.", "bash: ask", "<dt>Temperature</dt><dd>0.0</dd>"):
        assert told in two
    assert f'popovertarget="turn-{second.pk}-profile"' in three
    assert 'data-colour="violet"' in three
    assert f'id="turn-{third.pk}-profile"' not in page, "what is the same is on the page once"


def test_a_changed_profile_is_named_with_what_changed(
    owners: Client, conversation: Conversation, profiles: list[Profile]
) -> None:
    answered(conversation, "One.")
    Profile.objects.update(temperature=1, instructions="Be long.")
    conversation.refresh_from_db()
    answered(conversation, "Two.")
    page = owners.get(f"/conversations/{conversation.pk}/").content.decode()
    assert "First was changed: instructions, temperature" in page


def test_rules_that_change_nothing_are_no_change(
    owners: Client, conversation: Conversation, profiles: list[Profile]
) -> None:
    answered(conversation, "One.")
    Profile.objects.update(rules={"bash": "run", "read_file": "run", "*": "ask"}, name="Ada")
    conversation.refresh_from_db()
    answered(conversation, "Two.")
    page = owners.get(f"/conversations/{conversation.pk}/").content.decode()
    assert "First was changed: agent&#x27;s name<" in page
    Profile.objects.update(rules={"bash": "ask", "read_file": "run"})
    conversation.refresh_from_db()
    answered(conversation, "Three.")
    assert (
        "First was changed: rules for tools"
        in owners.get(f"/conversations/{conversation.pk}/").content.decode()
    )


def test_turns_of_before_profiles_were_kept_are_shown_all_the_same(
    owners: Client, conversation: Conversation
) -> None:
    answered(conversation, "One.")
    Turn.objects.update(profile_snapshot={})
    answered(conversation, "Two.")
    page = owners.get(f"/conversations/{conversation.pk}/").content.decode()
    assert "One." in page
    assert "profile-change" not in page
    assert page.count('class="who"') == 1
