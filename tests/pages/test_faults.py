"""Error pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, InterfaceError, OperationalError
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from agentsite.faults import error_page


def test_an_address_that_is_none_says_so(browser_of: Any, owner: User) -> None:
    response = browser_of(owner).get("/nowhere/")
    assert response.status_code == 404
    assert "Page not found" in response.content.decode()


def test_a_form_that_is_too_old_says_so(collected: None, owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    response = client.post("/", {"text": "Hello"})
    assert response.status_code == 403
    assert "page expired" in response.content.decode()


def test_a_fault_of_the_server_is_told_without_a_request(collected: None) -> None:
    assert "Something went wrong" in render_to_string("500.html")


def test_what_cannot_be_read_is_told_without_a_request(collected: None) -> None:
    assert "This request could not be read" in render_to_string("400.html")


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_is_said_so(collected: None, error: type[DatabaseError]) -> None:
    try:
        raise error("database or disk is full")
    except error:
        answer = error_page(RequestFactory().get("/"))
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Database unavailable" in answer.content.decode()
