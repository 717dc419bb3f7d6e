"""Tags: a person's own words for conversations."""

from __future__ import annotations

import unicodedata

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from chat.models.text import clean

LONGEST = 40  # characters of a word
MOST = 200  # words of one person
MOST_OF_ONE = 20  # words of one conversation
_INVISIBLE = ("C", "Z")  # Unicode's general categories of what shows nothing


class TagRefused(ValueError):  # noqa: N818 (a refusal, told to the person who typed the word)
    """The word is no tag; the text says why, to the person who typed it."""


class Tag(models.Model):
    """A word of its owner's, written as at first; two that differ in case or width alone are one.

    It is there for as long as a conversation has it.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tags", db_index=False
    )
    word = models.CharField(_("word"), max_length=LONGEST)
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
        """The owner's tag of that word, however it is written; None if there is none."""
        return cls.objects.filter(owner=owner_id, folded=folded(normalised(word))).first()

    @classmethod
    def of(cls, owner_id: int, word: str) -> Tag:
        """The owner's tag of that word, made if there is none, in a transaction that holds `keep_still`.

        Raises TagRefused for a word that is blank or too long, and beyond the number that a person may have.
        """
        word = checked(word)
        if known := cls.named(owner_id, word):
            return known
        if cls.objects.filter(owner=owner_id).count() >= MOST:
            raise TagRefused(_("There are too many tags. Merge or delete some first."))
        return cls.objects.create(owner_id=owner_id, word=word, folded=folded(word))

    @classmethod
    def delete_unused(cls, owner_id: int) -> None:
        """Forget the words that no conversation has any more."""
        cls.objects.filter(owner=owner_id, conversations=None).delete()

    @staticmethod
    def lock_owner(owner_id: int) -> None:
        """Let nobody else change the person's tags until the transaction ends."""
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=owner_id)

    def rename(self, word: str) -> Tag:
        """Call it otherwise; where the owner has a tag of that word, the two become that one, which is given.

        Raises TagRefused for a word that is none.
        """
        word = checked(word)
        with transaction.atomic():
            self.lock_owner(self.owner_id)
            other = Tag.named(self.owner_id, word)
            if other and other != self:
                self._become(other)
                return other
            self.word, self.folded = word, folded(word)
            self.save(update_fields=["word", "folded"])
        return self

    def _become(self, other: Tag) -> None:
        through = Tag.conversations.through
        has = through._default_manager.filter(tag=other.pk).values("conversation")
        mine = through._default_manager.filter(tag=self.pk)
        mine.exclude(conversation__in=has).update(tag=other.pk)
        self.delete()


def normalised(word: str) -> str:
    """The word in Unicode's composed form, with single blanks inside and none around it."""
    return " ".join(unicodedata.normalize("NFC", clean(word)).split())


def folded(word: str) -> str:
    """What two ways of writing one word have in common."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", word).casefold())


def checked(word: str) -> str:
    """The word as it is stored; raises TagRefused for one that shows nothing or is too long."""
    word = normalised(word)
    if all(unicodedata.category(each)[0] in _INVISIBLE for each in word):
        raise TagRefused(_("Enter a name for the tag."))
    if len(word) > LONGEST:
        raise TagRefused(_("A tag can have at most %s characters.") % LONGEST)
    return word
