"""Conversations: first messages, validation, ownership, titles."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from pytest_django import DjangoAssertNumQueries

from chat.models import Conversation, Message, MessageRefused, Preferences, Profile, TodoRevision, Turn
from tests.models.racing import race

LIMIT = 64 * 1024


def begin(owner: User, text: str = "Hello", client_id: uuid.UUID | None = None) -> Conversation:
    return Conversation.begin(owner, text, client_id or uuid.uuid4(), None)


def test_beginning_makes_a_conversation_a_queued_turn_and_its_message(owner: User) -> None:
    profile = Profile.objects.create(title="Mine", todo_policy="lean")
    conversation = Conversation.begin(
        owner, " Look around\r\n\r\nPlease ", uuid.uuid4(), profile, "/srv/code"
    )
    turn = conversation.turns.get()
    assert (turn.status, turn.follows, turn.user_text) == ("queued", None, "Look around\n\nPlease")
    assert (conversation.title, conversation.workspace) == ("Look around", "/srv/code")
    assert (conversation.profile, conversation.updated_at) == (profile, turn.created_at)


def test_a_profile_that_is_deleted_leaves_its_conversations(owner: User) -> None:
    profile = Profile.objects.create(title="Mine")
    conversation = Conversation.begin(owner, "Hello", uuid.uuid4(), profile)
    profile.delete()
    conversation.refresh_from_db()
    assert conversation.profile is None
    assert conversation.profile_in_use() == Profile.objects.first(), "the first one that is offered"


def test_a_conversation_without_a_profile_goes_on_with_its_owners_default(
    conversation: Conversation, stranger: User
) -> None:
    mine = Profile.objects.create(title="Mine", owner=conversation.owner)
    Preferences.choose(conversation.owner, mine)
    assert conversation.profile_in_use() == mine
    theirs = Profile.objects.create(title="Theirs", owner=stranger)
    Preferences.choose(conversation.owner, theirs)
    assert conversation.profile_in_use() == Profile.objects.first(), "nobody else's is ever taken"
    conversation.profile = theirs
    assert conversation.profile_in_use() == Profile.objects.first()
    Profile.objects.all().delete()
    conversation.refresh_from_db()
    assert conversation.profile_in_use().todo_policy == "focused"


def test_the_same_client_id_begins_one_conversation(owner: User) -> None:
    client_id = uuid.uuid4()
    first = begin(owner, "Hello", client_id)
    assert begin(owner, "Hello again", client_id) == first
    assert (Conversation.objects.count(), Turn.objects.count(), Message.objects.count()) == (1, 1, 1)


def test_the_same_client_id_starts_one_turn(conversation: Conversation) -> None:
    client_id = uuid.uuid4()
    first = conversation.start_turn("Hello", client_id)
    assert conversation.start_turn("Hello again", client_id) == first
    Turn.objects.update(status="completed")
    assert conversation.start_turn("Hello", client_id) == first
    assert Message.objects.get().text == "Hello"


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_twice_at_once_begins_one_conversation(owner: User) -> None:
    client_id = uuid.uuid4()
    begun = race(8, lambda _n: begin(owner, "Hello", client_id).pk)
    assert len(set(begun)) == 1
    assert (Conversation.objects.count(), Turn.objects.count(), Message.objects.count()) == (1, 1, 1)


@pytest.mark.django_db(transaction=True)
def test_a_message_that_is_sent_twice_at_once_starts_one_turn(conversation: Conversation) -> None:
    client_id = uuid.uuid4()
    started = race(8, lambda _n: conversation.start_turn("Hello", client_id).pk)
    assert len(set(started)) == 1
    assert Message.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_messages_at_once_one_starts_a_turn(conversation: Conversation) -> None:
    def send(number: int) -> str:
        try:
            conversation.start_turn(f"Message {number}", uuid.uuid4())
        except MessageRefused as refusal:
            return str(refusal)
        return "started"

    answers = race(8, send)
    assert answers.count("started") == 1
    assert sum("still working" in answer for answer in answers) == 7
    assert Message.objects.count() == 1


def test_a_client_id_of_another_conversation_starts_nothing(owner: User) -> None:
    first, second = begin(owner), begin(owner)
    taken = first.turns.get().client_id
    with pytest.raises(MessageRefused, match="in another conversation"):
        second.start_turn("Hello", taken)


def test_a_client_id_of_another_person_leaks_nothing(owner: User, stranger: User) -> None:
    client_id = uuid.uuid4()
    secret = begin(owner, "My secret", client_id)
    with pytest.raises(MessageRefused) as caught:
        begin(stranger, "Hello", client_id)
    assert "secret" not in str(caught.value)
    assert str(secret.pk) not in str(caught.value)
    assert not Conversation.objects.visible_to(stranger).exists(), "nothing half made stays behind"
    assert Message.objects.get().text == "My secret"


@pytest.mark.parametrize("blank", ["", " ", "\n\t\r\n", "\u3000\u2028\x1c"])
def test_a_blank_message_is_refused(owner: User, conversation: Conversation, blank: str) -> None:
    for send in (lambda: begin(owner, blank), lambda: conversation.start_turn(blank, uuid.uuid4())):
        with pytest.raises(MessageRefused, match=r"^The message is empty\.$"):
            send()
    assert not Turn.objects.exists()
    assert Conversation.objects.get() == conversation


@pytest.mark.parametrize("longest", ["x" * LIMIT, "é" * (LIMIT // 2), f"  {'x' * LIMIT}\n"])
def test_a_message_of_64_kib_is_taken_and_not_a_byte_more(owner: User, longest: str) -> None:
    assert begin(owner, longest).turns.get().user_text == longest.strip()
    with pytest.raises(MessageRefused, match="longer than 64 KiB"):
        begin(owner, longest.strip() + "y")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Rename `a.py` to `b.py`\nplease", "Rename a.py to b.py"),
        ("```\ncode", "code"),
        ("```js\nlet a\n```", "let a"),
        ("~~~ python\nprint()", "print()"),
        ("---\n\n***\n> Quoted", "> Quoted"),
        ("```js```", "js"),
        ("---", "---"),
        ("`" * 300, "`" * 79 + "…"),
    ],
)
def test_a_title_has_no_marks_of_code(owner: User, text: str, title: str) -> None:
    assert begin(owner, text).title == title


@pytest.mark.parametrize("unfit", ["\x00", "\ud800"])
def test_text_that_no_database_takes_is_made_fit(owner: User, unfit: str) -> None:
    conversation = begin(owner, f"a{unfit}b")
    assert conversation.turns.get().user_text == "a\ufffdb"
    assert Conversation.objects.get().title == "a\ufffdb"
    conversation.rename(f"c{unfit}d")
    assert Conversation.objects.get().title == "c\ufffdd"


def test_a_turn_follows_the_one_before(conversation: Conversation, ended: Callable[..., Turn]) -> None:
    first, second = ended(), ended()
    assert conversation.start_turn("Third", uuid.uuid4()).follows == second
    assert (second.follows, first.follows) == (first, None)


def test_a_message_brings_its_conversation_to_the_front(owner: User) -> None:
    first, second = begin(owner), begin(owner)
    assert list(Conversation.objects.all()) == [second, first]
    Turn.objects.update(status="completed")
    first.start_turn("More", uuid.uuid4())
    assert list(Conversation.objects.all()) == [first, second]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Tidy  the \t cupboard\nand the cellar", "Tidy the cupboard"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("word " * 30, "word " * 15 + "word…"),
        ("一" * 200, "一" * 79 + "…"),
        ("first\u2028second", "first"),
        ("## The `plan`\nfirst", "The plan"),
        ("#1 is the first", "#1 is the first"),
    ],
)
def test_the_title_is_the_first_line(owner: User, text: str, title: str) -> None:
    assert begin(owner, text).title == title


def test_renaming(conversation: Conversation) -> None:
    conversation.rename("  A better\n name ")
    assert Conversation.objects.get().title == "A better name"
    conversation.rename(" \n ")
    assert Conversation.objects.get().title == "A better name"
    conversation.rename("长" * 300)
    assert Conversation.objects.get().title == "长" * 200


def test_people_see_what_is_theirs(owner: User, stranger: User) -> None:
    mine, theirs = begin(owner), begin(stranger)
    assert list(Conversation.objects.visible_to(owner)) == [mine]
    assert list(Conversation.objects.visible_to(stranger)) == [theirs]
    assert not Conversation.objects.visible_to(AnonymousUser()).exists()


def test_fifty_rows_with_their_plans_are_two_queries(
    owner: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(52):
        conversation = begin(owner, f"Number {number}")
        for done in range(number % 3):
            conversation.revisions.create(turn=conversation.turns.get(), items=items(done, 2))
    with django_assert_num_queries(2):
        rows = Conversation.objects.visible_to(owner).listed(1, 51)
        plans = [(row.plan.done, row.plan.total) if row.plan else None for row in rows]
    assert [row.title for row in rows] == [f"Number {number}" for number in range(50, 0, -1)]
    latest = [None, (0, 2), (1, 2)]
    assert plans == [latest[number % 3] for number in range(50, 0, -1)]


def test_a_revision_counts_its_items(running: Turn) -> None:
    conversation = running.conversation
    assert conversation.revision() is None
    conversation.revisions.create(turn=running, items=items(2, 5))
    counted = TodoRevision.objects.get()
    assert (counted.done, counted.total, str(counted)) == (2, 5, "2/5")
    conversation.revisions.create(turn=running, items=[])
    latest = conversation.revision()
    assert latest is not None
    assert (latest.done, latest.total) == (0, 0)


def test_deleting_takes_every_row_along(owner: User, running: Turn) -> None:
    step = running.steps.create(number=1)
    call = running.tool_calls.create(step=step, index=0, call_id="a", name="TodoWrite")
    running.conversation.revisions.create(turn=running, tool_call=call, items=items(0, 1))
    running.conversation.delete()
    assert not Turn.objects.exists()
    assert not TodoRevision.objects.exists()


def test_a_conversation_is_as_old_as_its_last_message(conversation: Conversation, turn: Turn) -> None:
    conversation.refresh_from_db()
    assert conversation.updated_at == turn.created_at
    assert conversation.updated_at - conversation.created_at < datetime.timedelta(minutes=1)


def items(done: int, total: int) -> list[dict[str, str]]:
    states = ["completed"] * done + ["pending"] * (total - done)
    return [{"id": str(n), "content": f"Item {n}", "status": state} for n, state in enumerate(states)]


def test_so_many_turns_of_a_user_are_queued_and_no_more(owner: User, stranger: User, settings: Any) -> None:
    settings.MAX_QUEUED_PER_USER = 3
    sentence = "You already have 3 messages waiting for the agent. Wait for one to start, or stop some."
    conversations = [begin(owner) for _ in range(3)]
    for refused in (
        lambda: begin(owner),
        lambda: Conversation.objects.create(owner=owner).send("Hi", uuid.uuid4()),
    ):
        with pytest.raises(MessageRefused) as caught:
            refused()
        assert str(caught.value) == sentence
    assert owner.conversations.count() == 4, "a conversation that is refused is not made"
    begin(stranger)
    assert conversations[0].send("And this", uuid.uuid4()).status == "held", "follow-ups have their own bound"
    turn = conversations[0].turns.get()
    assert conversations[0].start_turn(turn.user_text, turn.client_id) == turn, "sent again, it is known"
    claimed = Turn.claim("worker", turn.pk)
    assert claimed is not None
    begin(owner)
    following = claimed.end(Turn.Status.COMPLETED)
    assert following is not None, "what was taken once is not refused later"
    assert following.status == "queued"


@pytest.mark.django_db(transaction=True)
def test_new_conversations_at_the_same_moment_keep_to_the_bound(owner: User, settings: Any) -> None:
    settings.MAX_QUEUED_PER_USER = 3

    def attempt(_number: int) -> bool:
        try:
            return bool(begin(owner))
        except MessageRefused:
            return False

    assert sum(race(8, attempt)) == 3
    assert Turn.objects.count() == owner.conversations.count() == 3
