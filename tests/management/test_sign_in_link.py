"""`manage.py sign-in-link`: a new way in while the site runs."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from tests.management.site import Site
from tests.serving import serving


def printed(*words: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("sign-in-link", *words, stdout=out)
    return out.getvalue()


def link_in(written: str) -> str:
    [line] = [line for line in written.splitlines() if line.startswith("Sign in: ")]
    return line.removeprefix("Sign in: ")


def test_it_lets_the_owner_in_while_the_site_runs(site: Site) -> None:
    with serving() as served:
        site.settings |= {"DATA_DIR": str(served.data), "DATABASE_URL": "", "PORT": str(served.port)}
        link = link_in(site.run("sign-in-link").stdout)
        assert link.startswith(f"{served.address}/sign-in/")
        assert link != served.link
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with opener.open(link, timeout=30) as page:
            assert page.url == f"{served.address}/"
        with pytest.raises(urllib.error.HTTPError, match="410"):
            urllib.request.urlopen(link, timeout=30)


@pytest.mark.parametrize(
    ("given", "words", "address"),
    [
        ({"BIND": "0.0.0.0"}, [], "http://127.0.0.1:8123"),
        ({"TRUSTED_ORIGINS": ["https://chat.example.org"]}, [], "https://chat.example.org"),
        ({}, ["--address", "https://other.example.org/"], "https://other.example.org"),
    ],
)
def test_it_is_for_a_user_and_an_address(
    db: None, collected: None, settings: Any, given: dict[str, Any], words: list[str], address: str
) -> None:
    User.objects.create_user("amy")
    for name, value in ({"PORT": 8123} | given).items():
        setattr(settings, name, value)
    link = link_in(printed("amy", *words))
    assert link.startswith(f"{address}/sign-in/")
    browser = Client()
    assert browser.get(link.removeprefix(address)).status_code == 302
    assert browser.get("/").context["user"].username == "amy"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gone"], "No active user is called 'gone'."),
        (["nobody"], "No active user is called 'nobody'."),
        (["--address", "chat.org"], "--address must begin with http:// or https://, not be 'chat.org'."),
    ],
)
def test_who_cannot_sign_in_gets_none(db: None, words: list[str], sentence: str) -> None:
    User.objects.create_user("gone", is_active=False)
    with pytest.raises(CommandError) as refused:
        printed(*words)
    assert str(refused.value) == sentence


def test_a_site_that_never_ran_has_none(site: Site, tmp_path: Path) -> None:
    site.settings |= {"DATABASE_URL": f"sqlite:///{tmp_path}/none.sqlite3"}
    refused = site.run("sign-in-link")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "The database is not ready" in refused.stderr
    assert "Traceback" not in refused.stderr
