"""Fixtures for all tests: a database in a file, the owner and the stranger."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.test import Client

from tests.model_server import model_server

__all__ = ["model_server"]

# How long an example took says nothing on a machine that is busy with something else.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """SQLite's test database in a file: one in memory is locked table by table."""
    test = connections.databases["default"].setdefault("TEST", {})
    test["NAME"] = str(settings.DATA_DIR / "test.sqlite3")


@pytest.fixture(scope="session")
def collected() -> None:
    """The static files, as `serve` collects them."""
    call_command("collectstatic", verbosity=0, interactive=False)


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
