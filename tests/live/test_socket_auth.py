"""Sockets close when their session ends, at once if this site ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.http import SimpleCookie
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chat.live import page_consumer
from chat.live.socket_auth import signed_in_users
from tests.live.site import Site, Tab

AT_ONCE = 5.0  # seconds at most on a busy machine; the periodic check comes after 8
ENDS: dict[str, Callable[[User], Any]] = {
    "another password": lambda user: (user.set_password("another"), user.save()),
    "deactivated": lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
    "deleted": lambda user: user.delete(),
}


async def closed(tab: Tab, within: float) -> None:
    """Receive until the socket is closed; raises TimeoutError when that takes longer."""
    while (message := await tab.socket.receive_output(within))["type"] != "websocket.close":
        pass
    assert message["code"] == page_consumer.CLOSE_NOT_FOUND


async def stays(site: Site, tab: Tab) -> None:
    """The socket still takes what its user says."""
    await tab.send(" ")
    assert await tab.said("refused")


def browser_of(tab: Tab) -> Client:
    """A client with the session that the socket was opened in."""
    [cookie] = [value for name, value in tab.socket.scope["headers"] if name == b"cookie"]
    client = Client()
    client.cookies = SimpleCookie(cookie.decode())
    return client


def signed_in_as(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("end", ["another password", "deactivated"])
async def test_nothing_is_taken_over_a_socket_whose_session_has_ended(site: Site, end: str) -> None:
    conversation = await site.conversation()
    tab = await site.open(conversation)
    await sync_to_async(ENDS[end])(site.user)
    await tab.send("touch stolen.txt")
    await closed(tab, 5)
    assert await conversation.turns.acount() == 0


@pytest.mark.parametrize("end", sorted(ENDS))
async def test_the_periodic_check_closes_sockets_whose_session_has_ended(
    site: Site, stranger: User, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `manage.py changepassword`, which reaches no channel layer of the site's."""
    assert page_consumer.SESSION_CHECK_INTERVAL < 9
    monkeypatch.setattr(page_consumer, "SESSION_CHECK_INTERVAL", 0.1)
    tabs = [await site.open(await site.conversation()), await site.board()]
    others = await site.board(stranger)
    await sync_to_async(ENDS[end])(site.user)
    for tab in tabs:
        await closed(tab, 5)
    while not await others.socket.receive_nothing(0.5):
        assert (await others.socket.receive_output())["type"] == "websocket.send", "at most a heartbeat"


async def test_signing_out_closes_the_sockets_of_that_session_at_once(site: Site) -> None:
    tabs = [await site.open(await site.conversation()), await site.board()]
    other = await site.open(await site.conversation())
    for tab in tabs:
        await sync_to_async(browser_of(tab).post)("/accounts/logout/")
        await closed(tab, AT_ONCE)
    await stays(site, other)


async def test_the_site_checks_many_sockets_in_two_queries(site: Site, stranger: User) -> None:
    tabs = [await site.board() for _n in range(4)] + [await site.board(stranger)]

    def check() -> list[User | None]:
        sessions = [browser_of(tab).session for tab in tabs]
        users = [site.user] * 4 + [stranger]
        scopes = [{"session": session, "user": user} for session, user in zip(sessions, users, strict=True)]
        sessions[1].delete()
        scopes[2]["user"] = stranger  # a session of somebody else
        with CaptureQueriesContext(connection) as queries:
            found = signed_in_users(scopes)
        assert len(queries) == 2
        return found

    assert await sync_to_async(check)() == [site.user, None, None, site.user, stranger]


async def test_changing_the_password_closes_every_other_session_at_once(site: Site) -> None:
    own, other = await site.open(await site.conversation()), await site.board()
    browser = browser_of(own)
    form = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    answer = await sync_to_async(browser.post)("/settings/preferences/password/", form)
    assert answer.status_code == 302
    await closed(other, AT_ONCE)
    # Left to the periodic check: by then its browser has the new cookie.
    await own.socket.send_json_to({"type": "nothing"})
    assert await own.said("error")
    assert (await sync_to_async(browser.get)("/")).status_code == 200
    await own.send("Hi")
    await closed(own, AT_ONCE)


@pytest.mark.parametrize(
    ("where", "form"),
    [
        (
            "/admin/auth/user/{user}/password/",
            {
                "usable_password": "true",
                "password1": "correct horse",
                "password2": "correct horse",
                "set-password": "1",
            },
        ),
        (
            "/admin/auth/user/{user}/change/",
            {"username": "owner", "date_joined_0": "2026-01-01", "date_joined_1": "00:00"},
        ),
        ("/settings/users/{user}/access/", {"change": "deactivate"}),
        ("/settings/users/{user}/delete/", {}),
        ("/admin/auth/user/{user}/delete/", {"post": "yes"}),
        ("/admin/auth/user/", {"action": "delete_selected", "_selected_action": "{user}", "post": "yes"}),
    ],
    ids=[
        "password",
        "deactivate",
        "deactivate in the settings",
        "delete in the settings",
        "delete",
        "delete ticked",
    ],
)
async def test_what_an_administrator_does_to_a_user_closes_the_sockets_at_once(
    site: Site, where: str, form: dict[str, str]
) -> None:
    tabs = [await site.open(await site.conversation()), await site.board()]
    user = str(site.user.pk)
    data = {name: value.replace("{user}", user) for name, value in form.items()}

    def act() -> int:
        administrator = signed_in_as(User.objects.create_superuser("admin"))
        return administrator.post(where.replace("{user}", user), data).status_code

    assert await sync_to_async(act)() == 302
    for tab in tabs:
        await closed(tab, AT_ONCE)


async def test_a_change_that_ends_no_session_closes_no_socket(site: Site) -> None:
    tab = await site.open(await site.conversation())

    def act() -> int:
        administrator = signed_in_as(User.objects.create_superuser("admin"))
        form = {
            "username": "owner",
            "is_active": "on",
            "is_staff": "on",
            "date_joined_0": "2026-01-01",
            "date_joined_1": "00:00",
        }
        return administrator.post(f"/admin/auth/user/{site.user.pk}/change/", form).status_code

    assert await sync_to_async(act)() == 302
    await stays(site, tab)
