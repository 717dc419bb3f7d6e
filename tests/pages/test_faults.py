"""What a person sees when something is not there, too old or broken."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client


def test_an_address_that_is_none_says_so(browser_of: Any, owner: User) -> None:
    response = browser_of(owner).get("/nowhere/")
    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()


def test_a_form_that_is_too_old_says_so(collected: None, owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    response = client.post("/", {"text": "Hello"})
    assert response.status_code == 403
    assert "too old to send from" in response.content.decode()


def test_a_fault_of_the_server_is_told_without_a_request(collected: None) -> None:
    assert "Something went wrong" in render_to_string("500.html")


def test_what_cannot_be_read_is_told_without_a_request(collected: None) -> None:
    assert "This could not be read" in render_to_string("400.html")
