"""A GET changes no row, whatever it asks for: a hostile page, a previewer or a prefetch may send one."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import Connection, Conversation, Profile, ShareLink, Turn
from tests.pages.routes import address, routes

EXCEPT = {"sign_in"}  # the link is printed to be opened, and spent by it: test_sign_in.py
EXCEPT |= {"offered_models"}  # asks an endpoint: settings/test_model_settings.py
EXCEPT |= {
    "plan_figures",
    "plan_figures_file",
}  # they keep counts of what the record has, made when first shown
EXCEPT |= {name for name in routes() if name.startswith("admin:")}  # Django's own
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


def test_no_get_and_no_head_writes(
    owner: User, conversation: Conversation, failed: Turn, collected: None
) -> None:
    User.objects.update(is_staff=True)
    conversation.mark_unseen(failed)
    connected = Connection.objects.create(owner=owner, name="Mine", base_url="http://127.0.0.1:9/v1")
    profile = Profile.objects.create(owner=owner, title="Mine", name="Mine")
    given: dict[str, Any] = {
        "conversation_id": conversation.pk,
        "turn_id": failed.pk,
        "connection_id": connected.pk,
        "profile_id": profile.pk,
        "token": ShareLink.make(conversation, timezone.now() + datetime.timedelta(days=1)).token,
    }
    browser = Client()
    browser.force_login(owner)
    answered: dict[str, int] = {}
    for name in sorted(set(routes()) - EXCEPT):
        for method in (browser.get, browser.head):
            with CaptureQueriesContext(connection) as queries:
                answered[name] = method(address(name, **given)).status_code
            wrote = [query["sql"] for query in queries.captured_queries if query["sql"].startswith(WRITES)]
            assert not wrote, (name, wrote)
    shown = {"conversation", "plan", "shared", "shared_replay", "profile", "connection"}
    assert {answered[name] for name in shown} == {200}, "or nothing was tried"
