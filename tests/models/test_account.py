"""Sign-in links: used once, within an hour, by active users; and the site's owner."""

from __future__ import annotations

import datetime

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import AccessRefused, SignInLink, change_access, site_owner
from chat.models.account import LIFETIME
from tests.models.racing import race


def test_a_link_signs_its_user_in_once(owner: User) -> None:
    token = SignInLink.issue(owner)
    assert SignInLink.redeem(token) == owner
    assert SignInLink.redeem(token) is None


def test_each_link_is_for_its_own_user(owner: User, stranger: User) -> None:
    mine, theirs = SignInLink.issue(owner), SignInLink.issue(stranger)
    assert [SignInLink.redeem(theirs), SignInLink.redeem(mine)] == [stranger, owner]


@pytest.mark.parametrize("token", ["", "nothing", "\x00", "长"])
def test_an_unknown_token_signs_nobody_in(owner: User, token: str) -> None:
    SignInLink.issue(owner)
    assert SignInLink.redeem(token) is None


def test_a_link_expires(owner: User) -> None:
    token = SignInLink.issue(owner)
    link = SignInLink.objects.get()
    assert datetime.timedelta() < link.expires_at - timezone.now() <= LIFETIME
    SignInLink.objects.update(expires_at=timezone.now())
    assert SignInLink.redeem(token) is None


def test_the_database_cannot_tell_the_token(owner: User) -> None:
    token = SignInLink.issue(owner)
    kept = SignInLink.objects.values().get()
    assert len(token) == 32
    assert len(kept["token_hash"]) == 64
    assert token not in str(kept)
    assert SignInLink.redeem(kept["token_hash"]) is None


def test_a_user_who_was_deactivated_stays_out(owner: User) -> None:
    token = SignInLink.issue(owner)
    User.objects.update(is_active=False)
    assert SignInLink.redeem(token) is None
    User.objects.update(is_active=True)
    assert SignInLink.redeem(token) is None, "the link is spent all the same"


def test_links_that_cannot_be_used_any_more_are_cleared_away(owner: User) -> None:
    SignInLink.issue(owner)
    SignInLink.objects.update(expires_at=timezone.now() - LIFETIME)
    fresh = SignInLink.issue(owner)
    assert SignInLink.objects.count() == 1
    assert SignInLink.redeem(fresh) == owner


@pytest.mark.django_db(transaction=True)
def test_of_several_who_hold_a_link_one_gets_in(owner: User) -> None:
    token = SignInLink.issue(owner)
    signed_in = race(8, lambda _n: SignInLink.redeem(token))
    assert [user for user in signed_in if user] == [owner]


@pytest.mark.django_db
def test_the_site_gets_an_owner_without_a_password() -> None:
    made = site_owner()
    assert (made.is_superuser, made.is_staff, made.has_usable_password()) == (True, True, False)
    assert site_owner() == made


def test_the_site_is_the_first_active_superusers(owner: User) -> None:
    User.objects.create_superuser("gone", is_active=False)
    first = User.objects.create_superuser("first")
    User.objects.create_superuser("second")
    assert site_owner() == first


def test_an_ordinary_user_of_that_name_is_not_made_the_owner(owner: User) -> None:
    """Somebody is called as the site's owner would be: the owner gets in, under another name."""
    made = site_owner()
    owner.refresh_from_db()
    assert made != owner
    assert made.is_superuser
    assert not owner.is_superuser


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("access", [{"is_active": False}, {"is_staff": False, "is_superuser": False}])
def test_administrators_who_turn_on_each_other_do_not_all_go(access: dict[str, bool]) -> None:
    circle = [User.objects.create_superuser(f"boss-{number}") for number in range(4)]

    def turn_on_the_next(number: int) -> bool:
        try:
            change_access(circle[number], circle[(number + 1) % 4].pk, **access)
        except AccessRefused:
            return False
        return True

    changed = race(4, turn_on_the_next)
    left = User.objects.filter(is_superuser=True, is_active=True).count()
    assert left == 4 - sum(changed)
    assert left > 0
