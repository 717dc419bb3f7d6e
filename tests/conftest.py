"""Fixtures for all tests: a database in a file, the owner and the stranger."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.db.models.signals import post_migrate
from django.dispatch import receiver
from django.test import Client
from django.utils import timezone, translation

from agentsite.static_files import collect
from chat.models import Profile
from tests.model_server import model_server
from tests.side_by_side import SideBySide, longest_first

__all__ = ["model_server"]

# How long an example took says nothing on a machine that is busy with something else.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


@pytest.hookimpl(optionalhook=True)  # where xdist is at work
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return SideBySide(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    longest_first(items)


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """SQLite's test database in a file: one in memory is locked table by table."""
    test = connections.databases["default"].setdefault("TEST", {})
    test["NAME"] = str(settings.DATA_DIR / "test.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """The same; permissions, which take long, are not made anew after each test that commits."""
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")


@receiver(post_migrate, dispatch_uid="shipped profiles")
def restore_shipped_profiles(sender: AppConfig, **_: Any) -> None:
    """What a test that commits has emptied at its end gets again what the migrations had put there."""
    if sender.label == "chat" and not Profile.objects.exists():
        for name in ("0002_first_profiles", "0005_asks_first"):
            importlib.import_module(f"chat.migrations.{name}").add(apps, None)


@pytest.fixture(autouse=True)
def no_reader_stays() -> Iterator[None]:
    """A request in this thread leaves the language and time zone of its reader behind."""
    yield
    translation.deactivate()
    timezone.deactivate()


@pytest.fixture(scope="session")
def collected() -> None:
    """The static files, as `serve` collects them."""
    collect()


@pytest.fixture
def owner(db: Any) -> User:
    return User.objects.create_user("owner")


@pytest.fixture
def stranger(db: Any) -> User:
    return User.objects.create_user("stranger")


@pytest.fixture
def browser_of(collected: None) -> Any:
    """A signed-in test client of a user."""

    def signed_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return signed_in
