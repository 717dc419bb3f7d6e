"""A user's own words for conversations."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from chat.models import Conversation, Tag, TagRefused
from chat.models.tag import MAX_LENGTH, MAX_TAGS


@pytest.fixture
def conversation(owner: User) -> Conversation:
    return Conversation.objects.create(owner=owner, title="One")


def words(owner: User) -> list[str]:
    return list(Tag.objects.filter(owner=owner).values_list("word", flat=True))


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("  报告 ", "报告"),
        ("a  b\tc", "a b c"),
        ("e\u0301te\u0301", "été"),
        ("\u3000周报\u3000", "周报"),
        ("👩‍💻", "👩‍💻"),
    ],
)
def test_a_word_is_stored_composed_and_trimmed(owner: User, typed: str, stored: str) -> None:
    assert Tag.of(owner.pk, typed).word == stored


@pytest.mark.parametrize(
    "same", ["Work", "WORK", " work ", "ｗｏｒｋ"], ids=["case", "capitals", "blanks", "full width"]
)
def test_two_ways_of_writing_one_word_are_one_tag(owner: User, same: str) -> None:
    first = Tag.of(owner.pk, "work")
    assert Tag.of(owner.pk, same) == first == Tag.named(owner.pk, same)
    assert words(owner) == ["work"]


@pytest.mark.parametrize("nothing", ["", "  ", "\u200b", "\u3000", "\x00\x1f"[1:]])
def test_what_shows_nothing_is_no_tag(owner: User, nothing: str) -> None:
    with pytest.raises(TagRefused, match="Enter a name"):
        Tag.of(owner.pk, nothing)


def test_words_and_their_number_are_bounded(owner: User, stranger: User) -> None:
    Tag.of(owner.pk, "报" * MAX_LENGTH)
    with pytest.raises(TagRefused, match="at most 40 characters"):
        Tag.of(owner.pk, "报" * (MAX_LENGTH + 1))
    Tag.objects.bulk_create(
        [Tag(owner=owner, word=str(number), folded=str(number)) for number in range(MAX_TAGS - 1)]
    )
    with pytest.raises(TagRefused, match="too many tags"):
        Tag.of(owner.pk, "one more")
    assert Tag.of(owner.pk, "7").word == "7", "one that is there may be used"
    assert Tag.of(stranger.pk, "one more").word == "one more"


def test_renaming_keeps_the_conversations(owner: User, conversation: Conversation) -> None:
    tag = Tag.of(owner.pk, "wrok")
    conversation.tags.add(tag)
    assert tag.rename("Work") == tag
    assert tag.rename("WORK") == tag, "in another case it is still the same"
    assert conversation.has_tag("work")
    assert words(owner) == ["WORK"]


def test_two_tags_become_one(owner: User, conversation: Conversation) -> None:
    other = Conversation.objects.create(owner=owner, title="Two")
    bug, fault = Tag.of(owner.pk, "bug"), Tag.of(owner.pk, "Fault")
    conversation.tags.add(bug, fault)
    other.tags.add(bug)
    assert bug.rename("fault") == fault
    assert words(owner) == ["Fault"]
    assert [each.tags.get() for each in (conversation, other)] == [fault, fault]


def test_renaming_to_nothing_changes_nothing(owner: User) -> None:
    tag = Tag.of(owner.pk, "bug")
    with pytest.raises(TagRefused):
        tag.rename(" ")
    assert words(owner) == ["bug"]


def test_words_nobody_uses_are_forgotten(owner: User, stranger: User, conversation: Conversation) -> None:
    conversation.tags.add(Tag.of(owner.pk, "kept"))
    Tag.of(owner.pk, "gone")
    Tag.of(stranger.pk, "theirs")
    Tag.delete_unused(owner.pk)
    assert words(owner) == ["kept"]
    assert words(stranger) == ["theirs"]
