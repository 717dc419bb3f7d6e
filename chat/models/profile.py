"""Profiles: how an agent is set up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class Profile(models.Model):
    """Name, instructions, model and todo policy of an agent."""

    class Policy(models.TextChoices):
        FOCUSED = "focused", _("Focused: three states, says what it is doing")
        LEAN = "lean", _("Lean: open or done, fewest calls")
        CHECKLIST = "checklist", _("Checklist: the model numbers its items")

    class Language(models.TextChoices):
        ENGLISH = "en", "English"
        CHINESE = "zh", "中文"

    title = models.CharField(_("title"), max_length=80, help_text=_("What the composer calls it."))
    name = models.CharField(_("agent's name"), max_length=80, blank=True)
    instructions = models.TextField(_("instructions"), blank=True)
    model = models.CharField(
        _("model"), max_length=200, blank=True, help_text=_("Empty: the one that OPENAI_MODEL names.")
    )
    todo_policy = models.CharField(_("todo policy"), max_length=20, choices=Policy, default=Policy.FOCUSED)
    max_todos = models.PositiveSmallIntegerField(
        _("most todos"), default=20, validators=[MinValueValidator(1), MaxValueValidator(200)]
    )
    remind_after = models.PositiveSmallIntegerField(
        _("rounds before a reminder"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Empty: the policy's own number."),
    )
    language = models.CharField(_("language"), max_length=10, choices=Language, default=Language.ENGLISH)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="profiles",
        help_text=_("Empty: everyone may choose it."),
    )
    position = models.PositiveSmallIntegerField(_("position"), default=100)

    class Meta:
        verbose_name = _("profile")
        verbose_name_plural = _("profiles")
        ordering = ["position", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(todo_policy__in=["focused", "lean", "checklist"]), name="profile_policy_known"
            ),
            models.CheckConstraint(condition=Q(language__in=["en", "zh"]), name="profile_language_known"),
        ]

    def __str__(self) -> str:
        return self.title

    @classmethod
    def offered_to(cls, user: AbstractBaseUser | AnonymousUser) -> QuerySet[Profile]:
        """The profiles that the user may choose, the first one first: everybody's, and their own."""
        return cls.objects.filter(Q(owner=None) | Q(owner_id=user.pk))
