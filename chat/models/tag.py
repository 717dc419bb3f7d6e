"""Tags: a user's own words for conversations."""

from __future__ import annotations

import unicodedata

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from chat.agent.storable import storable

MAX_LENGTH = 40  # characters of a word
MAX_TAGS = 200  # of one user
MAX_TAGS_OF_CONVERSATION = 20
SIGNS = ("#", "＃")  # before a word where the interface shows it, and so where users type it
_INVISIBLE = ("C", "Z")  # Unicode categories of invisible characters


class TagRefused(ValueError):  # noqa: N818 (a refusal, shown to the user)
    """The word is not a valid tag; the text tells the user why."""


class Tag(models.Model):
    """A user's word, as first written; words that differ only in case or width are the same tag.

    It exists as long as a conversation has it.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tags", db_index=False
    )
    word = models.CharField(_("word"), max_length=MAX_LENGTH)
    folded = models.TextField()

    class Meta:
        verbose_name = _("tag")
        verbose_name_plural = _("tags")
        ordering = ["folded"]
        constraints = [models.UniqueConstraint(fields=["owner", "folded"], name="tag_once")]

    def __str__(self) -> str:
        return self.word

    @classmethod
    def named(cls, owner_id: int, word: str) -> Tag | None:
        """The tag of this word, which may begin with a number sign."""
        key = folded(normalised(word))
        # Older tags may have the sign in their word.
        return (
            cls.objects.filter(owner=owner_id, folded__in={key, without_sign(key)}).order_by("folded").first()
        )

    @classmethod
    def containing(cls, owner_id: int, text: str) -> list[Tag]:
        """The tags with this text in them, which may begin with a number sign."""
        part = without_sign(folded(normalised(text)))
        return list(cls.objects.filter(owner=owner_id, folded__contains=part)) if part else []

    @classmethod
    def of(cls, owner_id: int, word: str) -> Tag:
        """The tag for this word, created if needed, in a transaction that holds `lock_owner`. Raises
        TagRefused.
        """
        word = checked(word)
        if known := cls.named(owner_id, word):
            return known
        if cls.objects.filter(owner=owner_id).count() >= MAX_TAGS:
            raise TagRefused(_("There are too many tags. Merge or delete some first."))
        return cls.objects.create(owner_id=owner_id, word=word, folded=folded(word))

    @classmethod
    def delete_unused(cls, owner_id: int) -> None:
        cls.objects.filter(owner=owner_id, conversations=None).delete()

    @staticmethod
    def lock_owner(owner_id: int) -> None:
        """Lock the user's tags until the transaction ends."""
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=owner_id)

    def rename(self, word: str) -> Tag:
        """Rename it, or merge it into the owner's tag of that word; returns the result. Raises TagRefused."""
        word = checked(word)
        with transaction.atomic():
            self.lock_owner(self.owner_id)
            other = Tag.named(self.owner_id, word)
            if other and other != self:
                self._merge_into(other)
                return other
            self.word, self.folded = word, folded(word)
            self.save(update_fields=["word", "folded"])
        return self

    def _merge_into(self, other: Tag) -> None:
        through = Tag.conversations.through
        has = through._default_manager.filter(tag=other.pk).values("conversation")
        mine = through._default_manager.filter(tag=self.pk)
        mine.exclude(conversation__in=has).update(tag=other.pk)
        self.delete()


def normalised(word: str) -> str:
    return " ".join(unicodedata.normalize("NFC", storable(word)).split())


def folded(word: str) -> str:
    """A key that is equal for different spellings of a word."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", word).casefold())


def without_sign(word: str) -> str:
    """The word without a number sign before it."""
    return word.lstrip("".join(SIGNS)).strip()


def checked(word: str) -> str:
    """The word as it is stored, without a number sign; raises TagRefused if it is invisible or too long."""
    word = without_sign(normalised(word))
    if all(unicodedata.category(each)[0] in _INVISIBLE for each in word):
        raise TagRefused(_("Enter a name for the tag."))
    if len(word) > MAX_LENGTH:
        raise TagRefused(_("A tag can have at most %s characters.") % MAX_LENGTH)
    return word
