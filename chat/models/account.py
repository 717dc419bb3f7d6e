"""Accounts: the site's owner, sign-in links, preferences, and the language and time zone of a user."""

from __future__ import annotations

import datetime
import hashlib
import secrets
import zoneinfo
from dataclasses import dataclass
from functools import cache
from itertools import chain, count
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chat.models.profile import Profile

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


OWNER = "owner"


def site_owner() -> User:
    """The first active superuser; created without a password if there is none."""
    users = get_user_model()
    owner = users.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return owner or users.objects.create_superuser(_free_name(), password=None)


def _free_name() -> str:
    names = chain([OWNER], (f"{OWNER}-{number}" for number in count(2)))
    return next(name for name in names if not get_user_model().objects.filter(username=name).exists())


class AccessRefused(ValueError):  # noqa: N818 (a refusal, shown to the user)
    """A change of access that is not made; the message is for the user who asked for it."""


@transaction.atomic
def change_access(by: User, user_id: int, **access: bool) -> User:
    """Set `is_active`, `is_staff` or `is_superuser` of somebody else; deactivation ends their sessions.

    Raises AccessRefused, and DoesNotExist if there is no such user.
    """
    if by.pk == user_id:
        raise AccessRefused(gettext("You cannot change your own access."))
    users = get_user_model().objects.select_for_update(no_key=True)
    superusers = Q(is_superuser=True, is_active=True)
    # All are locked, so that of two who demote each other the second is no superuser any more: whoever
    # makes a change is one and stays one, so the last cannot be lost.
    locked = {user.pk: user for user in users.filter(superusers | Q(pk=user_id)).order_by("pk")}
    if by.pk not in locked:
        raise AccessRefused(gettext("You are no longer an administrator."))
    user = locked.get(user_id)
    if user is None:
        raise get_user_model().DoesNotExist
    for name, value in access.items():
        setattr(user, name, value)
    user.save(update_fields=list(access))
    if not user.is_active:
        end_sessions(user)
    return user


def end_sessions(user: User) -> None:
    """Delete sessions and sign-in links, or they would work again after a reactivation."""
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.get_decoded().get(SESSION_KEY) == str(user.pk):
            session.delete()
    user.sign_in_links.all().delete()


LIFETIME = datetime.timedelta(hours=1)


class SignInLink(models.Model):
    """Signs its user in once, within an hour. Only the token's hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links")
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("sign-in link")
        verbose_name_plural = _("sign-in links")

    def __str__(self) -> str:
        return f"sign-in link for {self.user}"

    @classmethod
    def issue(cls, user: User) -> str:
        """A new token for the user; deletes expired ones."""
        cls.objects.filter(expires_at__lt=timezone.now()).delete()
        token = secrets.token_urlsafe(24)
        cls.objects.create(user=user, token_hash=_hash(token), expires_at=timezone.now() + LIFETIME)
        return token

    @classmethod
    def redeem(cls, token: str) -> User | None:
        """The user whom the token signs in, once; None if it is used, expired or unknown."""
        if not cls._valid(token).update(used_at=timezone.now()):
            return None
        user = cls.objects.select_related("user").get(token_hash=_hash(token)).user
        return user if user.is_active else None

    @classmethod
    def user_of(cls, token: str) -> User | None:
        """The user whom `redeem` would return."""
        link = cls._valid(token).select_related("user").filter(user__is_active=True).first()
        return link.user if link else None

    @classmethod
    def _valid(cls, token: str) -> models.QuerySet[SignInLink]:
        return cls.objects.filter(token_hash=_hash(token), used_at=None, expires_at__gt=timezone.now())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Preferences(models.Model):
    """A user's preferences; without a row the defaults apply.

    An empty language, theme or time zone is that of the browser. Of the browser that was used last, language
    and time zone are kept for what no browser asks for, such as the frames of a worker.
    """

    class Theme(models.TextChoices):
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="chat_preferences"
    )
    default_profile = models.ForeignKey(
        Profile, verbose_name=_("default profile"), on_delete=models.SET_NULL, null=True, blank=True
    )
    name_conversations = models.BooleanField(
        _("let the model name conversations"),
        default=True,
        help_text=_(
            "Uses one short request after the first turn. Otherwise the first line becomes the title."
        ),
    )

    language = models.CharField(_("language"), max_length=10, blank=True, choices=settings.LANGUAGES)
    theme = models.CharField(_("theme"), max_length=10, blank=True, choices=Theme.choices)
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True)
    browser_language = models.CharField(max_length=10, blank=True, editable=False)
    browser_time_zone = models.CharField(max_length=64, blank=True, editable=False)

    class Meta:
        verbose_name = _("preferences")
        verbose_name_plural = _("preferences")

    def __str__(self) -> str:
        return f"preferences of user {self.user_id}"

    @classmethod
    def of(cls, user: User | AnonymousUser) -> Preferences:
        """The user's row, or an unsaved one. Reads the database unless it was read with the user."""
        row: Preferences | None = getattr(user, "chat_preferences", None)
        return row or cls()

    @classmethod
    def keep_browser(cls, user: User, language: str, time_zone: str) -> None:
        values = {"browser_language": language, "browser_time_zone": time_zone}
        user.chat_preferences, _created = cls.objects.update_or_create(user=user, defaults=values)

    @classmethod
    def profile_of(cls, user: User) -> Profile | None:
        """The default profile of the user's new conversations; None if none is offered."""
        preferred = Exists(cls.objects.filter(user=user, default_profile=OuterRef("pk")))
        return Profile.offered_to(user).order_by(preferred.desc(), "position", "pk").first()

    @classmethod
    def choose(cls, user: User, profile: Profile) -> None:
        cls.objects.update_or_create(user=user, defaults={"default_profile": profile})


@cache
def time_zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


@dataclass(frozen=True)
class Reader:
    """The language and time zone in which something is rendered for a user."""

    language: str
    time_zone: str

    @classmethod
    def of(cls, user: User | AnonymousUser, accepted: str = "") -> Reader:
        """`accepted` is the language that the user's browser asks for; "" if no browser asks."""
        chosen = Preferences.of(user)
        language = chosen.language or accepted or chosen.browser_language or settings.LANGUAGE_CODE
        zone = chosen.time_zone or chosen.browser_time_zone
        return cls(language, zone if zone in time_zones() else settings.TIME_ZONE)

    def day_of(self, moment: datetime.datetime) -> datetime.date:
        return timezone.localdate(moment, timezone=zoneinfo.ZoneInfo(self.time_zone))

    def today(self) -> datetime.date:
        return self.day_of(timezone.now())

    def activate(self) -> None:
        """Render for this reader in the current task, and in the calls and tasks that it starts."""
        translation.activate(self.language)
        timezone.activate(self.time_zone)
